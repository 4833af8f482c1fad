#!/bin/sh
# The daemon as a process: settings, clients and their exit codes, reload, TLS, the end. No keys: nothing is proved here.
set -u
: "${CUZK:?}"
work=$(mktemp -d)
daemon=""
trap 'if [ -n "$daemon" ]; then kill -9 "$daemon" 2>/dev/null; fi; rm -rf "$work"' EXIT
. "$(dirname "$0")/expect.sh"
start() {
    : >"$work/log"
    "$CUZK" daemon --journal "$work/journal.db" --srs.param_cache "$work/keys" "$@" >"$work/log" 2>&1 &
    daemon=$!
    wait_for 'msg"*[=:]"*ready' || exit 1
}
stop() {
    kill -TERM "$daemon"
    wait "$daemon"
    code=$?
    daemon=""
    if [ $code = 0 ]; then pass "$1"; else fail "$1: exit $code"; cat "$work/log"; fi
}

"$CUZK" daemon --help >"$work/help"
if ! grep -q daemon.listen "$work/help"; then
    expect "without the libraries" 3 "libgrpc-dev" "$CUZK" daemon
    counts
    exit
fi

sock=unix://$work/run/cuzk.sock
cat >"$work/cuzk.toml" <<END
[daemon]
listen = "$sock"
status_listen = "127.0.0.1:0"
[logging]
level = "info"
[memory]
pinned_budget = "5GiB"
[surprise]
key = 1
END
mkdir "$work/keys"
expect "config check" 0 'unknown key "surprise.key"' "$CUZK" config check "$work/cuzk.toml"
"$CUZK" config sample >"$work/sample.toml"
expect "the sample is good" 0 "daemon.listen" "$CUZK" config check "$work/sample.toml"
echo 'memory.total_budget = "much"' >"$work/bad.toml"
expect "config check of a bad file" 3 'bad.toml:1: memory.total_budget: found "much"' "$CUZK" config check "$work/bad.toml"
printf '[gpus]\nlanes_per_worker = 9\n[logging]\nlevel = loud\nformat = "x"\n' >"$work/bad3.toml"
expect "config check tells all that is wrong" 3 'bad3.toml:5: logging.format: found "x"' "$CUZK" config check "$work/bad3.toml"
if sed 's/.*bad3.toml:\([0-9]*\):.*/\1/' "$work/out" | tr '\n' ' ' | grep -q '^2 4 5 $'; then pass "... in order"; else fail "... in order"; fi
expect "a bad file is no start" 3 "bad.toml:1" "$CUZK" daemon --config "$work/bad.toml"

# what is no file is refused by its name; nobody waits for the other end of a pipe
mkfifo "$work/pipe" "$work/pipe.db" "$work/kept.db.keys" "$work/locked.db.lock"
refused() { # NAME PATH command...
    name=$1 path=$2
    shift 2
    expect "$name" 3 "$path: found a pipe, expected a regular file" patient "$CUZK" "$@"
}
no_start() { refused "$1" "$2" daemon --srs.param_cache "$work/keys" --journal "$work/none.db" "$3" "$4"; }
refused "a pipe as settings" "$work/pipe" daemon --config "$work/pipe"
refused "a pipe as settings to check" "$work/pipe" config check "$work/pipe"
for suffix in "pipe.db" "kept.db/.keys" "locked.db/.lock"; do
    refused "a pipe as $suffix" "$work/$(echo "$suffix" | tr -d /)" daemon --srs.param_cache "$work/keys" --journal "$work/${suffix%%/*}"
done
no_start "a pipe as manifest" "$work/pipe" --srs.manifest "$work/pipe"
expect "a pipe as spool" 3 "$work/pipe: .*Not a directory" patient "$CUZK" daemon --srs.param_cache "$work/keys" \
    --journal "$work/none.db" --journal.spool "$work/pipe"
: >"$work/empty.pem"
refused "a pipe as certificate" "$work/pipe" daemon --srs.param_cache "$work/keys" --journal "$work/none.db" --listen 127.0.0.1:0 \
    --daemon.tls_certificate "$work/pipe" --daemon.tls_key "$work/empty.pem"
