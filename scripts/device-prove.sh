#!/bin/sh
# Proofs on a GPU: the same bytes as on the CPU for small circuits, sizes and times of large ones, and that it holds out.
#
#   scripts/device-prove.sh CUZK WHAT...
#
# small      every kind of proof at 2 KiB with fixed blinding on both devices, compared
# sizes      every kind at the other sector sizes (SIZES="8MiB 512MiB 64GiB"): verified, and below 64 GiB the bytes of the CPU
# porep, window, winning, update
#            at 32 GiB: `prove`, then `bench request` over five sectors (RUNS=5), porep and update with a prepared key, too; keys made in
#            device memory from tests/vectors/toxic.json
# budget     porep 32 GiB in 15 and 11 GiB of device memory and in the least (BUDGET="15GiB 11GiB least", RUNS=2): the same bytes as with all of it,
#            time of warm runs, host memory; less is refused with the number
# repeat     200 proofs of one WinningPoSt 32 GiB circuit on one prover, 200 of WindowPoSt 2 KiB on two lanes, fixed blinding: the same bytes each
#            time and as on the CPU; with and without device memory that is overwritten in between
# check      `params check` of a small and of a large file on both devices, and of one with a bad byte
# tune       `cuzk tune` up to 2^24 points; proofs with its table and without: the same bytes, times
# programs   the tests of the target cuda_check that are about failures: pool, lanes, budgets, every buffer refused in turn, edges
# sanitize   compute-sanitizer (TOOLS: memcheck racecheck initcheck synccheck) on small circuits, the programs of a tool side by side
# bigkey     porep 32 GiB from files: the key made, checked on the device, prepared, proofs with and without: the same bytes. Files in
#            KEYS (48 GB) and PREPARED (26 GB; where a disk is too small for both, /dev/shm/prepared, mounted large enough), by default
#            in the temporary folder; what is there already is kept
# devices    two devices at once: partitions of one request spread over both, each process on its own device, sectors side by side
# daemon     jobs through a daemon, one and two lanes, plain and prepared keys made in device memory: proofs (of one circuit) a second. Four starts
#            with a key each; DAEMON_LANES="1 2", DAEMON_FORMS="plain prepared", DAEMON_KIND=porep, DAEMON_SIZE=32GiB, DAEMON_JOBS=5,
#            DAEMON_DEVICE=cuda:0 (auto: all), DAEMON_MEMORY=auto (of a device) say less or other
# robust     repeat programs check tune budget
#
# The programs lie in the build folder of CUZK (target cuda_check, or unpacked from scripts/device-pack.sh). A command that takes the modes
# one by one stays below ten minutes each on an H200.
#
# Host memory is measured from outside (VmHWM). One table at the end.
set -eu
cuzk=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$(dirname "$cuzk")/../.." && pwd)
toxic=$root/tests/vectors/toxic.json
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

sizes() {
    for size in ${SIZES:-8MiB 512MiB 64GiB}; do
        for kind in winning window update porep; do
            "$cuzk" sample $kind --sector-size "$size" -o "$work/$kind.json" >/dev/null
            start=$(now)
            rm -f "$work/$kind.cuda"
            prove_on cuda "$work/$kind.json" "$work/$kind.cuda" # which verifies, or leaves no file
            if [ -s "$work/$kind.cuda" ]; then
                row "$kind $size" "verified, $(since "$start") s with the key"
            else
                row "$kind $size" "FAILED"
            fi
            [ "$size" = 64GiB ] && [ $kind != winning ] && continue
            prove_on cpu "$work/$kind.json" "$work/$kind.cpu"
            same "$kind $size on both devices" "$work/$kind.cuda" "$work/$kind.cpu"
        done
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
    watch sh -c '"$@" >"$0"' "$work/bench.json" "$cuzk" bench request "$work/requests" --test-toxic "$toxic" --backend cuda --runs "${RUNS:-5}" --steady --json
    row "$1 32GiB, warm, five sectors" "median $(bench_line "$work/bench.json") ms"
    case $1 in porep | update) # the kinds of several circuits
        "$cuzk" bench request "$work/requests" --test-toxic "$toxic" --backend cuda --prepared --runs "${RUNS:-5}" --steady --json \
            >"$work/bench.json" || status=1
        row "$1 32GiB, prepared key, five sectors" "median $(bench_line "$work/bench.json") ms"
        ;;
    esac
    rm -rf "$work/requests"
}

