#!/bin/sh
# Runs test programs and sums their `N passed, N failed` lines. Usage: check.sh BUILD_DIR [LABEL]
# LABEL: check (default) or full. A program that prints no such line, or is killed, counts as one failure.
set -u
build=$1
label=${2:-check}
here=$(cd "$(dirname "$0")/.." && pwd)
# Settings of a daemon, or its address, that somebody has in the environment are not meant for tests.
for name in $(env | sed -n 's/^\(CUZK_[A-Z0-9_]*\)=.*/\1/p'); do
    case $name in
    CUZK_CPU | CUZK_NUMA | CUZK_TEST_* | CUZK_ENGINE_* | CUZK_PROGRAM | CUZK_POSTGRES_BIN | CUZK_*_KEYS) ;;
    *) unset "$name" ;;
    esac
done
unset NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID
# what scripts of tests/e2e run
CUZK=$(cd "$build" && pwd)/src/cli/cuzk
export CUZK
log=$build/check-logs
mkdir -p "$log"
passed=0 failed=0 failures=""
run() {
    name=$1
    shift
    start=$(date +%s)
    [ ! -t 1 ] || printf '%s ...\r' "$name"
    "$@" >"$log/$name.log" 2>&1 </dev/null
    code=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log/$name.log" | tail -n 1)
    if [ -n "$line" ]; then
        p=${line%% *}
        f=${line#*, }
        f=${f%% *}
    else
        p=0 f=1
    fi
    if [ $code != 0 ] && [ "$f" = 0 ]; then f=1; fi
    passed=$((passed + p))
    failed=$((failed + f))
    printf '%-28s %4d passed %3d failed  %4d s\n' "$name" "$p" "$f" "$(($(date +%s) - start))"
    if [ "$f" != 0 ]; then
        failures="$failures $name"
        grep -v '^ok ' "$log/$name.log" | tail -n 40 | sed 's/^/    /'
    fi
}
run layers "$here/scripts/check-layers.sh"
while read -r name path; do
    run "$name" "$path"
done <"$build/tests/$label.list"
[ -z "$failures" ] || echo "failed:$failures"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