refused "a pipe as key" "$work/pipe" daemon --srs.param_cache "$work/keys" --journal "$work/none.db" --listen 127.0.0.1:0 \
    --daemon.tls_certificate "$work/empty.pem" --daemon.tls_key "$work/pipe"
expect "a pipe as address" 3 "$work/pipe: found something that is no socket" patient "$CUZK" daemon \
    --srs.param_cache "$work/keys" --journal "$work/none.db" --listen "unix://$work/pipe"
[ -p "$work/pipe" ] && pass "a pipe in place of a socket stays" || fail "a pipe in place of a socket is gone"
refused "a pipe as authority of a client" "$work/pipe" status --connect localhost:1 --tls-ca "$work/pipe"
refused "a pipe as request" "$work/pipe" submit --request "$work/pipe"
refused "a pipe as request to prove" "$work/pipe" prove --request "$work/pipe" --params "$work/keys" -o "$work/p"
expect "a request that a shell pipes in is read" 3 "/dev/stdin: json: byte 0" sh -c 'echo x | "$1" prove --request /dev/stdin --params . -o "$2/p"' sh "$CUZK" "$work"

start --config "$work/cuzk.toml"
grep -q "level=warn.*there are no keys: .*param_cache=$work/keys" "$work/log" && pass "no keys are told" || fail "no keys are told"
grep -q 'memory.pinned_budget.*deprecated' "$work/log" && pass "deprecated key is named" || fail "deprecated key is named"
export CUZK_CONNECT=$sock
expect "status" 0 "porep-c2" "$CUZK" status
until_true sh -c '"$1" status | grep -q "^cpu .* idle$"' sh "$CUZK" # until a worker has started
expect "a worker of the CPU is called so" 0 "^cpu (worker 0)  *[1-9][0-9]* thread.* idle$" "$CUZK" status
expect "in JSON, too" 0 '"device": "cpu (worker 0)"' "$CUZK" status --json
expect "status --json" 0 '"total_proofs_completed": 0' "$CUZK" status --json
expect "metrics" 0 "^cuzk_uptime_seconds " "$CUZK" metrics
expect "metrics --json" 0 '"prometheus_text": "# HELP .*\\ncuzk_uptime_seconds ' "$CUZK" metrics --json
expect "cancel of an unknown job" 1 "not queued or running" "$CUZK" cancel job-unknown
expect "await of an unknown job" 3 "no such job" "$CUZK" await job-unknown
expect "preload without keys" 3 "NOT_FOUND: .*$work/keys" "$CUZK" preload winning-2k
keys=$("$CUZK" preload winning-2k 2>&1 | grep -o 'v28-[^ :]*params')
mkfifo "$work/keys/$keys"
expect "preload of a pipe" 3 "NOT_FOUND: .*$keys: no regular file in .*$work/keys" patient "$CUZK" preload winning-2k
rm "$work/keys/$keys"
expect "preload of nonsense" 3 "INVALID_ARGUMENT" "$CUZK" preload nonsense
expect "evict of what is not loaded" 0 "was not loaded" "$CUZK" evict winning-2k
"$CUZK" sample winning --sector-size 2KiB -o "$work/winning.json" >/dev/null
expect "submit without keys" 3 "NOT_FOUND: .*v28-.*$work/keys" "$CUZK" submit --request "$work/winning.json"
"$CUZK" sample window --sector-size 2KiB --sectors 3 -o "$work/window.json" >/dev/null
expect "sectors of two partitions" 3 "INVALID_ARGUMENT: vanilla_proofs: found 3, .* holds 1 to 2," "$CUZK" submit --request "$work/window.json"
sed 's/\("sector_size": *"*\)2048/\14096/' "$work/winning.json" >"$work/wrong.json"
expect "a field that cannot be right" 3 "INVALID_ARGUMENT: sector_size: found 4096, but StackedDrgWinning2KiBV1 (0) has 2048" \
    "$CUZK" submit --request "$work/wrong.json"
