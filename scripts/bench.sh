#!/bin/sh
# The standard benchmarks, one JSON object a line. Usage: bench.sh BUILD_DIR
set -eu
cuzk=$1/cuzk
vectors=$(cd "$(dirname "$0")/.." && pwd)/tests/vectors
one() { "$cuzk" bench "$@" --json | tr -d '\n' && echo; }
one msm -n 65536 --runs 5 --threads 1
one msm -n 262144 --runs 5 --threads 1
one msm --group g2 -n 65536 --runs 5 --threads 1
one msm -n 4194304 --runs 3
one masked-sum -n 1048576 --runs 5 --threads 1
one ntt --log2-n 20 --runs 5 --threads 1
one ntt --log2-n 22 --runs 5
one hash --hash sha256 -n 65536 --runs 9 --threads 1
one hash --hash poseidon --arity 8 -n 8192 --runs 9 --threads 1
one verify --runs 9 --threads 1
one verify --batch 10 --runs 9 --threads 1
one synthesize --c1 "$vectors/porep/sparse-StackedDrg512MiBV1_1.c1.json.zst" --runs 3
one setup --chain 17 --runs 1
one prove --chain 17 --test-toxic "$vectors/toxic.json" --runs 3