# bench_sum FILE OUT: the digest of the proofs of a bench's JSON
bench_sum() { grep -o '"checksum": *"[^"]*"' "$1" >"$2" || row "digest of $1" "FAILED: none"; }
# refused MEMORY: says so; $least is the least that works, by what the refusal says
refused() {
    if "$cuzk" prove --request "$work/budget/117.json" --test-toxic "$toxic" --backend cuda --device-memory "$1" -o "$work/none" \
        --quiet 2>"$work/said"; then
        row "porep 32GiB, $1" "FAILED: not refused"
        return 0
    fi
    least=$(sed -n 's/.*a proof takes \([0-9]*\) bytes.* has \([0-9]*\) free in one piece, of \([0-9]*\).*/\1 - \2 + \3/p' "$work/said")
    [ -n "$least" ] || { row "porep 32GiB, $1" "FAILED: $(cat "$work/said")"; return 0; }
    least=$((least))
    row "porep 32GiB, $1" "$(grep -o 'a proof takes [0-9]* bytes' "$work/said"), least $least"
}
budget() {
    samples porep 1 "$work/budget"
    least=9000000000
    refused 8GiB
    refused $((least - 512))
    for size in all ${BUDGET:-15GiB 11GiB least}; do
        case $size in all) memory= ;; least) memory="--device-memory $least" ;; *) memory="--device-memory $size" ;; esac
        # shellcheck disable=SC2086
        watch sh -c 'exec "$@" >"$0"' "$work/bench.json" "$cuzk" bench request "$work/budget" --test-toxic "$toxic" --backend cuda \
            --test-blinding "$work/blinding.json" --runs "${RUNS:-2}" --json $memory
        bench_sum "$work/bench.json" "$work/sum.$size"
        row "porep 32GiB, warm, memory: $size" "median $(bench_line "$work/bench.json") ms, VmHWM $peak MiB with what is pinned"
        [ "$size" = all ] || same "porep 32GiB, $size and all memory" "$work/sum.$size" "$work/sum.all"
    done
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
    samples porep 1 "$work/tune"
    for table in no yes; do
        if [ $table = yes ]; then
            start=$(now)
            "$cuzk" tune --to 24 || status=1
            found=$(find "$XDG_CACHE_HOME" -name 'tune-*.json')
            row "tune, 2^16 to 2^24" "$(since "$start") s, $(grep -o log2_n "$found" | wc -l) sizes in $(basename "$found")"
        fi
        "$cuzk" bench request "$work/tune" --test-toxic "$toxic" --backend cuda --test-blinding "$work/blinding.json" --runs 2 --json \
            >"$work/tune.$table" 2>"$work/said" || status=1
        row "porep 32GiB, warm, table: $table" "median $(bench_line "$work/tune.$table") ms"
        bench_sum "$work/tune.$table" "$work/sum.$table"
        if grep -q 'is not used' "$work/said"; then row "the table" "FAILED: $(cat "$work/said")"; fi
    done
    same "porep 32GiB with the table and without" "$work/sum.no" "$work/sum.yes"
    rm -rf "$work/tune"
}

# program NAME [CASES...]: one of the target cuda_check
program() {
    name=$1
    shift
    [ -x "$build/$name" ] || { row "$name" "not built"; return 0; }
    start=$(now)
    if timeout 300 "$build/$name" "$@" >"$work/program" 2>&1; then
        row "$name" "$(tail -1 "$work/program"), $(since "$start") s"
    else
        row "$name" "FAILED: $(grep -E 'failed|FAIL' "$work/program" | head -3 | tr '\n' ' ')"
    fi
}
programs() {
    program cuda_pool_test
    program cuda_faults_test
    program cuda_lanes_test
    program cuda_budget_test
    program cuda_edge_test
    program cuda_check_test
    program cuda_groth16_prepare_test
}

