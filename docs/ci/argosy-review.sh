#!/bin/sh
# Reviews a change of a fleet repository: its findings and its plan.
#
#   argosy-review.sh BASE OUT
#
# BASE is the commit or branch to merge into; the checked-out commit is the change. The clone has to
# reach back to where the two parted. The script makes the folder OUT with lint.txt, lint.sarif,
# plan.md, plan.html, which is the whole plan as one page, and comment.md, which fits into a comment
# of GitHub or GitLab. In a GitHub Action the comment is the job's summary, too.
#
# Exit status: 0 good, 1 findings, 2 wrong usage or a failure: then OUT has comment.md alone, with the reason.
#
#   ARGOSY    the command                                      default: argosy
#   FACTS     a file of kind Facts, or a folder of such; none if Git has all labels of all clusters
#   RENDER    a folder for remote charts, to fetch and render      default: none
#   SEVERITY  the least severity of findings that counts       default: warning
set -eu

# An early end is a failure, whatever its status.
found=2
trap 'exit "$found"' EXIT

if [ $# -ne 2 ]; then
	echo "usage: argosy-review.sh BASE OUT" >&2
	exit
fi
out=$2
argosy=${ARGOSY:-argosy}
severity=${SEVERITY:-warning}
mkdir -p "$out"
rm -f "$out/lint.txt" "$out/lint.sarif" "$out/plan.md" "$out/plan.html" "$out/comment.md"

# quote shows text unchanged, in a fence that the text does not have, without lines that a forge reads
# as commands. It cuts a long text.
quote() {
	echo "~~~~~~~~text"
	if [ "$(wc -c <"$1")" -gt 4000 ]; then
		head -c 4000 "$1" | sed '$d'
	else
		cat "$1"
	fi | awk '{ gsub(/~~~/, "~ ~ ~"); sub(/^\//, " /"); print }'
	echo "~~~~~~~~"
}

# comment writes the comment from its input.
comment() {
	{
		echo "<!-- argosy-review -->"
		cat
	} >"$out/comment.md"
	if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
		cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
	fi
}

# fail ends a review that cannot be made, with the reason in errors.txt.
fail() {
	rm -f "$out/lint.txt" "$out/lint.sarif" "$out/plan.md" "$out/plan.html"
	{
		printf '### No review\n\nSomething failed, and nothing is known of this change:\n\n'
		quote "$out/errors.txt"
	} | comment
	cat "$out/errors.txt" >&2
	rm -f "$out/errors.txt"
	exit
}

# run FILE COMMAND... writes a command's output to a file; a status of 2 or more ends the script.
status=0
run() {
	file=$1
	shift
	status=0
	"$@" >"$file" 2>"$out/errors.txt" || status=$?
	if [ "$status" -gt 1 ]; then
		fail
	fi
}

if ! base=$(git merge-base "$1" HEAD 2>"$out/errors.txt"); then
	echo "argosy-review.sh: no commit that $1 and HEAD have in common: fetch the whole history (fetch-depth: 0, GIT_DEPTH: 0)" >>"$out/errors.txt"
	fail
fi
if [ -z "${FACTS:-}" ]; then
	echo "argosy-review.sh: FACTS is not set: a file of argosy facts export, or none if Git has all labels of all clusters" >"$out/errors.txt"
	fail
fi
set -- --facts "$FACTS"
run "$out/lint.sarif" "$argosy" lint --severity "$severity" "$@" -o sarif
run "$out/lint.txt" "$argosy" lint --severity "$severity" "$@"
findings=$status
set -- plan --base "$base" --head HEAD "$@" ${RENDER:+--render --chart-cache "$RENDER"}
run "$out/plan.html" "$argosy" "$@" -o html
[ -s "$out/plan.html" ] || rm -f "$out/plan.html" # one of the revisions has errors
run "$out/plan.md" "$argosy" "$@" -o markdown
{
	if [ "$findings" -ne 0 ]; then
		printf '### Findings\n\n'
		quote "$out/lint.txt"
		if [ "$(wc -c <"$out/lint.txt")" -gt 4000 ]; then
			echo
			echo "*There are more: \`argosy lint\` shows all.*"
		fi
		echo
	fi
	if [ -s "$out/plan.md" ]; then # with a status of 1 it says what it lacks
		cat "$out/plan.md"
	else
		printf '### No plan\n\nOne of the two revisions has errors:\n\n'
		quote "$out/errors.txt"
	fi
} | comment
rm -f "$out/errors.txt"

cat "$out/lint.txt"
# A good change fixes a broken base.
found=$findings
# What fails of the change itself is a finding, although lint does not see it.
if [ -e "$out/plan.html" ] && grep -q '<li>error of the head: ' "$out/plan.html"; then
	found=1
fi