[ "$(wc -l <"$work/out")" = 1 ] && pass "... in one line" || fail "more than a line"
expect "the same rule in prove" 3 "sector_size: found 4096, but StackedDrgWinning2KiBV1 (0) has 2048" "$CUZK" prove \
    --request "$work/wrong.json" --params "$work/keys" -o "$work/p"
expect "what was refused is counted so" 0 "^cuzk_requests_rejected_total [1-9]" "$CUZK" metrics
expect "... and is no job that failed" 0 "^cuzk_proofs_failed_total 0" "$CUZK" metrics
[ -z "$(ls "$work/journal.db.spool")" ] && pass "... of which nothing is kept" || fail "the spool is not empty"
"$CUZK" sample porep --sector-size 2KiB --c1 -o "$work/c1.json" >/dev/null
expect "a C1 of nobody" 2 "names no miner number: expected --miner N" "$CUZK" submit --c1 "$work/c1.json"
expect "a C1 of no sector" 2 "names no sector number: expected --sector N" "$CUZK" submit --c1 "$work/c1.json" --miner 1193
expect "a C1 with both" 3 "NOT_FOUND: .*v28-.*$work/keys" "$CUZK" submit --c1 "$work/c1.json" --miner 1193 --sector 117
expect "the numbers of a request are its own" 2 "go with --c1" "$CUZK" submit --request "$work/winning.json" --miner 1193
expect "bench single without keys" 3 "1 of 1 failed" "$CUZK" bench single --request "$work/winning.json"
for client in status "submit --request $work/winning.json" "await job" "cancel job" "preload porep-2k" "evict porep-2k" \
    metrics "bench single --request $work/winning.json" "bench batch --request $work/winning.json --json" \
    "bench stress --request $work/winning.json"; do
    # shellcheck disable=SC2086
    expect "without daemon: ${client%% *}" 4 \
        "$work/none.sock: UNAVAILABLE: No such file.*; no daemon serves there: start one.*(address by --connect)$" \
        "$CUZK" $client --connect "unix://$work/none.sock"
    [ "$(wc -l <"$work/out")" = 1 ] || fail "more than a line: $client"
done
expect "the address is from the environment" 4 "none.sock: .*(address by CUZK_CONNECT)$" \
    env CUZK_CONNECT="unix://$work/none.sock" "$CUZK" status
expect "CUZK_CONNECT that is no address" 2 'CUZK_CONNECT: address: found "nowhere"' env CUZK_CONNECT=nowhere "$CUZK" status
expect "--connect that is no address" 2 '\-\-connect: address: found "nowhere"' "$CUZK" status --connect nowhere
status_port=$(sed -n 's/.*serving the status page.* port=\([0-9]*\).*/\1/p' "$work/log")
expect "the status page is no gRPC" 4 "speaks HTTP, not gRPC" "$CUZK" status --connect "127.0.0.1:$status_port"
second() { # NAME TEXT options...
    name=$1 text=$2
    shift 2
    expect "$name" 4 "$text" patient "$CUZK" daemon --listen "unix://$work/second.sock" --srs.param_cache "$work/keys" "$@"
}
second "a second daemon" "journal.db: another process" --journal "$work/journal.db"
rm "$work/journal.db.lock"
second "a second daemon without the lock's file" "journal.db: another process" --journal "$work/journal.db"
second "a second daemon with the first one's spool" "spool: another daemon" --journal "$work/second.db" --journal.spool "$work/journal.db.spool"

sed 's/info/debug/; s/^status_listen.*/&\nstall_limit = "1h"/' "$work/cuzk.toml" >"$work/new.toml"
cat "$work/bad.toml" >"$work/cuzk.toml"
kill -HUP "$daemon"
wait_for "settings are not reloaded" && pass "a bad file is not taken over"
cat "$work/new.toml" >"$work/cuzk.toml"
kill -HUP "$daemon"
wait_for "key=logging.level" && pass "reload"
wait_for 'setting changed.*key=daemon.stall_limit before=.*10m.*now=.*1h' && pass "reload of a worker's limit"
stop "SIGTERM"
[ -e "$work/run/cuzk.sock" ] && fail "the socket is left" || pass "the socket is gone"

