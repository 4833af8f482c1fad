#!/bin/sh
# Packs cuzk and the programs of the target cuda_check for a machine with a GPU that has no compiler or too little time for one.
#
#   scripts/device-pack.sh [BUILD [FILE]]        BUILD: build-pack, made if missing; FILE: BUILD/device.tar.xz, some 20 MB
#
# There: tar xf FILE -C FOLDER (or python3 -m tarfile -e FILE FOLDER), beside a checkout or a copy of scripts/ and tests/vectors:
#
#   scripts/device-prove.sh FOLDER/src/cli/cuzk WHAT...
#
# The programs use no library beyond those of C and C++, so gRPC, databases and zstd are left out. CUZK_CUDA_ARCHS as for
# scripts/device-check.sh. Programs share nearly all of their bytes; xz finds that.
set -eu
build=${1:-build-pack}
out=${2:-$build/device.tar.xz}
cd "$(dirname "$0")/.."
cmake -S . -B "$build" -G Ninja -DCUZK_CUDA=ON ${CUZK_CUDA_ARCHS:+-DCUZK_CUDA_ARCHS="$CUZK_CUDA_ARCHS"} \
    -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DZSTD_INCLUDE=OFF -DZSTD_LIBRARY=OFF >"$build.log" 2>&1 || { tail -20 "$build.log"; exit 1; }
ninja -C "$build" ${JOBS:+-j "$JOBS"} cuda_check >>"$build.log" 2>&1 || { tail -40 "$build.log"; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder" "$folder.tar"' EXIT
mkdir -p "$folder/src/cli"
cp "$build/src/cli/cuzk" "$folder/src/cli/"
while read -r program; do cp "$build/$program" "$folder/"; done <"$build/cuda_programs.list"
strip "$folder"/src/cli/cuzk "$folder"/cuda_*_test "$folder"/bench_cuda
strange=$(ldd "$folder"/src/cli/cuzk "$folder"/cuda_*_test | awk '/=>/ {print $1}' | sort -u |
    grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|libdl|librt|libpthread)\.so' || true)
[ -z "$strange" ] || { echo "these libraries may be missing there: $strange"; exit 1; }
tar -C "$folder" -cf "$folder.tar" .
xz -T1 --lzma2=preset=1,dict=256MiB <"$folder.tar" >"$out.partial"
mv "$out.partial" "$out"
ls -l "$out"
