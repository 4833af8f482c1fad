#!/bin/sh
# What the daemon does when its disk is full, refuses to be written, or has gone bad, while it runs and at its start.
# Needs to mount a small file system: as root, or in a user name space; else nothing is tested.
set -u
: "${CUZK:?}"
here=$(cd "$(dirname "$0")" && pwd)
if [ "${CUZK_DISK_INSIDE:-}" != 1 ]; then
    "$CUZK" daemon --help 2>&1 | grep daemon.listen >/dev/null || { echo "0 passed, 0 failed (no daemon in this build)"; exit 0; }
    unshare -m true 2>/dev/null && exec env CUZK_DISK_INSIDE=1 unshare -m "$0" "$@"
    unshare -rm true 2>/dev/null && exec env CUZK_DISK_INSIDE=1 unshare -rm "$0" "$@"
    echo "0 passed, 0 failed (nothing can be mounted here)"
    exit 0
fi
work=$(mktemp -d)
disk=$work/disk
mkdir "$disk" "$work/keys"
mount -t tmpfs -o size=4m tmpfs "$disk" || { echo "0 passed, 0 failed (nothing can be mounted here)"; exit 0; }
daemon=""
trap 'if [ -n "$daemon" ]; then kill -9 "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; fi; umount "$disk" 2>/dev/null; rm -rf "$work"' EXIT
. "$(dirname "$0")/expect.sh"
start() {
    : >"$work/log"
    "$CUZK" daemon --listen "$CUZK_CONNECT" --journal "$disk/journal.db" --srs.param_cache "$work/keys" \
        --scheduler.express_workers false --test-worker-fault "${fault:-hold@h:1+}" >"$work/log" 2>&1 &
    daemon=$!
    wait_for 'msg=ready' || exit 1
}
stop() {
    kill "-${1:-TERM}" "$daemon"
    wait "$daemon" 2>/dev/null
    daemon=""
}
# a proof does not come to its end before let_go
hold() { : >"$CUZK_TEST_HOLD"; }
let_go() { rm "$CUZK_TEST_HOLD"; }
fill() { dd if=/dev/zero of="$disk/ballast" bs=4096 2>/dev/null; }
empty() { rm -f "$disk/ballast"; }
# a request of its own each
request() { sed "s/\"request_id\":\"[^\"]*\"/\"request_id\":\"$1\"/" "$work/winning.json" >"$work/$1.json"; }
submit() { request "$1"; "$CUZK" submit --request "$work/$1.json"; }
job_of() { grep -o 'job-[0-9a-f-]*' "$work/out" | head -1; }
# no_start NAME TEXT: a daemon ends at once, saying so
no_start() {
    expect "$1" 3 "$2" patient "$CUZK" daemon --listen "$CUZK_CONNECT" --journal "$disk/journal.db" --srs.param_cache "$work/keys"
}
# killed_with NAME ID: the daemon dies with an accepted request, $job, that it had begun
killed_with() {
    fault=hang@synthesize:1+
    start
    fault=""
    expect "$1" 0 "job-" submit "$2"
    job=$(job_of)
    stop KILL
}
verified() {
    if "$CUZK" verify --request "$work/winning.json" --params "$work/keys" "$2" >"$work/out" 2>&1; then pass "$1"; else
        fail "$1"
        cat "$work/out"
    fi
}
export CUZK_CONNECT=unix://$work/cuzk.sock CUZK_TEST_HOLD="$work/hold"
"$CUZK" setup winning --sector-size 2KiB --out "$work/keys" --test-toxic "$here/../vectors/toxic.json" >"$work/out" 2>&1 ||
    { cat "$work/out"; exit 1; }
"$CUZK" sample winning --sector-size 2KiB -o "$work/winning.json" >/dev/null

# full while it runs
start
expect "a first proof" 0 "job-" submit first
job=$(job_of)
expect "the first proof is awaited" 0 "completed" "$CUZK" await "$job" -o "$work/first.proof"
fill
expect "full: a request is refused" 4 "UNAVAILABLE.*No space left" submit refused
expect "full: others are answered" 0 "porep-c2" "$CUZK" status
expect "full: a kept proof is there" 0 "completed" "$CUZK" await "$job" -o "$work/again.proof"
cmp -s "$work/first.proof" "$work/again.proof" && pass "full: the kept proof is the first one" || fail "full: the kept proof is another"
[ -z "$(ls -A "$disk/journal.db.spool")" ] && pass "nothing is left in the spool" || fail "nothing is left in the spool"
empty
hold
expect "space again: a request is taken" 0 "job-" submit second
job=$(job_of)
fill
let_go
expect "full at the end of a job: its proof is given out" 0 "completed" "$CUZK" await "$job" -o "$work/second.proof"
verified "full at the end of a job: its proof holds" "$work/second.proof"
wait_for "journal could not be told the end" && pass "the log says that the journal lacks it"
expect "metrics say that the journal lacks it" 0 "^cuzk_jobs_unwritten 1" "$CUZK" metrics
expect "full: a later question about that job is answered" 0 "completed" "$CUZK" await "$job" -o "$work/second.proof"
empty
until_true sh -c '"$1" metrics | grep -q "^cuzk_jobs_unwritten 0"' sh "$CUZK" && pass "space again: the journal has caught up" ||
    fail "space again: the journal has not caught up"
