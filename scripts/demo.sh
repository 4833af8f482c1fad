#!/bin/sh
# Proves a real Filecoin PoRep (2 KiB sector, sealed by the reference stack) on the CPU and verifies it.
# Usage: demo.sh BUILD_DIR. Test keys (1.1 GB) are made once and kept in CUZK_DEMO_KEYS (default: keys/ in the tree); an
# interrupted run goes on where it was.
set -eu
build=$1
here=$(cd "$(dirname "$0")/.." && pwd)
cuzk=$build/cuzk
keys=${CUZK_DEMO_KEYS:-$here/keys}
vectors=$here/tests/vectors
c1=$vectors/porep/seal-StackedDrg2KiBV1_1.c1.json
proof=$build/demo.proof
step() { printf '\n== %s\n' "$1"; }

step "The input: output of commit phase 1 for a 2 KiB sector"
"$cuzk" inspect --c1 "$c1"

step "Test keys for this circuit (once; NOT from a trusted setup, good for tests only)"
mkdir -p "$keys"
"$cuzk" setup porep --sector-size 2KiB --out "$keys" --test-toxic "$vectors/toxic.json" --reuse

step "Prove"
"$cuzk" prove --c1 "$c1" --params "$keys" -o "$proof"

step "Verify"
"$cuzk" verify --c1 "$c1" --params "$keys" "$proof"

step "A proof with one bit changed must be refused"
cp "$proof" "$proof.bad"
printf '\001' | dd of="$proof.bad" bs=1 seek=100 conv=notrunc 2>/dev/null
if "$cuzk" verify --c1 "$c1" --params "$keys" "$proof.bad"; then
    echo "demo: the altered proof was accepted" >&2
    exit 1
fi
printf '\nDone: %s holds a valid proof of %s bytes.\n' "$proof" "$(wc -c <"$proof")"
