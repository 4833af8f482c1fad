#!/bin/sh
# Builds the fuzz targets (clang, libFuzzer, ASan, UBSan) and runs each for SECONDS seconds. Usage: fuzz.sh SECONDS [TARGET...]
set -eu
seconds=$1
shift
cd "$(dirname "$0")/.."
CC=clang cmake -S . -B build-fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCUZK_FUZZ=ON -DCUZK_CUDA=OFF \
    -DCUZK_SANITIZE=address,undefined >/dev/null
ninja -C build-fuzz fuzzers >build-fuzz/build.log || { tail -n 30 build-fuzz/build.log; exit 1; }
[ $# -gt 0 ] || set -- $(cd build-fuzz/fuzz && ls | grep '^fuzz_' | grep -v '\.')
failed=0
for target in "$@"; do
    corpus=build-fuzz/corpus/$target
    mkdir -p "$corpus"
    seeds=""
    [ -d "fuzz/seeds/$target" ] && seeds=fuzz/seeds/$target
    if build-fuzz/fuzz/"$target" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=0 \
        -artifact_prefix="build-fuzz/$target-" "$corpus" $seeds >"build-fuzz/$target.log" 2>&1; then
        echo "$target: $(grep -c . "build-fuzz/$target.log") lines, no finding"
    else
        echo "$target: FINDING, see build-fuzz/$target.log"
        failed=1
    fi
done
exit $failed
