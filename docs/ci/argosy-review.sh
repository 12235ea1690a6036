#!/bin/sh
# Reviews a change of a fleet's repository: what is wrong with it, and what it would change.
#
#   argosy-review.sh BASE OUT
#
# BASE is the commit or branch that the change is to be merged into; the checked-out commit is the change. Its history has to
# reach back to where the two parted. OUT is a folder that is made: lint.txt, lint.sarif, plan.md, and of both comment.md, which
# fits into a comment of GitHub or GitLab.
#
# Exit status: 0 good, 1 findings, 2 wrong usage, or something that failed.
#
#   ARGOSY    the command                                      default: argosy
#   FACTS     a file of kind Facts                             default: none
#   RENDER    a folder for charts from elsewhere, which are then fetched and rendered; default: they are not
#   SEVERITY  the least severity of findings that counts       default: warning
set -eu

if [ $# -ne 2 ]; then
	echo "usage: argosy-review.sh BASE OUT" >&2
	exit 2
fi
out=$2
argosy=${ARGOSY:-argosy}
severity=${SEVERITY:-warning}
set -- "$1" # then the facts
if ! base=$(git merge-base "$1" HEAD); then
	echo "argosy-review.sh: no commit that $1 and HEAD have in common: fetch the whole history (fetch-depth: 0, GIT_DEPTH: 0)" >&2
	exit 2
fi
shift
if [ -n "${FACTS:-}" ]; then
	set -- --facts "$FACTS"
fi
mkdir -p "$out"

# run FILE COMMAND... has a command write a file; a status of 2 and more ends everything.
status=0
run() {
	file=$1
	shift
	status=0
	"$@" >"$file" 2>"$out/errors.txt" || status=$?
	if [ "$status" -gt 1 ]; then
		cat "$out/errors.txt" >&2
		exit 2
	fi
}

run "$out/lint.sarif" "$argosy" lint --severity "$severity" "$@" -o sarif
run "$out/lint.txt" "$argosy" lint --severity "$severity" "$@"
found=$status
run "$out/plan.md" "$argosy" plan --base "$base" --head HEAD "$@" ${RENDER:+--render --chart-cache "$RENDER"} -o markdown

# Whoever reads the comment can be shown text, and nothing that looks like another's: a fence that the text does not have.
{
	echo "<!-- argosy-review -->"
	if [ "$found" -ne 0 ]; then
		echo "### Findings"
		echo
		echo "~~~~~~~~text"
		head -c 4000 "$out/lint.txt" | sed 's/~~~/~ ~ ~/g'
		echo
		echo "~~~~~~~~"
		if [ "$(wc -c <"$out/lint.txt")" -gt 4000 ]; then
			echo
			echo "*There are more: \`argosy lint\` shows all.*"
		fi
		echo
	fi
	if [ -s "$out/plan.md" ]; then # with a status of 1 it says what it lacks
		cat "$out/plan.md"
	else
		echo "### No plan"
		echo
		echo "One of the two revisions has errors:"
		echo
		echo "~~~~~~~~text"
		head -c 4000 "$out/errors.txt" | sed 's/~~~/~ ~ ~/g'
		echo
		echo "~~~~~~~~"
	fi
} >"$out/comment.md"
rm -f "$out/errors.txt"

cat "$out/lint.txt"
# A base that is broken is mended by a change that is good.
exit "$found"
