#!/bin/sh
# The service under a real systemd: boots one as process 1 of its own namespaces, over a copy of this system that is thrown
# away, installs the unit there and has it prove, reload, stop in the middle of a job, die and hang.
# Usage, as root: scripts/systemd-check.sh [BUILD]    needs systemd, unshare, nsenter, overlayfs; two minutes, most of them waiting
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$here/build}" && pwd)
keys=/var/tmp/filecoin-proof-parameters

# ---- inside: process 1 of the namespaces becomes systemd ----
if [ "${CUZK_CHECK_ROOT:-}" ]; then
    root=$CUZK_CHECK_ROOT
    set -e
    mount --make-rprivate /
    mount -t tmpfs -o mode=755 tmpfs "$root"
    mkdir "$root/upper" "$root/work" "$root/new"
    mount -t overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" overlay "$root/new"
    cd "$root/new"
    mount -t proc proc proc
    mount --bind proc/sys proc/sys
    mount -o remount,bind,ro proc/sys
    mount -t sysfs -o ro sysfs sys
    mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup 2>/dev/null || true
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount -t tmpfs -o mode=755 tmpfs dev
    mount -t tmpfs -o mode=755 tmpfs run
    mount -t tmpfs tmpfs tmp
    mount -t tmpfs tmpfs var/tmp
    for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
        set -- $node
        mknod -m 666 "dev/$1" c "$2" "$3"
    done
    mkdir dev/shm
    ln -s /proc/self/fd dev/fd
    : >etc/fstab
    : >etc/machine-id
    rm -rf etc/systemd/system/* var/log/journal
    # nothing of the machine's is started or touched
    for unit in systemd-udevd.service systemd-udev-trigger.service systemd-modules-load.service systemd-sysctl.service \
        systemd-random-seed.service systemd-remount-fs.service systemd-binfmt.service systemd-hwdb-update.service \
        systemd-networkd.service systemd-timesyncd.service systemd-resolved.service systemd-logind.service \
        systemd-firstboot.service systemd-pstore.service proc-sys-fs-binfmt_misc.automount dev-hugepages.mount \
        dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
        sys-fs-fuse-connections.mount timers.target paths.target dbus.service dbus.socket tmp.mount; do
        ln -sf /dev/null "etc/systemd/system/$unit"
    done
    printf '[Unit]\nDescription=as far as a service needs\nRequires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n' \
        >etc/systemd/system/check.target
    DESTDIR=$PWD cmake --install "$CUZK_CHECK_BUILD" --prefix /usr/local >/dev/null
    rm -rf usr/local/lib/systemd/system/cuzk.service.d
    mkdir -p "var/tmp/${keys##*/}" etc/cuzk
    cp -r "$CUZK_CHECK_WORK/keys/." "var/tmp/${keys##*/}"
    cp "$CUZK_CHECK_WORK"/*.json "$CUZK_CHECK_WORK/cuzk.toml" etc/cuzk
    mkdir -p old-root
    hostname cuzk-check
    ip link set lo up 2>/dev/null || true
    pivot_root . old-root
    umount -l /old-root
    container=check exec /lib/systemd/systemd --system --unit=check.target --log-target=journal --show-status=no \
        </dev/null >/run/systemd.log 2>&1
fi

# ---- outside ----
[ "$(id -u)" = 0 ] || { echo "systemd-check.sh: needs root"; exit 2; }
work=$(mktemp -d)
group=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)/cuzk-check-$$
boot=""
clean_up() {
    [ -z "$boot" ] || kill -9 "$boot" 2>/dev/null
    wait 2>/dev/null
    for _ in $(seq 50); do
        find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
        [ -d "$group" ] || break
        sleep 0.1
    done
    rm -rf "$work"
}
trap clean_up EXIT
. "$here/tests/e2e/expect.sh"
cuzk=$build/src/cli/cuzk

mkdir "$work/root"
"$cuzk" setup winning --sector-size 2KiB --out "$work/keys" >/dev/null 2>&1 || { echo "no keys"; exit 1; }
"$cuzk" sample winning --sector-size 2KiB -o "$work/request.json" >/dev/null || exit 1
cat >"$work/cuzk.toml" <<TOML
[daemon]
listen = ["unix:///run/curio/cuzk.sock", "127.0.0.1:9820"]
status_listen = "127.0.0.1:9821"
[gpus]
devices = ["cpu"]
[logging]
level = "info"
TOML
mkdir "$group" || exit 1
(
    sh -c 'echo $PPID' >"$group/cgroup.procs"
    CUZK_CHECK_ROOT=$work/root CUZK_CHECK_WORK=$work CUZK_CHECK_BUILD=$build exec unshare --mount --pid --uts --ipc --net \
        --cgroup --fork --kill-child sh "$here/scripts/systemd-check.sh"
) >"$work/boot" 2>&1 &
boot=$!
init=""
for _ in $(seq 100); do
    init=$(cat "/proc/$boot/task/$boot/children" 2>/dev/null | tr -d ' ')
    [ "$init" ] && [ "$(cat "/proc/$init/comm" 2>/dev/null)" = systemd ] && break
    sleep 0.1
done
inside() { nsenter -t "$init" -a -r -w -- "$@"; }
show() { inside systemctl show -P "$1" cuzk; }
# until PROPERTY VALUE [SECONDS]
until_is() {
    for _ in $(seq $((${3:-20} * 5))); do
        [ "$(show "$1")" = "$2" ] && return 0
        sleep 0.2
    done
    return 1
}
is() { # NAME PROPERTY VALUE
    found=$(show "$2")
    case $found in
    $3) pass "$1" ;;
    *) fail "$1: $2 is \"$found\", expected $3" ;;
    esac
}
logged() { # NAME TEXT
    inside journalctl -q --no-pager -u cuzk >"$work/log" 2>&1
    if grep -q -e "$2" "$work/log"; then pass "$1"; else fail "$1: not in the journal: $2"; fi
}
works() { # NAME command...
    name=$1
    shift
    if "$@" >"$work/out" 2>&1; then pass "$name"; else
        fail "$name"
        cat "$work/out"
    fi
}
drop_in() { # TEXT
    inside mkdir -p /run/systemd/system/cuzk.service.d
    printf '[Service]\n%b' "$1" | inside tee /run/systemd/system/cuzk.service.d/check.conf >/dev/null
    inside systemctl daemon-reload
}
job() { inside /usr/local/bin/cuzk submit --request /etc/cuzk/request.json --request-id "$1" --json | sed -n 's/.*"job_id": *"\([^"]*\)".*/\1/p'; }

