#!/usr/bin/env bash
# Serves a fleet with a development token and prints what was loaded and how to ask (make run).
#
# The server takes this process's place, so that Ctrl-C and kill reach it and nothing is left behind; what prints the
# summary runs beside it and ends by itself.
set -euo pipefail
cd "$(dirname "$0")/.."

SOURCE=${SOURCE:-.}
HUB=${HUB:-hub-eu}
FACTS=${FACTS:-examples/facts.yaml}
LISTEN=${LISTEN:-127.0.0.1:4355}
WEB=${WEB:-127.0.0.1:4356}
CACHE=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/argosy}

# The token is made once, and readable by its owner alone.
token="$CACHE/development-token"
if [ ! -s "$token" ]; then
	mkdir -p "$CACHE"
	(umask 077 && od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$token")
fi
chmod 600 "$token"

(bin/summary --address "$LISTEN" --web "$WEB" --token-file "$token" --server-pid $$ &)

exec bin/generator-plugin --source "$SOURCE" --hub "$HUB" --facts "$FACTS" --listen "$LISTEN" --web-addr "$WEB" --token-file "$token"
