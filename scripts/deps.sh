#!/bin/sh
# Installs what the build needs on Debian 12 and what is not there yet. Does nothing (and needs no network and no root)
# when all is present.
set -eu
need=""
have() { command -v "$1" >/dev/null 2>&1; }
have cc || need="$need gcc libc6-dev"
have make || need="$need make"
have cmake || need="$need cmake"
have ninja || need="$need ninja-build"
have pkg-config || need="$need pkg-config"
have zstd || need="$need zstd"
if have pkg-config; then pkg-config --exists libzstd || need="$need libzstd-dev"; else need="$need libzstd-dev"; fi
[ -n "$need" ] || exit 0
echo "installing:$need"
if ! have apt-get; then
    echo "deps.sh: no apt-get here; please install:$need" >&2
    exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $need >/dev/null
