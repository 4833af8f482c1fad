#!/bin/sh
# Installs what the build needs on Debian 12 and what is not there yet. Does nothing (and needs no network and no root)
# when all is present. Optional packages (see below) do not stop the build: where they cannot be installed, that is said.
set -eu
have() { command -v "$1" >/dev/null 2>&1; }
# Whether a program that includes HEADER and is linked with FLAGS can be made.
links() { printf '#include <%s>\nint main(void) { return 0; }\n' "$1" | cc -x c -o /dev/null - ${2:-} >/dev/null 2>&1; }

need="" optional=""
have cc || need="$need gcc"
links stdlib.h || need="$need libc6-dev"
have make || need="$need make"
have cmake || need="$need cmake"
have ninja || need="$need ninja-build"
# Without it compressed input is refused, and tests that need it are left out.
links zstd.h -lzstd || optional="$optional libzstd-dev"
# Without them there is no daemon.
have pkg-config || optional="$optional pkg-config"
links sqlite3.h -lsqlite3 || optional="$optional libsqlite3-dev"
links grpc/grpc.h "-lgrpc -lgpr" || optional="$optional libgrpc-dev"
links protobuf-c/protobuf-c.h -lprotobuf-c || optional="$optional libprotobuf-c-dev"
# Without it a daemon keeps its own journal, and cannot share one.
links postgresql/libpq-fe.h -lpq || optional="$optional libpq-dev"
# Tests of fleets need a server; its package starts one, so it is installed only where that was asked for (CI).
if [ -n "${CUZK_TEST_SERVERS:-}" ]; then
    ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || have postgres || optional="$optional postgresql"
fi
links microhttpd.h -lmicrohttpd || optional="$optional libmicrohttpd-dev"
have protoc || optional="$optional protobuf-compiler"
have protoc-c || optional="$optional protobuf-c-compiler"
[ -n "$need$optional" ] || exit 0

root=""
if [ "$(id -u)" != 0 ]; then root=sudo; fi
install() {
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq && $root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ -z "$need" ] && [ -n "$root" ]; then
    echo "deps.sh: not there, and optional:$optional"
    exit 0
fi
echo "installing:$need$optional"
# shellcheck disable=SC2086
install $need $optional && exit 0
echo "deps.sh: not installed:$need$optional" >&2
[ -z "$need" ]
