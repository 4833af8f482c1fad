#!/bin/sh
# Proofs on a GPU: the same bytes as on the CPU for small circuits, then sizes and times of the large ones.
#
#   scripts/device-prove.sh CUZK small | FULL...
#
# small: every kind of proof at 2 KiB with fixed blinding on both devices, compared. FULL: porep, window, winning, update at 32 GiB
# (`cuzk bench request` with keys made in device memory from tests/vectors/toxic.json). Memory is measured from outside (VmHWM).
set -eu
cuzk=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
toxic=$root/tests/vectors/toxic.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

small() {
    printf '[' >"$work/blinding.json"
    for i in 1 2 3 4 5 6 7 8 9 10; do
        [ $i = 1 ] || printf ',' >>"$work/blinding.json"
        printf '{"r":"%08x%056x","s":"%08x%056x"}' $i 0 ${i}000 0 >>"$work/blinding.json"
    done
    printf ']' >>"$work/blinding.json"
    for kind in winning window update porep; do
        "$cuzk" sample $kind --sector-size 2KiB -o "$work/$kind.json" >/dev/null
        for backend in cuda cpu; do
            "$cuzk" prove --request "$work/$kind.json" --test-toxic "$toxic" --test-blinding "$work/blinding.json" --backend $backend \
                -o "$work/$kind.$backend" --quiet >/dev/null || status=1
        done
        if cmp -s "$work/$kind.cuda" "$work/$kind.cpu"; then
            echo "$kind 2KiB: $(stat -c %s "$work/$kind.cuda") bytes, the same on both devices"
        else
            echo "$kind 2KiB: FAILED, proofs differ"
            status=1
        fi
    done
}

# Largest resident set of a command, in MiB, from its process status.
watch() {
    "$@" &
    pid=$!
    peak=0
    while kill -0 $pid 2>/dev/null; do
        now=$(awk '/VmHWM/ {print $2}' /proc/$pid/status 2>/dev/null || true)
        [ -z "${now:-}" ] || [ "$now" -le $peak ] || peak=$now
        sleep 0.2
    done
    wait $pid || status=1
    echo "  peak host memory $((peak / 1024)) MiB"
}

full() {
    mkdir -p "$work/requests"
    for sector in 117 118 119 120 121; do
        "$cuzk" sample "$1" --sector-size 32GiB --sector $sector --seed "sector $sector" -o "$work/requests/$sector.json" >/dev/null
    done
    watch "$cuzk" prove --request "$work/requests/117.json" --test-toxic "$toxic" --backend cuda -o "$work/proof"
    watch "$cuzk" bench request "$work/requests" --test-toxic "$toxic" --backend cuda --runs 5 --steady
    rm -rf "$work/requests"
}

for what in "$@"; do
    if [ "$what" = small ]; then small; else full "$what"; fi
done
exit $status
