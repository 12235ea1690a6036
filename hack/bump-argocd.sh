#!/usr/bin/env bash
# Moves a minor version of Argo CD to another release: bump-argocd.sh VERSION [GITOPS_ENGINE]
# It edits the component that make e2e builds, the Helm in it, and, of the newest minor version, the
# tag that the catalog, terraform/hub and the documents install; then it writes the pages again.
# GITOPS_ENGINE is the commit of the release's tag, or the version that Go gives it: Argo CD 3.5 has
# no releases of that module.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-} commit=${2:-}
fail() {
	printf 'bump-argocd: %b\n' "$*" >&2
	exit 1
}
[[ $version =~ ^v([0-9]+)\.([0-9]+)\.[0-9]+(-[a-z0-9.]+)?$ ]] || fail "VERSION is '$version'; expected one as v3.6.2"
major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[1]}.${BASH_REMATCH[2]}
component=test/e2e/components/argocd-$minor
[ -f "$component/go.mod" ] || fail "no $component; expected one of $(cd test/e2e/components && echo argocd-*). A new minor version" \
	"also needs a release in test/e2e/internal/argocd/release.go, a recipe in test/e2e/internal/component and rows in test/e2e/components/proven.yaml"

# Component modules need the Go of their go.mod lines, which the go command downloads.
in_component() (cd "$component" && GOTOOLCHAIN=auto GOWORK=off GOFLAGS='' "$@")
module=github.com/argoproj/argo-cd/v$major
required() { sed -nE "s|^(require )?[[:space:]]*$1 (v[^ ]+).*|\2|p" "$component/go.mod"; }
was=$(required "$module")

downloaded=$(in_component go mod download -json "$module@$version") || fail "$module $version: $(sed -n 's/.*"Error": "\(.*\)".*/\1/p' <<<"$downloaded")"
field() { sed -n "s/.*\"$1\": \"\(.*\)\",*$/\1/p" <<<"$downloaded"; }
edits=(-require="$module@$version")

# The release's own replacements, but those by folders of its repository.
while read -r old new at; do
	[ -z "$at" ] || edits+=(-replace="$old=$new@$at")
done < <(sed -nE 's/^(replace)?[[:space:]]*([^ ]+) => ([^ ]+)( (v[^ ]+))?.*/\2 \3 \5/p' "$(field GoMod)")

# gitops-engine is such a folder: the release of the same name, or the tag's commit.
engine=$(sed -nE 's|^[[:space:]]*(github.com/argoproj/argo-cd/gitops-engine[^ ]*) v.*|\1|p' "$(field GoMod)")
case $engine in
*/v[0-9]*) edits+=(-require="$engine@$version") ;;
?*)
	if [ -n "$commit" ]; then
		at=$(in_component go list -m -f '{{.Version}}' "$engine@$commit") || fail "$engine has no commit $commit"
		edits+=(-replace="$engine=$engine@$at")
	elif [ "$version" != "$was" ]; then
		fail "$engine has no releases; expected GITOPS_ENGINE=COMMIT of the tag $version"
	fi
	;;
esac

# The Helm of the release's image.
helm=$(sed -nE 's/^(HELM|helm|helm[34])_(VERSION|version)=([0-9.]+)$/\3/p' "$(field Dir)/hack/tool-versions.sh" | tail -n 1)
helm_module=$(sed -nE 's|^[[:space:]]*(helm.sh/helm/v[0-9]+)/cmd/helm$|\1|p' "$component/go.mod")
case $helm in
"${helm_module##*/v}".*) [ "$version" = "$was" ] || edits+=(-require="$helm_module@v$helm") ;;
*) fail "Argo CD $version has Helm '$helm'; expected one of $helm_module: change the tool in $component/go.mod" ;;
esac

in_component go mod edit "${edits[@]}"
in_component go mod tidy

# What installs the newest minor version names its release.
if [ "$minor" = "$(sed -n 's/^const Newest = "\(.*\)"$/\1/p' test/e2e/internal/argocd/release.go)" ] && [ "$version" != "$was" ]; then
	sed -i "s/tag: $was\$/tag: $version/" charts/application-sets/catalogs/fleet.yaml terraform/hub/values/argo-cd.yaml
	grep -rlF "global.image.tag=$was" README.md docs | xargs -r sed -i "s/global\.image\.tag=$was\b/global.image.tag=$version/"
fi
go generate ./test/docs

git --no-pager diff --stat
echo "Argo CD $minor is $version (was $was), with Helm $(required "$helm_module"). Next: make test, and make e2e ARGOCD=$minor"
