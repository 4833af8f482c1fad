#!/bin/sh
# Proofs on a GPU: the same bytes as on the CPU for small circuits, sizes and times of large ones, and that it holds out.
#
#   scripts/device-prove.sh CUZK WHAT...
#
# small      every kind of proof at 2 KiB with fixed blinding on both devices, compared
# porep, window, winning, update
#            at 32 GiB: `prove`, then `bench request` over five sectors, with keys made in device memory from tests/vectors/toxic.json
# budget     porep 32 GiB in 15 GiB of device memory (BUDGET=...): the same bytes as with all of it, time of warm runs, host memory
# repeat     200 proofs of one WinningPoSt 32 GiB circuit on one prover, 200 of WindowPoSt 2 KiB on two lanes, fixed blinding: the same bytes each
#            time and as on the CPU; with and without device memory that is overwritten in between
# check      `params check` of a small and of a large file on both devices, and of one with a bad byte
# tune       `cuzk tune` up to 2^24 points, and times with and without its table
# sanitize   compute-sanitizer (memcheck, racecheck, initcheck) on small circuits; needs the programs of the target cuda_check
# robust     budget repeat check sanitize
#
# Host memory is measured from outside (VmHWM). One table at the end.
set -eu
cuzk=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$(dirname "$cuzk")/../.." && pwd)
toxic=$root/tests/vectors/toxic.json
toy=$root/tests/vectors/toy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache" # no table of an earlier `tune`
status=0
: >"$work/table"

# row NAME RESULT: a line of the table; a RESULT that begins with FAILED fails the script
row() {
    printf '%-44s %s\n' "$1" "$2" | tee -a "$work/table"
    case $2 in FAILED*) status=1 ;; esac
}
same() { # same NAME FILE FILE
    if cmp -s "$2" "$3"; then row "$1" "$(stat -c %s "$2") bytes, the same"; else row "$1" "FAILED: proofs differ"; fi
}
now() { date +%s.%N; }
since() { awk "BEGIN {printf \"%.2f\", $(now) - $1}"; }

printf '[' >"$work/blinding.json"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    [ $i = 1 ] || printf ',' >>"$work/blinding.json"
    printf '{"r":"%08x%056x","s":"%08x%056x"}' $i 0 ${i}000 0 >>"$work/blinding.json"
done
printf ']' >>"$work/blinding.json"

# prove_on BACKEND REQUEST OUT [options]: with fixed blinding
prove_on() {
    backend=$1 request=$2 out=$3
    shift 3
    "$cuzk" prove --request "$request" --test-toxic "$toxic" --test-blinding "$work/blinding.json" --backend "$backend" -o "$out" \
        --quiet "$@" >/dev/null || status=1
}

small() {
    for kind in winning window update porep; do
        "$cuzk" sample $kind --sector-size 2KiB -o "$work/$kind.json" >/dev/null
        for backend in cuda cpu; do prove_on $backend "$work/$kind.json" "$work/$kind.$backend"; done
        same "$kind 2KiB on both devices" "$work/$kind.cuda" "$work/$kind.cpu"
    done
}

# watch COMMAND...: runs it; $peak is its largest resident set, in MiB, $code its exit code
watch() {
    "$@" &
    pid=$!
    peak=0
    while kill -0 $pid 2>/dev/null; do
        hwm=$(awk '/VmHWM/ {print $2}' /proc/$pid/status 2>/dev/null || true)
        [ -z "${hwm:-}" ] || [ "$hwm" -le $peak ] || peak=$hwm
        sleep 0.2
    done
    code=0
    wait $pid || code=$?
    [ $code = 0 ] || status=1
    peak=$((peak / 1024))
}
# bench_line FILE: median of a bench's JSON, in ms
bench_line() { sed -n 's/.*"median_ms": *\([0-9.]*\).*/\1/p' "$1"; }
samples() { # samples KIND COUNT FOLDER
    mkdir -p "$3"
    sector=117
    while [ $sector -lt $((117 + $2)) ]; do
        "$cuzk" sample "$1" --sector-size 32GiB --sector $sector --seed "sector $sector" -o "$3/$sector.json" >/dev/null
        sector=$((sector + 1))
    done
}

full() {
    samples "$1" 5 "$work/requests"
    watch "$cuzk" prove --request "$work/requests/117.json" --test-toxic "$toxic" --backend cuda -o "$work/proof"
    row "$1 32GiB, one run of prove" "peak host memory $peak MiB"
    watch sh -c '"$@" >"$0"' "$work/bench.json" "$cuzk" bench request "$work/requests" --test-toxic "$toxic" --backend cuda --runs 5 --steady --json
    row "$1 32GiB, warm, five sectors" "median $(bench_line "$work/bench.json") ms"
    rm -rf "$work/requests"
}

