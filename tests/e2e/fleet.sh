#!/bin/sh
# Three daemons on one PostgreSQL: submitted at one, proved by all, awaited at another; one is killed; the database goes
# away and comes back.
set -u
: "${CUZK:?}"
# The server's programs: the last of what Debian installs, else what the path has.
for bin in /usr/lib/postgresql/*/bin "${CUZK_POSTGRES_BIN:-/none}"; do
    if [ -x "$bin/postgres" ]; then server=$bin; fi
done
: "${server:=$(dirname "$(readlink -f "$(command -v postgres)")")}"
work=$(mktemp -d)
chmod 711 "$work"
user=$(id -un)
if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
fi
as_user() { if [ "$(id -u)" = 0 ]; then runuser -u "$user" -- "$@"; else "$@"; fi; }
daemons=""
database() { # start | stop
    case $1 in
    start) as_user "$server/pg_ctl" -D "$work/pg/data" -l "$work/pg/log" -w \
        -o "-k $work/pg -c listen_addresses= -c fsync=off" start >/dev/null ;;
    stop) as_user "$server/pg_ctl" -D "$work/pg/data" -m immediate -w stop >/dev/null 2>&1 ;;
    esac
}
cleanup() {
    for pid in $daemons; do kill -9 "$pid" 2>/dev/null; done
    database stop
    rm -rf "$work"
}
trap cleanup EXIT
. "$(dirname "$0")/expect.sh"
comes() { # NAME command...
    name=$1
    shift
    if until_true "$@"; then pass "$name"; else
        fail "$name"
        cat "$work/out"
    fi
}
at() { # MACHINE command...
    machine=$1
    shift
    "$CUZK" "$@" --connect "unix://$work/$machine.sock"
}
start() { # MACHINE [OPTIONS]
    machine=$1
    shift
    "$CUZK" daemon --journal "$work/$machine/journal.db" --listen "unix://$work/$machine.sock" \
        --srs.param_cache "$work/keys" --scheduler.express_workers false --gpus.gpu_threads 1 \
        --fleet.dsn "host=$work/pg user=cuzk dbname=postgres password=hush" --fleet.machine "$machine" \
        --fleet.lease 6s "$@" >"$work/$machine.log" 2>&1 &
    eval "pid_$machine=$!"
    daemons="$daemons $!"
    comes "$machine is up" at "$machine" status
}

mkdir "$work/pg"
[ "$(id -u)" != 0 ] || chown "$user" "$work/pg"
as_user "$server/initdb" -D "$work/pg/data" -U cuzk -A trust -E UTF8 --locale=C --no-sync >"$work/initdb.log" 2>&1 ||
    { cat "$work/initdb.log"; exit 1; }
expect "no database, no daemon" 4 "cannot be reached" "$CUZK" daemon --journal "$work/none.db" --listen "unix://$work/none.sock" \
    --srs.param_cache "$work/keys" --fleet.dsn "host=$work/pg user=cuzk dbname=postgres"
database start || { cat "$work/pg/log"; exit 1; }
"$CUZK" setup window --sector-size 2KiB --out "$work/keys" >/dev/null 2>&1
for i in 1 2 3; do
    "$CUZK" sample window --sector-size 2KiB --sectors $((i % 2 + 1)) --seed "fleet $i" -o "$work/request$i.json" >/dev/null 2>&1
done

start b --test-worker-fault "hang@h:1+"
job=$(at b submit --request "$work/request1.json")
comes "the first machine stands still with a partition" sh -c \
    '"$0" status --connect "unix://$1/b.sock" | grep -q "^b .* 1  *0$"' "$CUZK" "$work"
for i in 2 3; do at b submit --request "$work/request$i.json" >/dev/null || fail "submitted behind it"; done
start a
start c
comes "all machines are seen" sh -c \
    '[ "$("$0" status --connect "unix://$1/a.sock" | grep -c "^[abc]  .* s ago ")" = 3 ]' "$CUZK" "$work"
expect "a password is not shown" 0 '^fleet.dsn *= "..."' sh -c \
    'printf "fleet.dsn = \"password=hush\"\n" >"$1/x.toml" && "$0" config check "$1/x.toml"' "$CUZK" "$work"
same=$(at c submit --request "$work/request1.json")
if [ "$job" = "$same" ]; then pass "one request is one job everywhere"; else fail "one request is one job: $job, $same"; fi
comes "the others prove the rest" sh -c \
    '"$0" metrics --connect "unix://$1/c.sock" | awk "/^cuzk_fleet_machine_proved_total/ { n += \$2 } END { exit n != 2 }"' "$CUZK" "$work"
eval "kill -9 \$pid_b"
expect "awaited elsewhere" 0 "" at c await "$job" -o "$work/proof"
expect "the proof verifies" 0 "" "$CUZK" verify --request "$work/request1.json" --params "$work/keys" "$work/proof"
expect "the same proof here" 0 "" at a await "$job" -o "$work/proof2"
cmp -s "$work/proof" "$work/proof2" && pass "proofs are equal" || fail "proofs are equal"

database stop
comes "the loss is told" sh -c '"$0" status --json --connect "unix://$1/a.sock" | grep -q "\"reachable\": false"' "$CUZK" "$work"
expect "no new work" 4 "UNAVAILABLE: .*out of reach" at a submit --request "$work/request1.json" --request-id later
database start
comes "new work again" at a submit --request "$work/request1.json" --request-id later -o "$work/proof3"
expect "its proof verifies" 0 "" "$CUZK" verify --request "$work/request1.json" --params "$work/keys" "$work/proof3"
for machine in a c; do
    eval "pid=\$pid_$machine"
    kill -TERM "$pid"
    wait "$pid"
    code=$?
    if [ $code = 0 ]; then pass "$machine ends"; else fail "$machine ends: $code"; cat "$work/$machine.log"; fi
done
if grep -q hush "$work"/*.log; then fail "the log has the password"; else pass "no password in the logs"; fi
counts
