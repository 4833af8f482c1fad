#!/bin/sh
# Builds the CUDA code on a machine with a GPU, runs its tests there, proves (scripts/device-prove.sh), then the benchmarks; one table last.
#
#   scripts/device-check.sh [quick | full] [build folder]
#
# quick: the tests, small proofs and a short table (some three minutes on 16 cores and one H200); full: also the large sizes, whole proofs of
# 32 GiB sectors (20 GB of host memory; half an hour) and, where it is installed, compute-sanitizer on small circuits. Needs cmake, a C and
# a C++ compiler, nvcc; no other library, no network. Where there is no time to build: scripts/device-pack.sh.
set -eu
mode=${1:-full}
build=${2:-build-device-check}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

generator=
command -v ninja >/dev/null 2>&1 && generator="-G Ninja"
cmake -S . -B "$build" $generator -DCUZK_CUDA=ON ${CUZK_CUDA_ARCHS:+-DCUZK_CUDA_ARCHS="$CUZK_CUDA_ARCHS"} >"$build.log" 2>&1 ||
    { tail -20 "$build.log"; exit 1; }
cmake --build "$build" --target cuda_check -j "$(nproc)" >>"$build.log" 2>&1 || { tail -40 "$build.log"; exit 1; }

status=0
for program in cuda_msm_test cuda_common_test cuda_ntt_test cuda_points_test cuda_synthesis_test cuda_prepare_test cuda_groth16_test cuda_groth16_prepare_test \
    cuda_pool_test cuda_lanes_test cuda_budget_test cuda_faults_test cuda_check_test cuda_edge_test; do
    "$build/$program" || status=1
done

if [ "$mode" = full ]; then
    scripts/device-prove.sh "$build/src/cli/cuzk" small porep update window winning robust sanitize || status=1
    "$build/cuda_prepare_test" time 22 || status=1
    "$build/bench_cuda" rate ntt 20 ntt 22 ntt 24 ntt 26 ntt 27 nttfull 27 quotient 27 quotientfull 27 \
        mask1 26 mask2 24 g1 16 g1 20 g1 22 g1 24 g1 26 g1 27 g2 20 g2 22 g2 24 \
        repeat 3 decode1 24 decode2 24 multiples1 24 multiples2 24 subgroup1 24 subgroup2 24 2>/dev/null || status=1
else
    scripts/device-prove.sh "$build/src/cli/cuzk" small winning || status=1
    "$build/bench_cuda" repeat 3 rate ntt 20 nttfull 27 mask1 26 g1 20 g1 26 g2 20 decode1 24 multiples1 24 subgroup1 24 2>/dev/null || status=1
fi
exit $status