CUZK_LOGGING_FORMAT=json start --listen "127.0.0.1:0"
grep -q '^{"level":"info","ts":"[^"]*","msg":"ready"}$' "$work/log" && pass "JSON log" || fail "JSON log"
stop "SIGTERM again"

budget() { # what `auto` comes to with a margin
    start --listen "$sock" --memory.safety_margin "$1"
    "$CUZK" metrics | sed -n 's/^cuzk_memory_budget_bytes //p' >"$work/budget-$1"
    stop "a margin of $1"
}
budget 0
budget auto
all=$(cat "$work/budget-0")
expect "no margin is none, and no setting a sixteenth" 0 "^$((all - all / 16))$" cat "$work/budget-auto"

if command -v openssl >/dev/null 2>&1; then
    make_cert() { # NAME CA_NAME SUBJECT
        openssl req -newkey rsa:2048 -nodes -keyout "$work/$1.key" -subj "/CN=$3" -out "$work/$1.csr" 2>/dev/null
        printf 'subjectAltName=DNS:%s' "$3" >"$work/ext"
        openssl x509 -req -in "$work/$1.csr" -CA "$work/$2.pem" -CAkey "$work/$2.key" -CAcreateserial -days 2 \
            -extfile "$work/ext" -out "$work/$1.pem" 2>/dev/null
    }
    for ca in ca other; do
        openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/$ca.key" -subj "/CN=$ca" -days 2 -out "$work/$ca.pem" 2>/dev/null
    done
    make_cert server ca localhost
    make_cert client ca client
    make_cert stranger other client
    start --listen "127.0.0.1:0" --daemon.tls_certificate "$work/server.pem" --daemon.tls_key "$work/server.key" \
        --daemon.tls_client_ca "$work/ca.pem"
    port=$(sed -n 's/.*serving gRPC.* port=\([0-9]*\).*/\1/p' "$work/log")
    export CUZK_CONNECT=localhost:$port
    expect "mutual TLS" 0 "porep-c2" "$CUZK" status --tls-ca "$work/ca.pem" --tls-cert "$work/client.pem" --tls-key "$work/client.key"
    expect "no client certificate" 4 "UNAVAILABLE: .*a client certificate is demanded" "$CUZK" status \
        --tls-ca "$work/ca.pem" --timeout 300
    expect "a stranger's certificate" 4 "UNAVAILABLE: .*--tls-cert is not accepted" "$CUZK" status \
        --tls-ca "$work/ca.pem" --tls-cert "$work/stranger.pem" \
        --tls-key "$work/stranger.key" --timeout 300
    expect "another authority" 4 "UNAVAILABLE: .*not signed by one of --tls-ca" "$CUZK" status \
        --tls-ca "$work/other.pem" --timeout 300
    [ "$(wc -l <"$work/out")" = 1 ] || fail "more than a line"
    expect "wrong name" 4 "UNAVAILABLE: .*another name: .*--tls-name" "$CUZK" status --tls-ca "$work/ca.pem" --tls-name elsewhere \
        --tls-cert "$work/client.pem" --tls-key "$work/client.key" --timeout 300
    expect "plain text to TLS" 4 "UNAVAILABLE: .*TLS is spoken there" "$CUZK" status --timeout 300
    expect "half of a certificate" 2 "both of --tls-cert and --tls-key" "$CUZK" status --tls-ca "$work/ca.pem" \
        --tls-cert "$work/client.pem"
    stop "end of TLS"
    start --listen "127.0.0.1:0"
    port=$(sed -n 's/.*serving gRPC.* port=\([0-9]*\).*/\1/p' "$work/log")
    expect "TLS to plain text" 4 "speaks no TLS: leave out --tls-ca" "$CUZK" status --connect "localhost:$port" \
        --tls-ca "$work/ca.pem"
    [ "$(wc -l <"$work/out")" = 1 ] || fail "more than a line"
    stop "SIGTERM a third time"
fi
counts
