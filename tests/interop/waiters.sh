#!/bin/sh
# Many AwaitProof calls that wait beside GetStatus load, on the real engine. Usage: waiters.sh BUILD_DIR [CALLS [SECONDS]]
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cuzk=$build/cuzk
[ -x "$cuzk" ] || cuzk=$build/src/cli/cuzk
work=$(mktemp -d)
daemon=""
trap 'if [ -n "$daemon" ]; then kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; fi; rm -rf "$work"' EXIT
[ -d "$here/node_modules" ] || (cd "$here" && npm ci --no-audit --no-fund --silent)
"$cuzk" setup winning --sector-size 2KiB --out "$work/keys" --test-toxic "$here/../vectors/toxic.json" >/dev/null
"$cuzk" sample winning --sector-size 2KiB -o "$work/winning.json" >/dev/null
# the job hangs in its worker until it is cancelled
"$cuzk" daemon --listen "unix://$work/cuzk.sock" --journal "$work/journal.db" --srs.param_cache "$work/keys" \
    --test-worker-fault hang@synthesize:1+ >"$work/daemon.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
    grep -q 'msg=ready' "$work/daemon.log" && break
    sleep 0.1
done
job=$("$cuzk" submit --connect "unix://$work/cuzk.sock" --request "$work/winning.json" | grep -o 'job-[0-9a-f-]*' | head -1)
node "$here/waiters.js" "unix:$work/cuzk.sock" "$job" "$daemon" "${2:-1000}" "${3:-30}"
