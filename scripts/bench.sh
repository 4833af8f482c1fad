#!/bin/sh
# The standard benchmarks, one JSON object a line. Usage: bench.sh BUILD_DIR
set -eu
cuzk=$1/cuzk
for size in 65536 262144; do
    "$cuzk" bench msm --n $size --runs 5 --threads 1 --json
done
"$cuzk" bench msm --group g2 --n 65536 --runs 5 --threads 1 --json
"$cuzk" bench msm --n 1048576 --runs 3 --json
"$cuzk" bench masked-sum --n 1048576 --runs 5 --threads 1 --json
"$cuzk" bench ntt --log2-n 20 --runs 5 --threads 1 --json
"$cuzk" bench ntt --log2-n 22 --runs 5 --json
"$cuzk" bench verify --runs 9 --json
"$cuzk" bench synthesize porep --sector-size 512MiB --runs 3 --json
