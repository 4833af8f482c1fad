#!/bin/sh
# ThreadSanitizer over all that has threads of its own: kernels, base, engine, rpc, and a daemon with workers and clients under faults.
# Usage: tsan.sh [SECONDS of load on the daemon, 20]. Reports lie in build-tsan/reports; none may be there at the end.
set -u
seconds=${1:-20}
cd "$(dirname "$0")/.." || exit 2
tests="lanes_msm lanes_ntt base base_mem base_io base_misc engine_store engine engine_keys engine_devices engine_prepared engine_lanes\
 engine_groups engine_stalls engine_oom engine_heap engine_fleet_journal engine_fleet rpc rpc_threads"
# With clang where it is: what gcc 12 makes of AVX-512 kernels under ThreadSanitizer computes wrongly (no other build of either does).
compiler=
command -v clang >/dev/null && command -v clang++ >/dev/null && compiler="-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++"
[ -n "$compiler" ] || export CUZK_CPU=adx
# shellcheck disable=SC2086
cmake -S . -B build-tsan -G Ninja $compiler -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCUZK_CUDA=OFF -DCUZK_SANITIZE=thread >/dev/null || exit 2
targets=$(for t in $tests; do ninja -C build-tsan -t query "test_$t" >/dev/null 2>&1 && echo "test_$t"; done)
# shellcheck disable=SC2086
ninja -C build-tsan cuzk $targets >build-tsan/build.log || { tail -n 30 build-tsan/build.log; exit 2; }
reports=$PWD/build-tsan/reports
rm -rf "$reports"
mkdir -p "$reports"
export TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp log_path=$reports/report exitcode=0 second_deadlock_stack=1 history_size=4"
failed=0
for target in $targets; do
    # An ordinary build, where there is one, proves much faster; workers under ThreadSanitizer are the daemon's, below.
    unset CUZK_TEST_WORKER
    [ ! -x "build/tests/$target" ] || export CUZK_TEST_WORKER="$PWD/build/tests/$target"
    "build-tsan/tests/$target" >"build-tsan/$target.log" 2>&1 || failed=1
    echo "$target: $(tail -n 1 "build-tsan/$target.log")"
done
if [ "$seconds" != 0 ]; then
    CUZK=$PWD/build-tsan/src/cli/cuzk CUZK_SOAK_KEYS=$PWD/build-tsan/tests/soak-keys python3 tests/soak/soak.py soak "$seconds" \
        --kinds window=3,winning=1 --cores 8 >build-tsan/soak.log 2>&1 || failed=1
    echo "daemon: $(tail -n 1 build-tsan/soak.log)"
fi
n=$(cat "$reports"/* 2>/dev/null | grep -c "WARNING: ThreadSanitizer")
cat "$reports"/* 2>/dev/null | grep SUMMARY | sort | uniq -c
[ "$n" = 0 ] && [ $failed = 0 ] && echo "no report" && exit 0
echo "$n reports"
exit 1
