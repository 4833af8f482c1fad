#!/bin/sh
# cuzk trace compare on made-up runs, and on two that the program wrote itself.
set -u
: "${CUZK:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/expect.sh"
# span NAME MILLISECONDS [CHILD...]
span() {
    name=$1 ms=$2
    shift 2
    (IFS=, && printf '{"name":"%s","duration_ns":%s000000,"children":[%s]}' "$name" "$ms" "$*")
}
mkdir "$work/before" "$work/after"
for run in 1 2 3 4 5; do
    cuda=$(span cuda $((25700 + run * 20)))
    prover=$(span prover $((25800 + run * 20)) "$cuda")
    span pipeline $((25880 + run * 30)) "$prover" >"$work/before/$run.json"
    span pipeline $((35980 + run * 30)) "$prover" >"$work/after/$run.json"
done
echo "not a run" >"$work/after/notes.txt"

expect "a hidden gap is one line" 1 "^slower: pipeline, outside its parts: +10.10 s (0.11 s -> 10.21 s)" \
    "$CUZK" trace compare "$work/before" "$work/after"
[ "$(grep -c '^slower:' "$work/out")" = 1 ] || { fail "one line"; cat "$work/out"; }
expect "the first row is the worst" 1 "^pipeline .* slower$" sh -c '"$0" trace compare "$1/before" "$1/after" | sed -n 4p; exit 1' \
    "$CUZK" "$work"
expect "JSON" 1 '"path": "pipeline",' "$CUZK" trace compare --json "$work/before" "$work/after"
expect "nothing changed" 0 "no stage is slower" "$CUZK" trace compare "$work/before" "$work/before"
expect "faster is no regression" 0 "faster" "$CUZK" trace compare "$work/after" "$work/before"
expect "lists of files" 1 "A: 2 runs, B: 3 runs" "$CUZK" trace compare "$work/before/1.json,$work/before/2.json" \
    "$work/after/1.json,$work/after/2.json,$work/after/3.json"
expect "a wider spread is asked for" 0 "no stage" "$CUZK" trace compare --spreads 1000 "$work/before" "$work/after"
expect "wrong usage" 2 "trace compare" "$CUZK" trace compare "$work/before"
expect "no such file" 3 "$work/none" "$CUZK" trace compare "$work/before" "$work/none"
expect "not a trace" 3 "notes.txt" "$CUZK" trace compare "$work/before" "$work/after/notes.txt"
mkdir "$work/empty"
expect "a folder without runs" 3 "no runs" "$CUZK" trace compare "$work/before" "$work/empty"

"$CUZK" setup winning --sector-size 2KiB --out "$work/keys" >/dev/null 2>&1 &&
    "$CUZK" sample winning --sector-size 2KiB -o "$work/request.json" >/dev/null 2>&1 &&
    "$CUZK" prove --request "$work/request.json" --params "$work/keys" -o "$work/proof" --trace "$work/own.json" 2>/dev/null
expect "a run of the program" 0 "^prove/partition/msm" "$CUZK" trace compare --all "$work/own.json" "$work/own.json"
counts
