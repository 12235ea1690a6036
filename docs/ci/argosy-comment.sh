#!/bin/sh
# Writes the comment of argosy-review.sh to the pull or merge request, or updates the previous one.
#
#   argosy-comment.sh NUMBER FILE
#
# NUMBER is the pull or merge request's, FILE the comment. Without the file, the comment says that
# there is no review. The script needs curl and jq, and not the change itself: it may run in a job
# with a token, while the job that runs the change has none.
#
#   on GitHub: GITHUB_REPOSITORY, GITHUB_TOKEN (pull-requests: write), GITHUB_API_URL
#   on GitLab: CI_API_V4_URL, CI_PROJECT_ID, ARGOSY_COMMENT_TOKEN (of a project, scope api, role Reporter)
#   AUTHOR     author of the comment to update; default: github-actions[bot], or the GitLab token's own
#   COMMIT     the reviewed commit: the comment names it; for an older commit nothing is written
#   RUN        the address of the run with the whole review
#
# Exit status: 0 good, 2 wrong usage or a failure.
set -eu

marker='<!-- argosy-review -->'
limit=65000 # characters; GitHub takes 65,536, GitLab a million

fail() {
	echo "argosy-comment.sh: $*" >&2
	exit 2
}
[ $# -eq 2 ] || fail "usage: argosy-comment.sh NUMBER FILE"
case $1 in '' | *[!0-9]*) fail "\"$1\" is no number of a pull or merge request" ;; esac
file=$2
if [ -e "$file" ] && [ "$(head -n 1 "$file")" != "$marker" ]; then
	fail "$file does not begin with $marker: expected a file that argosy-review.sh has written"
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 2' HUP INT TERM
if [ ! -e "$file" ]; then
	file=$folder/comment.md
	printf '%s\n### No review\n\nIts run has failed, and nothing is known of this change.\n' "$marker" >"$file"
fi

# The token is in a private file, not among the arguments that other processes see.
headers=$folder/headers
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
	api=${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY
	change=$api/pulls/$1
	comments=$api/issues/$1/comments
	printf 'Authorization: Bearer %s\nAccept: application/vnd.github+json\n' "${GITHUB_TOKEN:?is not set}" >"$headers"
	author=${AUTHOR:-github-actions[bot]}
	update=PATCH
elif [ -n "${CI_API_V4_URL:-}" ]; then
	change=$CI_API_V4_URL/projects/${CI_PROJECT_ID:?is not set}/merge_requests/$1
	comments=$change/notes
	printf 'PRIVATE-TOKEN: %s\n' "${ARGOSY_COMMENT_TOKEN:?is not set}" >"$headers"
	author=${AUTHOR:-}
	update=PUT
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

if [ -n "${COMMIT:-}" ]; then
	call "$change"
	if [ "$(of '.head.sha // .sha')" != "$COMMIT" ]; then
		echo "argosy-comment.sh: there is a newer commit than $COMMIT: nothing to say"
		exit 0
	fi
fi
if [ -z "$author" ]; then
	call "$CI_API_V4_URL/user"
	author=$(of .username)
fi

id=
page=1
while [ -z "$id" ] && [ "$page" -le 20 ]; do
	call "$comments?per_page=100&page=$page"
	id=$(of --arg author "$author" --arg marker "$marker" \
		'[.[] | select((.user.login // .author.username) == $author and (.body | startswith($marker)))][0].id // empty')
	[ "$(of length)" -eq 100 ] || break
	page=$((page + 1))
done

# The script with the token names the reviewed commit, not the text.
jq -Rs --argjson limit "$limit" --arg commit "${COMMIT:-}" --arg run "${RUN:-}" '
	[(select($commit != "") | "commit " + $commit), (select($run != "") | "[run](" + $run + ")")] as $of |
	{body: (
		(if length > $limit then .[:$limit - 100] + "\n\n*The rest is left out.*\n" else . end) +
		(if $of == [] then "" else "\nOf " + ($of | join(", ")) + "\n" end)
	)}' <"$file" >"$folder/body"
if [ -z "$id" ]; then
	call --request POST --data-binary "@$folder/body" "$comments"
elif [ "$update" = PATCH ]; then
	call --request PATCH --data-binary "@$folder/body" "$api/issues/comments/$id"
else
	call --request PUT --data-binary "@$folder/body" "$comments/$id"
fi
