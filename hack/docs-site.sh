#!/usr/bin/env bash
# Writes the documentation as a site into dist/site: hack/docs-site.sh HUGO
# A dead link ends it. Nothing outside of the checkout is read, and the site needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist/site dist/site-content dist/site-resources
for page in README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md $(find docs charts -name '*.md' ! -name 'README.in.md' ! -path 'charts/*/charts/*'); do
	mkdir -p "dist/site-content/$(dirname "$page")"
	# Hugo takes a comment in the first line for a page's metadata.
	sed '1{/^<!--.*-->$/d}' "$page" >"dist/site-content/$page"
done
if ! said=$("$1" --config hack/site/hugo.toml --source . --noBuildLock 2>&1); then
	echo "$said" >&2
	exit 1
fi
cat >dist/site/index.html <<'HTML'
<!DOCTYPE html><meta charset="utf-8"><title>Argosy</title><meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">Argosy</a>
HTML
rm -rf dist/site-content dist/site-resources
echo "$(find dist/site -name '*.html' | wc -l) pages: dist/site/index.html"