for _ in $(seq 100); do
    state=$(inside systemctl is-system-running 2>/dev/null)
    case $state in running | degraded) break ;; esac
    sleep 0.2
done
case $state in
running | degraded) pass "systemd is up ($state)" ;;
*)
    fail "systemd does not come up: ${state:-nothing}"
    cat "$work/boot"
    inside cat /run/systemd.log
    inside systemctl list-jobs --no-pager
    counts
    exit
    ;;
esac
works "account" inside systemd-sysusers
works "verify" inside systemd-analyze verify cuzk.service
inside systemd-analyze security cuzk.service --no-pager | tail -n 1

# start
works "start" inside systemctl start cuzk
expect "it answers at once" 0 "porep-c2" inside /usr/local/bin/cuzk status
is "active" ActiveState active
inside systemctl status cuzk --no-pager -n 0
main=$(show MainPID)
inside cat "/proc/$main/status" >"$work/status"
for line in "CapBnd:	0000000000000000" "NoNewPrivs:	1" "Seccomp:	2" "Umask:	0077"; do
    grep -q "^$line" "$work/status" && pass "$line" || fail "$line: $(grep "^${line%%:*}:" "$work/status")"
done
[ "$(inside stat -c '%a %U' /run/curio/cuzk.sock)" = "660 cuzk" ] && pass "socket" || fail "socket"
expect "the journal is its own" 0 "^600 cuzk" inside stat -c '%a %U' /var/lib/cuzk/journal.db

# a proof
works "a WinningPoSt proof" inside /usr/local/bin/cuzk submit --request /etc/cuzk/request.json --request-id one -o /tmp/proof
works "it verifies" inside /usr/local/bin/cuzk verify /tmp/proof --request /etc/cuzk/request.json --params "$keys"
sleep 2.5
is "what systemctl status says" StatusText "0 running, 0 waiting; 1 proofs, 0 failed;*"

