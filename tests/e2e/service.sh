#!/bin/sh
# The unit for systemd: what systemd-analyze says of it, and that nothing is shut off which a GPU needs. scripts/systemd-check.sh
# starts it for real.
set -u
: "${CUZK:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022 # systemd-analyze asks for that
. "$(dirname "$0")/expect.sh"
unit=$(dirname "$CUZK")/../../systemd/cuzk.service
sed "s|^ExecStart=[^ ]*|ExecStart=$CUZK|" "$unit" >"$work/cuzk.service"
expect "it starts the daemon" 0 "^ExecStart=/.*/cuzk daemon --config /etc/cuzk/cuzk.toml" cat "$unit"
for setting in PrivateDevices DeviceAllow DevicePolicy ProtectClock ProcSubset MemoryDenyWriteExecute PrivateNetwork; do
    grep -q "^$setting=" "$unit" && fail "$setting shuts off what the daemon needs" || pass "no $setting"
done
if command -v systemd-analyze >/dev/null 2>&1; then
    if systemd-analyze verify --man=no "$work/cuzk.service" >"$work/out" 2>&1 && ! grep -q cuzk "$work/out"; then
        pass "verify"
    else
        fail "verify"
        cat "$work/out"
    fi
    # "exposure", of 10; a setting that is lost moves it
    expect "security" 0 "level for cuzk.service: [0-2]\.[0-9]" \
        systemd-analyze security --offline=yes --threshold=21 --no-pager "$work/cuzk.service"
fi
counts
