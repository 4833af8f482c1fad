#!/bin/sh
# What base/numa.h does on a real kernel with several nodes: boots a virtual machine of two nodes with two CPUs each and a third of memory
# alone, without acceleration (two minutes, 1.3 GB), and looks at masks of threads and places of pages while `bench ntt` runs there.
# Usage: numa-guest.sh BUILD_DIR [KERNEL]. Needs qemu-system-x86_64 (or QEMU, a command), a static busybox (or BUSYBOX), and the image of
# a kernel with NUMA and initramfs (default: the newest in /boot; Debian's linux-image-cloud-amd64 will do).
set -eu
build=$(cd "$1" && pwd)
kernel=${2:-$(ls -t /boot/vmlinuz-* 2>/dev/null | head -n 1)}
qemu=${QEMU:-qemu-system-x86_64}
busybox=${BUSYBOX:-$(command -v busybox || true)}
[ -r "$kernel" ] && [ -x "$busybox" ] || { echo "numa-guest: no kernel image, or no busybox (see the head of this script)" >&2; exit 2; }
cuzk=$build/cuzk
[ -x "$cuzk" ] || cuzk=$build/src/cli/cuzk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
cp "$busybox" "$root/bin/busybox"
cp -L "$cuzk" "$root/bin/cuzk"
cp -L "$build/tests/test_base_numa" "$root/bin/"
for program in cuzk test_base_numa; do ldd "$root/bin/$program"; done | awk '/=> \//{print $3} /^\t\/.*ld-linux/{print $1}' | sort -u |
  while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
cat >"$root/init" <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
say() { echo "GUEST $*"; }
test_base_numa | while read -r line; do say "$line"; done
# Masks of the threads (the caller's first), pages on nodes of the vector of 16 MiB, the line of the benchmark.
look() {
  name=$1
  shift
  "$@" >/tmp/out 2>&1 &
  pid=$!
  seen=
  while [ -d /proc/$pid/task ] && [ -z "$seen" ]; do
    usleep 200000
    seen=$(sed -n 's/.* \(interleave\|default\).* anon=4096 .* \(N0=.*\) kernel.*/\1 \2/p' /proc/$pid/numa_maps 2>/dev/null | tail -n 1)
  done
  usleep 500000
  masks=$(sed -n 's/Cpus_allowed_list:\t//p' /proc/$pid/task/*/status 2>/dev/null | tr '\n' ' ')
  wait $pid || say "$name: ended with $?: $(tail -n 1 /tmp/out)"
  say "$name: masks ${masks% }; $seen; $(sed -n 's/.*(cpu [a-z0-9-]*, \([^)]*\)).*/\1/p' /tmp/out)"
}
bench="cuzk bench ntt --log2-n 19 --runs 2"
look auto $bench
export CUZK_NUMA=off
look off $bench
export CUZK_NUMA=interleave
look interleave $bench
unset CUZK_NUMA
look "one node" taskset 3 $bench
poweroff -f
END
chmod +x "$root/init"
(cd "$root" && find . | "$busybox" cpio -o -H newc 2>/dev/null) | gzip -1 >"$work/initrd"
# shellcheck disable=SC2086
timeout 600 $qemu -machine pc -accel tcg -cpu max -smp 4,sockets=2,cores=2 -m 1200M -kernel "$kernel" -initrd "$work/initrd" \
  -object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=560M -object memory-backend-ram,id=m2,size=128M \
  -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1 -numa node,nodeid=2,memdev=m2 \
  -append "console=ttyS0 quiet panic=-1" -nographic -no-reboot -nic none -vga none </dev/null >"$work/log" 2>&1 || true
tr -d '\r' <"$work/log" | sed -n 's/^.*GUEST //p' | tee "$work/found"
cat >"$work/expected" <<'END'
auto: masks 0-3 2-3 0-1 2-3; interleave N0=2048 N1=2048; 4 threads, 2 nodes
interleave: masks 0-3 0-3 0-3 0-3; interleave N0=2048 N1=2048; 4 threads, 2 nodes
END
status=0
while read -r line; do grep -qxF "$line" "$work/found" || { echo "numa-guest: missing: $line" >&2; status=1; }; done <"$work/expected"
grep -q '^off: masks 0-3 0-3 0-3 0-3; default .*; 4 threads$' "$work/found" || { echo "numa-guest: off does something" >&2; status=1; }
grep -q '^one node: masks 0-1 0-1; default N0=4096; 2 threads$' "$work/found" || { echo "numa-guest: one node is not left alone" >&2; status=1; }
grep -q ' 0 failed$' "$work/found" || { echo "numa-guest: test_base_numa failed" >&2; status=1; }
[ $status = 0 ] || tail -n 5 "$work/log" >&2
exit $status