budget() {
    size=${BUDGET:-15GiB}
    samples porep 1 "$work/budget"
    start=$(now)
    prove_on cuda "$work/budget/117.json" "$work/all.proof"
    row "porep 32GiB, prove, all memory" "$(since "$start") s with the key"
    start=$(now)
    watch "$cuzk" prove --request "$work/budget/117.json" --test-toxic "$toxic" --test-blinding "$work/blinding.json" --backend cuda \
        -o "$work/budget.proof" --quiet --device-memory "$size"
    row "porep 32GiB, prove, $size" "$(since "$start") s with the key, VmHWM $peak MiB with what is pinned"
    same "porep 32GiB, $size and all memory" "$work/budget.proof" "$work/all.proof"
    "$cuzk" bench request "$work/budget" --test-toxic "$toxic" --backend cuda --device-memory "$size" --runs 2 --json >"$work/bench.json" || status=1
    row "porep 32GiB, warm, $size" "median $(bench_line "$work/bench.json") ms"
    if "$cuzk" prove --request "$work/budget/117.json" --test-toxic "$toxic" --backend cuda --device-memory 8GiB -o "$work/none" \
        --quiet 2>"$work/said"; then
        row "porep 32GiB, 8GiB" "FAILED: not refused"
    else
        row "porep 32GiB, 8GiB" "$(grep -o 'a proof takes [0-9]* bytes' "$work/said" || echo FAILED: "$(cat "$work/said")")"
    fi
    rm -rf "$work/budget"
}

# Each run is compared with the first by the program; the first with the CPU's proof here.
repeat() {
    mkdir -p "$work/winning" "$work/window"
    "$cuzk" sample winning --sector-size 32GiB -o "$work/winning/1.json" >/dev/null
    "$cuzk" sample window --sector-size 2KiB --sectors 20 -o "$work/window/1.json" >/dev/null
    for kind in winning window; do
        for backend in cpu cuda; do prove_on $backend "$work/$kind/1.json" "$work/$kind.$backend"; done
        same "$kind, fixed blinding, both devices" "$work/$kind.cuda" "$work/$kind.cpu"
        sum=$(sha256sum <"$work/$kind.cpu" | cut -d ' ' -f 1)
        runs=200 lanes=1
        [ $kind = winning ] || runs=20 lanes=2 # ten partitions a run
        for poison in no yes; do
            if [ $poison = yes ]; then export CUZK_POISON_DEVICE=1; else unset CUZK_POISON_DEVICE; fi
            start=$(now)
            if "$cuzk" bench request "$work/$kind" --test-toxic "$toxic" --backend cuda --runs $runs --lanes $lanes \
                --test-blinding "$work/blinding.json" --json >"$work/bench.json" && grep -q "$sum" "$work/bench.json"; then
                row "$kind, 200 proofs, $lanes lane(s), poison: $poison" "the CPU's bytes each time, $(since "$start") s"
            else
                row "$kind, 200 proofs, $lanes lane(s), poison: $poison" "FAILED: $(tail -c 200 "$work/bench.json")"
            fi
        done
        unset CUZK_POISON_DEVICE
    done
}

check() {
    "$cuzk" setup winning --sector-size 32GiB --test-toxic "$toxic" --backend cuda --out "$work/keys" >/dev/null
    "$cuzk" setup porep --sector-size 2KiB --test-toxic "$toxic" --backend cuda --out "$work/keys" >/dev/null
    for file in "$work"/keys/*.params; do
        for backend in cuda cpu; do
            start=$(now)
            if "$cuzk" params check "$file" --backend $backend >/dev/null; then verdict=holds; else verdict=FAILED; fi
            row "params check, $(($(stat -c %s "$file") >> 20)) MiB, $backend" "$verdict, $(since "$start") s"
        done
        printf '\001' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 1000)) conv=notrunc 2>/dev/null
        for backend in cuda cpu; do
            code=0
            "$cuzk" params check "$file" --backend $backend >"$work/said.$backend" 2>&1 || code=$?
            [ $code = 1 ] || row "params check of a bad file, $backend" "FAILED: exit $code"
        done
        same "params check of a bad file, words" "$work/said.cuda" "$work/said.cpu"
    done
    rm -rf "$work/keys"
}

tune() {
    start=$(now)
    "$cuzk" tune --to 24 || status=1
    row "tune, 2^16 to 2^24" "$(since "$start") s"
}

sanitize() {
    if ! command -v compute-sanitizer >/dev/null 2>&1; then
        row "compute-sanitizer" "not installed"
        return 0
    fi
    for tool in memcheck racecheck initcheck; do
        for run in "cuda_pool_test" "cuda_lanes_test test_same_bytes" "cuda_budget_test test_bits" "cuda_groth16_test test_generated" \
            "cuda_msm_test masked_g1 streams_g1"; do
            program=$build/${run%% *} cases=
            [ "$run" = "${run%% *}" ] || cases=${run#* }
            [ -x "$program" ] || { row "$tool ${run%% *}" "not built"; continue; }
            # shellcheck disable=SC2086
            if timeout 300 compute-sanitizer --tool $tool --error-exitcode 9 "$program" $cases >"$work/sanitizer" 2>&1; then
                row "$tool $run" "clean"
            else
                row "$tool $run" "FAILED: $(tail -1 "$work/sanitizer")"
            fi
        done
    done
}

for what in "$@"; do
    case $what in
    small | budget | repeat | check | tune | sanitize) $what ;;
    robust)
        budget
        repeat
        check
        sanitize
        ;;
    *) full "$what" ;;
    esac
done
echo
cat "$work/table"
exit $status
