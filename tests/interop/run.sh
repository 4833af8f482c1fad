#!/bin/sh
# A daemon driven by gRPC clients that are not ours: @grpc/grpc-js (from npm) and, where they are installed, python3-grpcio
# and grpc-go.
# Usage: run.sh BUILD_DIR. CUZK_INTEROP_KEYS: folder of 2 KiB test keys (default: keys of WinningPoSt are made here). Each
# kind whose keys are there is proved, and every proof verified.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cuzk=$build/cuzk
work=$(mktemp -d)
daemon=""
trap 'if [ -n "$daemon" ]; then kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; fi; rm -rf "$work"' EXIT
keys=${CUZK_INTEROP_KEYS:-$work/keys}
if [ ! -d "$keys" ]; then
    mkdir -p "$keys"
    "$cuzk" setup winning --sector-size 2KiB --out "$keys" --test-toxic "$here/../vectors/toxic.json"
fi
pairs=""
for kind in winning window update porep; do
    case $kind in
    winning) file='v28-proof-of-spacetime-fallback-*' want=1 ;;
    window) file='v28-proof-of-spacetime-fallback-*' want=2 ;;
    update) file='v28-empty-sector-update-*' want=1 ;;
    porep) file='v28-stacked-proof-of-replication-*' want=1 ;;
    esac
    # shellcheck disable=SC2086
    [ "$(ls "$keys"/$file.params 2>/dev/null | wc -l)" -ge $want ] || continue
    "$cuzk" sample $kind --sector-size 2KiB -o "$work/$kind.json" >/dev/null
    pairs="$pairs $kind=$work/$kind.json"
done
"$cuzk" daemon --status-listen 127.0.0.1:0 --journal "$work/journal.db" \
    --srs.param_cache "$keys" --daemon.listen "unix://$work/cuzk.sock,127.0.0.1:0" >"$work/daemon.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
    grep -q 'msg=ready' "$work/daemon.log" && break
    sleep 0.1
done
[ -d "$here/node_modules" ] || (cd "$here" && npm ci --no-audit --no-fund --silent)
failed=0
# shellcheck disable=SC2086
node "$here/interop.js" "unix:$work/cuzk.sock" "$work" $pairs || failed=1
python=""
for p in /usr/bin/python3 python3; do
    if "$p" -c 'import grpc, google.protobuf' 2>/dev/null; then python=$p && break; fi
done
if [ -n "$python" ]; then
    # shellcheck disable=SC2086
    "$python" "$here/interop.py" "unix:$work/cuzk.sock" "$build/src/rpc/descriptors.pb" "$work" $pairs || failed=1
else
    echo "python3-grpcio is not installed: left out"
fi
# grpc-go as Debian has it, the library of Curio's own client: golang-go, golang-google-grpc-dev
if command -v go >/dev/null 2>&1 && [ -d /usr/share/gocode/src/google.golang.org/grpc ]; then
    GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$work/go" go build -o "$work/interop-go" "$here/go/main.go"
    for address in "unix://$work/cuzk.sock" "127.0.0.1:$(sed -n 's/.*serving gRPC.* port=\([1-9][0-9]*\).*/\1/p' "$work/daemon.log")"; do
        # shellcheck disable=SC2086
        "$work/interop-go" "$address" "$work" $pairs || failed=1
    done
else
    echo "grpc-go is not installed: left out"
fi
for pair in $pairs; do
    kind=${pair%%=*}
    for proof in "$work/$kind".*.proof; do
        [ -f "$proof" ] || continue
        "$cuzk" verify --request "$work/$kind.json" --params "$keys" "$proof" || failed=1
    done
done
kill "$daemon"
wait "$daemon" || failed=1
daemon=""
[ $failed = 0 ] || { cat "$work/daemon.log"; exit 1; }
