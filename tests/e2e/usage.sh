#!/bin/sh
# What is told to somebody who asks for a thing that is not there.
set -u
: "${CUZK:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/expect.sh"

expect "a word that begins commands lists them" 2 "bench hash .*Poseidon" "$CUZK" bench
expect "and asked for help it is no mistake" 0 "params prepare" "$CUZK" params --help
expect "a word that is part of one does not" 2 "unknown command" "$CUZK" benc
expect "nor one that is followed by what is none" 2 "unknown command" "$CUZK" bench nothing

expect "CUZK_CPU misspelt" 2 'CUZK_CPU in the environment: found "axd", expected portable' env CUZK_CPU=axd "$CUZK" config sample
expect "CUZK_NUMA misspelt" 2 'CUZK_NUMA in the environment: found "of", expected auto' env CUZK_NUMA=of "$CUZK" circuit info winning
for value in "" portable adx avx2 ifma; do
    expect "CUZK_CPU=$value" 0 "result checked" env CUZK_CPU="$value" "$CUZK" bench hash -n 8 --runs 1
done
for value in "" auto off interleave; do
    expect "CUZK_NUMA=$value" 0 "result checked" env CUZK_NUMA="$value" "$CUZK" bench hash -n 8 --runs 1
done

# what takes half a minute can be interrupted; where it had not begun in time, later
interrupted() { # NAME command...
    name=$1
    shift
    for after in 1 4 16; do
        code=0
        timeout --preserve-status -s INT "$after" "$@" >"$work/out" 2>&1 || code=$?
        if [ $code != 130 ] || grep -q "cancelled" "$work/out"; then break; fi
    done
    if [ $code = 130 ] && grep -q "cancelled" "$work/out"; then pass "$name"; else
        fail "$name: exit $code"
        cat "$work/out"
    fi
}
interrupted "circuit digest is interrupted" "$CUZK" circuit digest window --sector-size 64GiB
toxic=$(dirname "$0")/../vectors/toxic.json
# a number that is given is not taken for one that is not
zero() { expect "$1 $2 0" 2 "$2: found \"0\", expected a whole number, at least 1" "$CUZK" $1 "$2" 0; }
for options in "sample window:--sectors" "circuit digest window:--rows-per-checkpoint" "witness digest:--every" "bench msm:--runs" \
    "bench verify:--batch" "bench prove:--chain" "bench setup:--chain" "bench request:--lanes" "tune:--runs" "trace compare a b:--spreads"; do
    zero "${options%%:*}" "${options#*:}"
done
if "$CUZK" bench stress --help >"$work/help" && grep -q duration "$work/help"; then
    zero "bench stress" --duration
    zero "bench batch" --concurrency
    zero "bench single" --runs
fi
for what in "msm -n 100" "msm -n 100 --group g2" "masked-sum -n 100" "ntt --log2-n 8" "setup --chain 7" "verify" "prove --chain 7 --test-toxic toxic"; do
    # shellcheck disable=SC2086
    expect "bench $what is checked" 0 '"checked": true' "$CUZK" bench $(echo "$what" | sed "s#toxic\$#$toxic#") --runs 1 --json
done
expect "bench msm names its group" 0 "group=g2" "$CUZK" bench msm -n 8 --group g2 --runs 1
for kind in porep winning window update; do
    expect "sample $kind --json" 0 "\"kind\": \"$kind\".*\"sector_size\": 2048.*\"partitions\": 1.*\"miner_id\": 1193" \
        sh -c '"$1" sample "$2" --sector-size 2KiB -o "$3/s.json" --json | tr -d "\n"' sh "$CUZK" $kind "$work"
done
expect "sample of a type that is none" 3 "no registered update type has .* the name foo" "$CUZK" sample update --sector-size 2KiB \
    --registered-proof foo -o "$work/s.json"

"$CUZK" sample winning --sector-size 2KiB -o "$work/request.json" >/dev/null || fail "a request"
"$CUZK" sample porep --sector-size 2KiB --c1 -o "$work/c1.json" >/dev/null || fail "a C1"
expect "a request taken for a C1" 3 "request.json: found a request (--request), expected a C1" "$CUZK" inspect --c1 "$work/request.json"
expect "a C1 taken for a request" 3 "c1.json: found a C1 (--c1), expected a request" "$CUZK" inspect --request "$work/c1.json"
echo "{}" >"$work/neither.json"
expect "neither is called neither" 3 "neither.json: .*missing" "$CUZK" inspect --c1 "$work/neither.json"
: >"$work/proof"
mkdir "$work/keys" "$work/none"
expect "no key to prove with" 3 "no such key file.*setup KIND" "$CUZK" prove --request "$work/request.json" --params "$work/keys" -o "$work/p"
expect "no key to verify with" 3 "[.]vk: no such key file.*setup KIND" "$CUZK" verify --request "$work/request.json" --params "$work/keys" "$work/proof"
"$CUZK" setup winning --sector-size 2KiB --out "$work/keys" >/dev/null 2>&1 || fail "keys"
expect "no prepared key" 3 "no prepared key beside .*params prepare" "$CUZK" prove --request "$work/request.json" --params "$work/keys" --prepared -o "$work/p"
[ ! -e "$work/p" ] || fail "a proof is left"

expect "bench request without a folder" 2 "FOLDER" "$CUZK" bench request --params "$work/keys"
expect "of a folder that is not there" 3 "No such file" "$CUZK" bench request "$work/none/none" --params "$work/keys"
expect "of a folder without requests" 3 "no requests" "$CUZK" bench request "$work/none" --params "$work/keys"
mkdir "$work/requests" "$work/requests/folder"
cp "$work/request.json" "$work/requests/1.json" && echo "not a request" >"$work/requests/notes.txt"
expect "other files are passed over" 0 "result checked" "$CUZK" bench request "$work/requests" --params "$work/keys" --runs 1
counts
