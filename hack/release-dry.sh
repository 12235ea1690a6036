#!/usr/bin/env bash
# Makes a release as the workflow does, but publishes nothing: release-dry.sh COSIGN
# It is signed with a key of its own, cosign verifies it, and sha256sum all of its files.
set -euo pipefail
cosign=$1
version=v$(sed -nE 's/^## \[([0-9]+\.[0-9]+\.[0-9]+[^]]*)\].*/\1/p' CHANGELOG.md | head -n 1)

keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT
export COSIGN_PASSWORD=
(cd "$keys" && "$cosign" generate-key-pair 2>/dev/null)

make --no-print-directory release VERSION="$version" PLATFORMS="linux/amd64 linux/arm64"
make --no-print-directory release-sign KEY="$keys/cosign.key"
cd dist/release
"$cosign" verify-blob --key "$keys/cosign.pub" --insecure-ignore-tlog --bundle checksums.txt.sigstore.json checksums.txt
"$cosign" verify-blob-attestation --key "$keys/cosign.pub" --insecure-ignore-tlog --type slsaprovenance1 \
	--bundle checksums.txt.provenance.sigstore.json checksums.txt
sha256sum --check --quiet checksums.txt
ls -l