stop
start
expect "after a restart the proof is kept" 0 "completed" "$CUZK" await "$job" -o "$work/again.proof"
cmp -s "$work/second.proof" "$work/again.proof" && pass "after a restart it is the same proof" || fail "after a restart it is another proof"

# full, and killed before the journal could be told
hold
expect "another request" 0 "job-" submit third
job=$(job_of)
fill
let_go
expect "its proof on a full disk" 0 "completed" "$CUZK" await "$job" -o "$work/third.proof"
stop KILL
: >"$work/log"
"$CUZK" daemon --listen "$CUZK_CONNECT" --journal "$disk/journal.db" --srs.param_cache "$work/keys" >"$work/log" 2>&1 &
daemon=$!
for _ in $(seq 6000); do
    kill -0 "$daemon" 2>/dev/null || break
    grep -q 'msg=ready' "$work/log" && break
    sleep 0.05
done
if grep -q 'msg=ready' "$work/log"; then
    expect "a start on a full disk: questions are answered" 0 "porep-c2" "$CUZK" status
    stop KILL
else
    wait "$daemon" 2>/dev/null
    daemon=""
    if grep -q "journal" "$work/log"; then pass "a start on a full disk names the journal"; else
        fail "a start on a full disk"
        cat "$work/log"
    fi
fi
empty
start
expect "killed meanwhile: the job is proved once more" 0 "completed" "$CUZK" await "$job" -o "$work/third.proof"
verified "killed meanwhile: that proof holds" "$work/third.proof"

# writes fail while it runs: a file may not grow any more
prlimit --pid "$daemon" --fsize=1:unlimited
expect "no writing: a request is refused" 4 "UNAVAILABLE" submit unwritable
expect "no writing: others are answered" 0 "porep-c2" "$CUZK" status
prlimit --pid "$daemon" --fsize=unlimited:unlimited
expect "writing again: a request is taken" 0 "job-" submit fourth
job=$(job_of)
expect "writing again: it is proved" 0 "completed" "$CUZK" await "$job" -o "$work/fourth.proof"
mv "$disk/journal.db.spool" "$disk/elsewhere"
expect "the spool folder is gone: a request is refused" 4 "UNAVAILABLE" submit gone
mv "$disk/elsewhere" "$disk/journal.db.spool"
stop

# read-only at the start; not in every name space of users can a mounted file system be made so
if mount -o remount,ro "$disk"; then
    no_start "a read-only disk is no start" "journal.db.*Read-only"
    expect "a socket on a read-only disk is no start" 3 "listen: unix://$disk/x.sock: no socket can be made there: Read-only" \
        patient "$CUZK" daemon --listen "unix://$disk/x.sock" --journal "$work/journal.db" --srs.param_cache "$work/keys"
    mount -o remount,rw "$disk"
fi
read_only() { mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"; }
if read_only "$disk/journal.db.spool"; then
    no_start "a read-only spool is no start" "spool folder: $disk/journal.db.spool/.*Read-only"
    umount "$disk/journal.db.spool"
fi
if read_only "$disk/journal.db"; then
    no_start "a read-only journal in a folder that is not" "journal.db: the journal cannot be written: Read-only"
    umount "$disk/journal.db"
fi

# bad at the start, and the way out
killed_with "a request that hangs" fifth
dd if=/dev/urandom of="$disk/journal.db" bs=1 count=64 conv=notrunc 2>/dev/null
rm -f "$disk/journal.db-wal" "$disk/journal.db-shm"
no_start "a damaged journal is no start" "cuzk journal salvage $disk/journal.db"
expect "salvage" 0 "1 taken back from the spool" "$CUZK" journal salvage "$disk/journal.db"
start
expect "after salvage: the job that hung is done" 0 "completed" "$CUZK" await "$job" -o "$work/fifth.proof"
verified "after salvage: its proof holds" "$work/fifth.proof"
stop
expect "salvage of what is not damaged" 0 "the old journal was not damaged; it is $disk/journal.db.intact-" "$CUZK" journal salvage \
    "$disk/journal.db"
killed_with "another request that hangs" sixth
rm -f "$disk/journal.db" "$disk/journal.db-wal" "$disk/journal.db-shm"
no_start "a journal that is gone is no start" "cuzk journal salvage $disk/journal.db"
if [ -e "$disk/journal.db" ]; then fail "... makes none"; else pass "... makes none"; fi
expect "salvage of the spool" 0 "there was no journal" "$CUZK" journal salvage "$disk/journal.db"
start
expect "after that: the job is done" 0 "completed" "$CUZK" await "$job" -o "$work/sixth.proof"
verified "after that: its proof holds" "$work/sixth.proof"
stop
expect "salvage of nothing" 3 "none.db: cannot be salvaged: No such file" "$CUZK" journal salvage "$disk/none.db"
if [ -e "$disk/none.db.lock" ]; then fail "... leaves a lock"; else pass "... leaves no lock"; fi
counts
