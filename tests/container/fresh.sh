#!/usr/bin/env bash
# A bare Debian, a clone of this repository, README's two commands, nothing else. Prints the minutes. Takes root, debootstrap
# and the network. fresh.sh quick stops after the first command. Exits 77 where it cannot run.
set -eu
repository=$(cd "$(dirname "$0")/../.." && pwd)

skip() {
    echo "skipped: $1"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "a bare root takes root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
git -C "$repository" rev-parse HEAD >/dev/null 2>&1 || skip "$repository is no clone"

root=$(mktemp -d /var/tmp/tomoprof-fresh-XXXXXX)
clean_up() {
    umount -l "$root/proc" "$root/dev/shm" "$root/dev/pts" "$root/dev" 2>/dev/null || true
    rm -rf --one-file-system "$root"
}
trap clean_up EXIT

minutes() {
    echo "$1: $(((SECONDS - began + 30) / 60)) min ($((SECONDS - began)) s)"
}
began=$SECONDS
debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" >"$root.log" 2>&1 || {
    tail -n 5 "$root.log"
    rm -f "$root.log"
    skip "debootstrap fails here"
}
rm -f "$root.log"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount --bind /dev/pts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
cp /etc/resolv.conf "$root/etc/resolv.conf"
minutes "bare root"
git clone --quiet "$repository" "$root/root/tomoprof"

inside() {
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$root" sh -c "cd /root/tomoprof && $1" </dev/null
}
began=$SECONDS
inside ./start.sh
inside 'test -s tomoprof-runs/latest/report.html'
minutes "./start.sh"
if [ "${1-}" != quick ]; then
    began=$SECONDS
    inside './start.sh test'
    minutes "./start.sh test"
fi
