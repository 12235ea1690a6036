#!/bin/sh
# Approves a pull or merge request that does nothing but make one new cluster, of a class that the
# platform allows. Everything else waits for a person.
#
#   argosy-approve.sh NUMBER COMMIT
#
# NUMBER is the pull or merge request's, COMMIT its newest commit, fetched with its history. The
# checked-out commit is that of the branch to merge into. What is judged is the merge of the two. Git
# and argosy read the change; nothing of it is checked out or run. The script needs curl and jq.
#
#   CLASSES   classes of clusters, class,...; existing is a cluster that the hub does not make
#   BRANCH    the branch to merge into
#   ARGOSY    the command                                      default: argosy
#   FACTS     a file of kind Facts, or a folder of such; none if Git has all labels of all clusters
#   on GitHub: GITHUB_REPOSITORY, GITHUB_TOKEN (pull-requests: write), GITHUB_API_URL
#   on GitLab: CI_API_V4_URL, CI_PROJECT_ID, ARGOSY_APPROVE_TOKEN (of a project, scope api, role Developer)
#
# Exit status: 0 approved, 1 it waits for a person, 2 wrong usage or a failure.
set -eu

fail() {
	echo "argosy-approve.sh: $*" >&2
	exit 2
}
waits() {
	echo "argosy-approve.sh: waits for a person: $*"
	exit 1
}
[ $# -eq 2 ] || fail "usage: argosy-approve.sh NUMBER COMMIT"
case $1 in '' | *[!0-9]*) fail "\"$1\" is no number of a pull or merge request" ;; esac
commit=$(git rev-parse --verify --quiet "$2^{commit}") || fail "$2 is no commit of this clone"
[ "$commit" = "$2" ] || fail "\"$2\" is no whole name of a commit"
argosy=${ARGOSY:-argosy}
: "${CLASSES:?is not set: the classes that need no person}" "${BRANCH:?is not set: the branch to merge into}" \
	"${FACTS:?is not set: a file of argosy facts export, or none if Git has all labels of all clusters}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 2' HUP INT TERM

# The token is in a private file, not among the arguments that other processes see.
headers=$folder/headers
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
	change=${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/pulls/$1
	printf 'Authorization: Bearer %s\nAccept: application/vnd.github+json\n' "${GITHUB_TOKEN:?is not set}" >"$headers"
elif [ -n "${CI_API_V4_URL:-}" ]; then
	change=$CI_API_V4_URL/projects/${CI_PROJECT_ID:?is not set}/merge_requests/$1
	printf 'PRIVATE-TOKEN: %s\n' "${ARGOSY_APPROVE_TOKEN:?is not set}" >"$headers"
else
	fail "neither GITHUB_REPOSITORY nor CI_API_V4_URL is set"
fi

# call queries the forge; its response is in $answer.
call() {
	answer=$(curl --fail --silent --show-error --max-time 60 --header "@$headers" --header 'Content-Type: application/json' "$@") ||
		fail "the forge does not take it"
}

# of runs jq on the last response.
of() { printf '%s' "$answer" | jq -r "$@"; }

call "$change"
[ "$(of '.base.ref // .target_branch')" = "$BRANCH" ] || waits "it is not for the branch $BRANCH"
[ "$(of '.head.sha // .sha')" = "$commit" ] || waits "there is a newer commit than $commit"

# The merge, without a folder for it.
tree=$(git merge-tree --write-tree HEAD "$commit" 2>/dev/null) || waits "it does not merge without conflict"
merged=$(GIT_AUTHOR_NAME=argosy GIT_AUTHOR_EMAIL=argosy@localhost GIT_COMMITTER_NAME=argosy GIT_COMMITTER_EMAIL=argosy@localhost \
	git commit-tree -p HEAD -p "$commit" -m merge "$tree")
files=$(git diff --name-status --no-renames HEAD "$merged")
case $files in
A*) [ "$(printf '%s\n' "$files" | wc -l)" -eq 1 ] || waits "it changes more than one file" ;;
*) waits "it does not add one file" ;;
esac

# run COMMAND... tells a finding from a failure.
run() {
	status=0
	"$@" >"$folder/out" 2>&1 || status=$?
	[ "$status" -eq 0 ] && return
	cat "$folder/out"
	[ "$status" -eq 1 ] || fail "$argosy has failed"
	waits "see above"
}
set -- --facts "$FACTS"
git clone --quiet --bare --shared . "$folder/bare"
run "$argosy" lint --repo "$folder/bare" --ref "$merged" --strict "$@"
run "$argosy" plan --base "$(git rev-parse HEAD)" --head "$merged" --only-new-cluster "$CLASSES" "$@"

# Of this commit alone.
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
	jq -n --arg commit "$commit" '{event: "APPROVE", commit_id: $commit, body: "One new cluster, of a class that needs no person."}' >"$folder/body"
	call --request POST --data-binary "@$folder/body" "$change/reviews"
else
	jq -n --arg commit "$commit" '{sha: $commit}' >"$folder/body"
	call --request POST --data-binary "@$folder/body" "$change/approve"
fi
echo "argosy-approve.sh: approved: one new cluster"
