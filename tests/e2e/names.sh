#!/bin/sh
# docs/daemon.md names every setting, metric and state of the daemon, and none that is not there.
set -u
: "${CUZK:?}"
root=$(cd "$(dirname "$0")/../.." && pwd)
doc=$root/docs/daemon.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$root/tests/e2e/expect.sh"
# same NAME LIST_OF_THE_PROGRAM LIST_OF_THE_DOCUMENT
same() {
    sort -u "$2" >"$work/a" && sort -u "$3" >"$work/b"
    if [ -s "$work/a" ] && cmp -s "$work/a" "$work/b"; then pass "$1: $(wc -l <"$work/a")"; else
        fail "$1: < the program has it, > the document names it"
        diff "$work/a" "$work/b"
    fi
}
between() { # of a source file: the texts in quotes from a line with $2 to the next that begins with }
    sed -n "/$2/,/^}/p" "$root/$1" | grep -o '"[a-z_]*"' | tr -d '"'
}
row() { grep -e "^| $1" "$doc" | cut -d'|' -f3 | grep -o '`[a-z_]*`' | tr -d '`'; }

"$CUZK" config sample >"$work/sample"
awk -F'[][ =]+' '/^\[/ { section = $2 } /^[a-z_]+ = / { print section "." $1 }' "$work/sample" >"$work/keys"
sections=$(cut -d. -f1 "$work/keys" | sort -u | paste -sd'|' | sed 's/|/\\|/g')
# members of the status are named in the same way
grep -o '`\('"$sections"'\)\.[a-z_][a-z_]*' "$doc" | tr -d '`' | grep -v -x -e memory.daemon -e journal.error >"$work/named"
same "settings" "$work/keys" "$work/named"

grep -h -o '"cuzk_[a-z_]*"\|# TYPE cuzk_[a-z_]*' "$root/src/rpc/metrics.c" "$root/src/rpc/server.c" | grep -o 'cuzk_[a-z_]*' >"$work/metrics"
grep -o 'cuzk_[a-z_]*' "$doc" | grep -v -x -e cuzk_ -e cuzk_fleet_ >"$work/named"
same "metrics" "$work/metrics" "$work/named"

between src/engine/status.c "^const char \*zk_partition_state_name" | grep -v -x unknown >"$work/states"
row "of a partition" >"$work/named"
grep -v -x pipelines "$work/named" >"$work/partition"
same "states of a partition" "$work/states" "$work/partition"
between src/engine/status.c "^const char \*zk_worker_state_name" | grep -v -x unknown >"$work/states"
row "of a worker" >"$work/named"
same "states of a worker" "$work/states" "$work/named"
sed -n '/enum Status {/,/}/p' "$root/src/rpc/proto/cuzk.proto" | grep -o '[A-Z]* = ' | tr -d '= ' >"$work/states"
grep "^| of a job that is over" "$doc" | cut -d'|' -f3 | grep -o '[A-Z][A-Z]*' >"$work/named"
same "outcomes of a job" "$work/states" "$work/named"
counts