bigkey() {
    keys=${KEYS:-$work/bigkeys} prepared=${PREPARED:-$work/prepared}
    mkdir -p "$keys" "$prepared"
    samples porep 1 "$work/big"
    start=$(now)
    "$cuzk" setup porep --sector-size 32GiB --test-toxic "$toxic" --backend cuda --out "$keys" --reuse >/dev/null || status=1
    row "setup porep 32GiB to files" "$(since "$start") s, $(du -shD "$keys" | cut -f 1)"
    # `prepare` writes beside the key: a folder of links has it elsewhere
    for file in "$keys"/*; do ln -sf "$(readlink -f "$file")" "$prepared/"; done
    params=$(find "$prepared" -name '*.params' | head -1)
    start=$(now)
    verdict=holds
    "$cuzk" params check "$params" --backend cuda >"$work/said" 2>&1 || verdict="FAILED: $(cat "$work/said")"
    row "params check, porep 32GiB, cuda" "$verdict, $(since "$start") s"
    if [ ! -e "${params%.params}.prepared" ]; then
        start=$(now)
        "$cuzk" params prepare "$params" --backend cuda >/dev/null || status=1
        row "params prepare, porep 32GiB" "$(since "$start") s, $(du -shD "${params%.params}.prepared" | cut -f 1)"
    fi
    for how in plain prepared; do
        option=
        if [ $how = prepared ]; then option=--prepared; fi
        start=$(now)
        "$cuzk" prove --request "$work/big/117.json" --params "$prepared" $option --test-blinding "$work/blinding.json" --backend cuda \
            -o "$work/big.$how" --quiet >/dev/null || status=1
        row "porep 32GiB from the file, $how" "$(since "$start") s with the key"
    done
    same "porep 32GiB, prepared and plain" "$work/big.prepared" "$work/big.plain"
    prove_on cuda "$work/big/117.json" "$work/big.toxic"
    same "porep 32GiB, from the file and from toxic waste" "$work/big.plain" "$work/big.toxic"
    rm -rf "$work/big"
}

# The devices that a process has memory on, as nvidia-smi sees it.
devices_of() {
    nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv,noheader | awk -F', ' -v pid="$1" '$1 == pid {print $2}' | sort -u |
        while read -r uuid; do
            nvidia-smi --query-gpu=uuid,index --format=csv,noheader | awk -F', ' -v uuid="$uuid" '$1 == uuid {printf "%s ", $2}'
        done
}
devices() {
    n=$(nvidia-smi -L | wc -l)
    [ "$n" -ge 2 ] || { row "two devices" "not tested: $n here"; return 0; }
    program cuda_edge_test device at_once
    "$cuzk" sample window --sector-size 2KiB --sectors 20 -o "$work/w.json" >/dev/null
    prove_on cuda "$work/w.json" "$work/w.0" --device 0
    prove_on cuda "$work/w.json" "$work/w.1" --device 1
    same "window 2KiB on device 0 and on device 1" "$work/w.0" "$work/w.1"
    code=0
    "$cuzk" prove --request "$work/w.json" --test-toxic "$toxic" --backend cuda --device "$n" -o "$work/none" --quiet 2>"$work/said" || code=$?
    if [ $code = 2 ]; then row "device $n" "$(tail -1 "$work/said")"; else row "device $n" "FAILED: exit $code"; fi

    # the ten partitions of one request, half on each device
    samples porep 2 "$work/two"
    start=$(now)
    half() { # half DEVICE: five partitions
        for k in 0 1 2 3 4; do
            k=$((5 * $1 + k))
            prove_on cuda "$work/two/117.json" "$work/part.$k" --device "$1" --partition $k
        done
        exit $status
    }
    (half 0) &
    first=$!
    (half 1) &
    wait $! || status=1
    wait $first || status=1
    row "porep 32GiB, ten partitions on two devices" "$(since "$start") s, a key made for each"
    for k in 0 1 2 3 4 5 6 7 8 9; do cat "$work/part.$k"; done >"$work/parts"
    prove_on cuda "$work/two/117.json" "$work/whole" --device 1
    same "porep 32GiB, spread over two and on one device" "$work/parts" "$work/whole"

    # a sector each, warm, alone and side by side
    for who in alone both; do
        pids=
        for device in 0 1; do
            mkdir -p "$work/sector.$device"
            cp "$work/two/$((117 + device)).json" "$work/sector.$device/"
            "$cuzk" bench request "$work/sector.$device" --test-toxic "$toxic" --backend cuda --device $device --runs 3 --json \
                >"$work/bench.$who.$device" &
            pids="$pids $!"
            if [ $who = alone ]; then wait $! || status=1; fi
        done
        if [ $who = both ]; then
            sleep 12
            device=0
            for pid in $pids; do
                on=$(devices_of "$pid")
                case $on in
                "$device ") row "the process of device $device" "is on device $on" ;;
                '') row "the process of device $device" "not seen by nvidia-smi" ;;
                *) row "the process of device $device" "FAILED: is on $on" ;;
                esac
                device=$((device + 1))
            done
            for pid in $pids; do wait "$pid" || status=1; done
        fi
        row "porep 32GiB, warm, devices 0 and 1 $who" "median $(bench_line "$work/bench.$who.0") and $(bench_line "$work/bench.$who.1") ms"
    done
    rm -rf "$work/two" "$work"/sector.*
}

sanitize() {
    if ! command -v compute-sanitizer >/dev/null 2>&1; then
        row "compute-sanitizer" "not installed"
        return 0
    fi
    printf '%s\n' "cuda_pool_test pieces beside failures poison" "cuda_lanes_test test_same_bytes" "cuda_edge_test other_device bad_witness" \
        "cuda_groth16_test test_generated" "cuda_msm_test masked_g1 streams_g1 points" "cuda_ntt_test" "cuda_points_test decode" \
        "cuda_check_test good" "cuda_synthesis_test" >"$work/runs"
    for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
        rm -f "$work"/sanitizer.*
        while read -r run; do
            [ -x "$build/${run%% *}" ] || continue
            cases=
            [ "$run" = "${run%% *}" ] || cases=${run#* }
            # shellcheck disable=SC2086
            (code=0
            timeout "${SANITIZE_SECONDS:-120}" compute-sanitizer --tool $tool --error-exitcode 9 "$build/${run%% *}" $cases \
                >"$work/sanitizer.${run%% *}" 2>&1 </dev/null || code=$?
            echo $code >"$work/sanitizer.${run%% *}.code") &
        done <"$work/runs"
        wait
        while read -r run; do
            name=${run%% *}
            [ -e "$work/sanitizer.$name.code" ] || { row "$tool $name" "not built"; continue; }
            code=$(cat "$work/sanitizer.$name.code")
            if [ "$code" = 0 ]; then
                row "$tool $run" "clean"
            elif [ "$code" = 124 ]; then
                row "$tool $run" "stopped after ${SANITIZE_SECONDS:-120} s, findings: $(grep -c '^========= [A-Z][a-z]' "$work/sanitizer.$name")"
            else
                row "$tool $run" "FAILED ($code): $(grep -m 1 -A 3 '========= [A-Z][a-z]' "$work/sanitizer.$name" | tr '\n' ' ')"
            fi
        done <"$work/runs"
    done
}

# through_daemon LANES FORM: an own daemon with test keys in device memory; the parameter file is empty and takes the verifying key
through_daemon() {
    here=$work/daemon-$1-$2 at=unix://$work/daemon-$1-$2/sock
    mkdir -p "$here/keys"
    prepared=off
    [ "$2" = plain ] || prepared=auto
    CUZK_TEST_TOXIC=$toxic "$cuzk" daemon --listen "$at" --journal "$here/journal" --srs.param_cache "$here/keys" --srs.prepared $prepared \
        --scheduler.express_workers false --gpus.lanes_per_worker "$1" --gpus.devices "${DAEMON_DEVICE:-cuda:0}" \
        --gpus.device_memory "${DAEMON_MEMORY:-auto}" 2>"$here/log" &
    daemon=$!
    for i in $(seq 100); do
        "$cuzk" status --connect "$at" >/dev/null 2>&1 && break
        sleep 0.1
    done
    # the file's name, from what is said about its absence
    name=$("$cuzk" preload "$circuit" --connect "$at" 2>&1 | grep -o 'v28-[^ :]*\.params' | head -1)
    : >"$here/keys/$name"
    [ "$2" = plain ] || : >"$here/keys/${name%.params}.prepared"
    start=$(now)
    if "$cuzk" preload "$circuit" --connect "$at" >/dev/null 2>"$here/said"; then
        loaded=$(since "$start")
        "$cuzk" submit --connect "$at" --request "$work/jobs/117.json" --request-id warm --wait >/dev/null 2>"$here/said" || status=1
        "$cuzk" bench batch --connect "$at" --request "$files" --runs "$jobs" --concurrency 3 --json >"$here/bench.json" 2>"$here/said" || status=1
        seconds=$(sed -n 's/.*"seconds": *\([0-9.]*\).*/\1/p' "$here/bench.json" | head -1)
        "$cuzk" metrics --connect "$at" >"$here/metrics" || true
        rate=$(awk -v n=$((jobs * partitions)) -v s="${seconds:-0}" -v j="$jobs" \
            'BEGIN {if (s > 0) printf "%.3f proofs/s, %.2f s a job of %d", n / s, s / j, n / j; else printf "FAILED"}')
        row "daemon, $kind $size, $1 lane(s), $2" "$rate; key $loaded s; lanes seen $(sed -n 's/^cuzk_gpu_lanes //p' "$here/metrics"); by worker $(
            sed -n 's/^cuzk_worker_partitions_proved_total{[^}]*} //p' "$here/metrics" | tr '\n' ' '), together $(
            sed -n 's/^cuzk_partitions_together_total //p' "$here/metrics")"
    else
        row "daemon, $kind $size, $1 lane(s), $2" "FAILED: $(cat "$here/said")"
    fi
    kill $daemon 2>/dev/null || true
    wait $daemon || true
    grep -E 'level=(warn|error)|no room for two' "$here/log" | grep -v 'toxic waste' | head -5 || true
    rm -rf "$here"
}