# reload
inside sed -i 's/info/debug/' /etc/cuzk/cuzk.toml
works "reload" inside systemctl reload cuzk
until_is StatusText "settings reloaded" 3
logged "the new setting is taken" 'setting changed.*key=logging.level.*info.*debug'
inside cp /etc/cuzk/cuzk.toml /etc/cuzk/good.toml
inside sh -c 'echo "nonsense" >>/etc/cuzk/cuzk.toml'
inside systemctl reload cuzk
sleep 1
is "a bad file is not taken, which is shown" StatusText "the old settings stay: *cuzk.toml:*"
is "and it goes on" ActiveState active
inside cp /etc/cuzk/good.toml /etc/cuzk/cuzk.toml

# stop in the middle of jobs
jobs=""
for i in 1 2 3 4 5 6; do jobs="$jobs $(job "stop-$i")"; done
sleep 0.5
works "stop with jobs" inside systemctl stop cuzk
is "ended well" Result success
logged "running partitions ended" "nothing runs any more"
[ -d "/proc/$init/root/run/curio" ] && pass "the folder of the socket stays" || fail "the folder of the socket is gone"
works "start again" inside systemctl start cuzk
for id in $jobs; do works "$id is done" inside /usr/local/bin/cuzk await "$id" -o /tmp/proof; done

# kill -9
id=$(job killed)
main=$(show MainPID)
inside kill -9 "$main"
until_is NRestarts 1 && until_is ActiveState active && pass "started again after kill -9" || fail "not started again"
works "its job is done" inside /usr/local/bin/cuzk await "$id" -o /tmp/proof
[ "$(inside pgrep -c -f 'cuzk worker')" -le 3 ] && pass "no worker is left over" || fail "workers: $(inside pgrep -fa 'cuzk worker')"

# whatever the filter refuses kills
drop_in 'SystemCallErrorNumber=kill\n'
works "restart" inside systemctl restart cuzk
works "a proof, no call of the system refused" inside /usr/local/bin/cuzk submit --request /etc/cuzk/request.json --request-id filter -o /tmp/proof
expect "no worker died" 0 "^cuzk_worker_crashes_total 0" inside /usr/local/bin/cuzk metrics

# a daemon that hangs
drop_in 'WatchdogSec=4\nWatchdogSignal=SIGKILL\n'
inside systemctl restart cuzk
main=$(show MainPID)
sleep 6
[ "$(show MainPID)" = "$main" ] && pass "the watchdog is fed" || fail "the watchdog is not fed"
inside kill -STOP "$main"
until_is NRestarts 1 && until_is ActiveState active && pass "the watchdog ends a daemon that hangs" || fail "the watchdog does nothing"
logged "and says so" "Watchdog timeout"

# draining takes longer than TimeoutStopSec and WatchdogSec
slow='/usr/local/bin/cuzk daemon --config /etc/cuzk/cuzk.toml --daemon.drain_timeout 8s --test-worker-fault hang@prepare:1'
drop_in "WatchdogSec=2\nTimeoutStopSec=3\nExecStart=\nExecStart=$slow\n"
inside systemctl restart cuzk
id=$(job drained)
sleep 1
begin=$(date +%s)
works "stop that takes its time" inside systemctl stop cuzk
[ $(($(date +%s) - begin)) -ge 7 ] && pass "the time it asked for" || fail "killed after $(($(date +%s) - begin)) s"
is "ended well, too" Result success
inside rm -r /run/systemd/system/cuzk.service.d
inside systemctl daemon-reload
inside systemctl start cuzk
works "the job that was given up is done" inside /usr/local/bin/cuzk await "$id" -o /tmp/proof

# settings that no restart mends
inside systemctl stop cuzk
inside sh -c 'echo "memory.total_budget = \"much\"" >/etc/cuzk/cuzk.toml'
inside systemctl start cuzk >"$work/out" 2>&1 && fail "started with bad settings" || pass "bad settings are no start"
sleep 3
is "not tried again" ActiveState failed
is "exit code" ExecMainStatus 3
logged "and why" 'cuzk.toml:1: memory.total_budget: found "much"'
inside systemctl status cuzk --no-pager -n 3
counts
