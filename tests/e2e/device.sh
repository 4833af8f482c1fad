#!/bin/sh
# The command line with a device (emulated), and what it says without one.
set -u
: "${CUZK:?}"
device=$(dirname "$CUZK")/../../tests/cuzk_emulated
root=$(cd "$(dirname "$0")/../.." && pwd)
toy=$root/tests/vectors/toy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
. "$(dirname "$0")/expect.sh"
table=$XDG_CACHE_HOME/cuzk/tune-emulated-device.json

# tune
if "$CUZK" prove r1cs "$toy/one-row.json" --params "$toy" --backend cuda -o "$work/none" >"$work/out" 2>&1; then
    echo "a device is there: its absence is not tested"
else
    expect "tune without a device" 4 "^cuzk tune: no CUDA device: " "$CUZK" tune
fi
expect "tune a CPU" 2 "only CUDA devices" "$device" tune --backend cpu
expect "tune sizes the wrong way round" 2 "from <= to" "$device" tune --from 6 --to 5
expect "tune where nothing can be written" 3 "/proc/none" "$device" tune --from 4 --to 4 --runs 1 -o /proc/none/table.json
expect "tune" 0 "tune-emulated-device.json: 2 sizes of emulated device" "$device" tune --from 4 --to 4 --runs 1
expect "its file" 0 '"group": "g2"' cat "$table"
expect "tune to a file, as JSON" 0 '"log2_n": 4' "$device" tune --from 4 --to 4 --runs 1 --json -o "$work/table.json"
expect "prove with the table" 0 "verified" "$device" prove r1cs "$toy/bits-64.json" --params "$toy" --backend cuda -o "$work/proof"
echo '{"format": 0}' >"$table"
expect "prove with a bad table" 0 "cuzk tune.* is not used" "$device" prove r1cs "$toy/bits-64.json" --params "$toy" --backend cuda \
    -o "$work/proof"
rm -f "$table"

# params check
expect "params check on the device" 0 '"backend": "cuda"' "$device" params check "$toy/random-1018.params" --backend cuda --json
expect "params check on the CPU" 0 '"log2_error_probability": -42' "$device" params check "$toy/random-1018.params" --backend cpu --json
cp "$toy/random-1018.params" "$work/bad.params"
printf '\001' | dd of="$work/bad.params" bs=1 seek=3000 conv=notrunc 2>/dev/null
for backend in cpu cuda; do
    expect "a bad point, $backend" 1 "section h: point 15 of" "$device" params check "$work/bad.params" --backend $backend
    cp "$work/out" "$work/said.$backend"
done
expect "the same words" 0 "section h: point" sh -c 'cmp "$0/said.cpu" "$0/said.cuda" && cat "$0/said.cpu"' "$work"
expect "params info has no device" 2 "device" "$device" params info "$toy/random-1018.params" --device 0

# devices that the build has no code for
bits() { "$device" prove r1cs "$toy/bits-64.json" --params "$toy" -o "$work/proof" "$@"; }
export ZK_EMULATE_NO_CODE=0
expect "cuda without code" 3 "device 0 (emulated device) has compute capability 6.0; .* compiled for 9.0" bits --backend cuda
expect "the other device" 0 "verified" bits --backend cuda --device 1
expect "auto takes the CPU and says why" 0 "the CPU is used.*compute capability 6.0" bits --backend auto
export ZK_EMULATE_NO_CODE=01
expect "no device with code" 3 "backend cuda: .*compute capability 6.0" bits --backend cuda
expect "auto without any" 0 "the CPU is used.*compute capability 6.0" bits
expect "tune without code" 4 "no CUDA device: .*compute capability 6.0" "$device" tune --from 4 --to 4
unset ZK_EMULATE_NO_CODE

# budgets
expect "too little memory" 4 "a proof takes [0-9]* bytes of device memory beside the key" \
    "$device" prove r1cs "$toy/bits-64.json" --params "$toy" --backend cuda --device-memory 1MiB -o "$work/little"
[ ! -e "$work/little" ] || fail "a proof was written"
expect "the key in host memory" 0 "verified" \
    "$device" prove r1cs "$toy/bits-64.json" --params "$toy" --backend cuda --device-memory 2530000 -o "$work/proof"
counts