daemon() {
    kind=${DAEMON_KIND:-porep} size=${DAEMON_SIZE:-32GiB} jobs=${DAEMON_JOBS:-5}
    case $kind in window) circuit=wpost ;; update) circuit=snap ;; *) circuit=$kind ;; esac
    case $size in 2KiB) circuit=$circuit-2k ;; 8MiB) circuit=$circuit-8m ;; *) circuit=$circuit-32g ;; esac
    case $kind-$size in porep-32GiB) partitions=10 ;; update-32GiB) partitions=16 ;; *) partitions=1 ;; esac
    mkdir -p "$work/jobs"
    files=
    for sector in 117 118 119; do
        "$cuzk" sample "$kind" --sector-size "$size" --sector $sector --seed "sector $sector" -o "$work/jobs/$sector.json" >/dev/null
        files=${files:+$files,}$work/jobs/$sector.json
    done
    for form in ${DAEMON_FORMS:-plain prepared}; do
        for lanes in ${DAEMON_LANES:-1 2}; do through_daemon "$lanes" "$form"; done
    done
    rm -rf "$work/jobs"
}

for what in "$@"; do
    case $what in
    small | sizes | budget | repeat | check | tune | programs | sanitize | bigkey | devices | daemon) $what ;;
    robust) for part in repeat programs check tune budget; do $part; done ;;
    *) full "$what" ;;
    esac
done
echo
cat "$work/table"
exit $status
