#!/bin/sh
# Bare Debian roots, as root: root.sh make SUITE ROOT unpacks one; root.sh run ROOT [--bind FOLDER PLACE]... COMMAND...
# runs a command in it, with mounts and processes of its own. $TP_MIRROR names a mirror, $TP_CA a certificate file for pip.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
verb=${1-} root=${2-}

case $verb in
make)
    suite=$root root=$3
    [ -e "$root/.made" ] && exit 0
    rm -rf --one-file-system "$root"
    debootstrap --variant=minbase "$suite" "$root" ${TP_MIRROR:+"$TP_MIRROR"} > "$root.log" 2>&1 ||
        { tail -5 "$root.log" >&2; exit 1; }
    touch "$root/.made"
    ;;
run)
    shift 2
    exec unshare --mount --pid --fork --kill-child "$here/root.sh" inside "$root" "$@"
    ;;
inside)
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/run"
    while [ "${1-}" = --bind ]; do
        mkdir -p "$root/$3"
        mount --bind "$2" "$root/$3"
        shift 3
    done
    [ ! -e /etc/resolv.conf ] || cp /etc/resolv.conf "$root/etc/resolv.conf"
    if [ -n "${TP_CA-}" ]; then
        mkdir -p "$root/etc/ssl/certs"
        cp -L "$TP_CA" "$root/etc/ssl/certs/tomoprof-release.crt"
        set -- PIP_CERT=/etc/ssl/certs/tomoprof-release.crt "$@"
    fi
    exec chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore "$@"
    ;;
*)
    echo "usage: root.sh make SUITE ROOT | root.sh run ROOT [--bind FOLDER PLACE]... COMMAND..." >&2
    exit 2
    ;;
esac
