#!/bin/sh
# Shows a review where the change is reviewed: writes the comment that argosy-review.sh made, or updates the one of before.
#
#   argosy-comment.sh NUMBER FILE
#
# NUMBER is that of the pull or merge request, FILE the comment. It needs curl and jq. It does not need the change itself: it may
# run where there is a token, when what was run on the change has none.
#
#   on GitHub: GITHUB_REPOSITORY, GITHUB_TOKEN (pull-requests: write), GITHUB_API_URL
#   on GitLab: CI_API_V4_URL, CI_PROJECT_ID, ARGOSY_COMMENT_TOKEN (of a project, scope api, role Reporter)
#   AUTHOR     whose comment may be updated                  default on GitHub: github-actions[bot]; on GitLab: the token's own
#
# Exit status: 0 good, 2 wrong usage, or something that failed.
set -eu

marker='<!-- argosy-review -->'
limit=65000 # characters; GitHub takes 65,536, GitLab a million

fail() {
	echo "argosy-comment.sh: $*" >&2
	exit 2
}
[ $# -eq 2 ] || fail "usage: argosy-comment.sh NUMBER FILE"
case $1 in '' | *[!0-9]*) fail "\"$1\" is no number of a pull or merge request" ;; esac
[ "$(head -n 1 "$2")" = "$marker" ] || fail "$2 does not begin with $marker: expected a file that argosy-review.sh has written"

headers=$(mktemp)
trap 'rm -f "$headers"' EXIT
# The token is in a file that is the user's alone, not among the arguments that other processes see.
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
	api=${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY
	comments=$api/issues/$1/comments
	printf 'Authorization: Bearer %s\nAccept: application/vnd.github+json\n' "${GITHUB_TOKEN:?is not set}" >"$headers"
	author=${AUTHOR:-github-actions[bot]}
	update=PATCH
elif [ -n "${CI_API_V4_URL:-}" ]; then
	comments=$CI_API_V4_URL/projects/${CI_PROJECT_ID:?is not set}/merge_requests/$1/notes
	printf 'PRIVATE-TOKEN: %s\n' "${ARGOSY_COMMENT_TOKEN:?is not set}" >"$headers"
	author=${AUTHOR:-}
	update=PUT
else
	fail "neither GITHUB_REPOSITORY nor CI_API_V4_URL is set"
fi

call() { curl --fail --silent --show-error --max-time 60 --header "@$headers" --header 'Content-Type: application/json' "$@" || fail "the forge does not take it"; }

if [ -z "$author" ]; then
	author=$(call "$CI_API_V4_URL/user" | jq -r .username)
fi

id=
page=1
while [ -z "$id" ] && [ "$page" -le 20 ]; do
	list=$(call "$comments?per_page=100&page=$page")
	id=$(printf '%s' "$list" | jq -r --arg author "$author" --arg marker "$marker" \
		'[.[] | select((.user.login // .author.username) == $author and (.body | startswith($marker)))][0].id // empty')
	[ "$(printf '%s' "$list" | jq length)" -eq 100 ] || break
	page=$((page + 1))
done

body=$(jq -Rs --argjson limit "$limit" '{body: (if length > $limit then .[:$limit - 100] + "\n\n*The rest is left out.*\n" else . end)}' <"$2")
if [ -z "$id" ]; then
	printf '%s' "$body" | call --request POST --data-binary @- "$comments" >/dev/null
elif [ "$update" = PATCH ]; then
	printf '%s' "$body" | call --request PATCH --data-binary @- "$api/issues/comments/$id" >/dev/null
else
	printf '%s' "$body" | call --request PUT --data-binary @- "$comments/$id" >/dev/null
fi
