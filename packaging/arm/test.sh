#!/bin/bash
# Builds tomoprof for 64-bit ARM with Debian's cross compiler and runs its tests under qemu-user:
#   packaging/arm/test.sh [--build] [CTEST OPTIONS]      as packaging/arm/test.sh -R test_unwind
# Debian's arm64 packages lie in build-aarch64-root (650 MB). It needs no root, and changes nothing outside the two folders.
set -eu
cd "$(dirname "$0")/../.."
top=$PWD root=$PWD/build-aarch64-root build=$PWD/build-aarch64
suite=bookworm
packages="base-files bash coreutils dash sed grep gawk findutils diffutils tar gzip procps util-linux cmake gcc g++ libc6-dev binutils
    pkg-config zlib1g-dev libcjson-dev libfftw3-dev libhdf5-dev libdw-dev libsqlite3-dev libdeflate-dev libzstd-dev libblosc-dev
    liblz4-dev liburing-dev libcurl4-openssl-dev libturbojpeg0-dev libjxr-dev libaec-dev libbz2-dev libtiff-dev libgdcm-dev libcmocka-dev
    python3 python3-numpy python3-jsonschema python3-dev file git"

need() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null || { echo "test.sh: $1 is not installed; run: sudo apt-get install $2" >&2; exit 77; }
}
need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
need qemu-aarch64-static qemu-user-static
need apt-get apt
need cmake cmake
need ninja ninja-build

# The packages and all that they depend on, by an apt of its own: the machine's list of packages stays as it is.
make_root() {
    local apt=$root.apt file link
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/none"
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/sources.list"
    cat >"$apt/apt.conf" <<END
APT::Architecture "arm64"; APT::Architectures "arm64"; APT::Install-Recommends "false"; APT::Sandbox::User "";
Dir::State "$apt"; Dir::State::status "$apt/status"; Dir::Cache "$apt"; Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/none"; Dir::Etc::preferencesparts "$apt/none"; Debug::NoLocking "true"; Acquire::Languages "none";
END
    APT_CONFIG=$apt/apt.conf apt-get -qq update
    # shellcheck disable=SC2086 # a list of words
    APT_CONFIG=$apt/apt.conf apt-get -qq -y --download-only install $packages >/dev/null
    rm -rf "$root.new"
    mkdir -p "$root.new"/{usr/bin,usr/sbin,usr/lib,tmp,proc,dev,sys}
    for link in bin sbin lib; do
        ln -s usr/$link "$root.new/$link"
    done
    for file in "$apt"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$file" | tar -x --no-same-owner --keep-directory-symlink -C "$root.new" \
            --exclude='./usr/share/doc/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/man/*' --exclude='./dev/*'
    done
    # Links of development packages lead to /lib: here to this folder's.
    (cd "$root.new" && find usr/lib usr/bin etc -type l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" ".$(readlink "$link")")" "$link"
    done)
    # What the packages' scripts would do.
    for link in blas/libblas.so.3 lapack/liblapack.so.3; do
        ln -sf $link "$root.new/usr/lib/aarch64-linux-gnu/$(basename $link)"
    done
    ln -sf gcc "$root.new/usr/bin/cc"
    ln -sf g++ "$root.new/usr/bin/c++"
    ln -sf gawk "$root.new/usr/bin/awk"
    echo "root:x:0:0:root:/root:/bin/bash" >"$root.new/etc/passwd"
    echo "root:x:0:" >"$root.new/etc/group"
    cp /etc/hosts "$root.new/etc/hosts"
    rm -rf "$root"
    mv "$root.new" "$root"
}

[ -e "$root/usr/lib" ] || make_root
mkdir -p "$build"
TP_SYSROOT=$root cmake --preset aarch64 -DTP_TESTS=ON -DTP_PYTHON=/usr/bin/python3 >"$build/configure.log" || { cat "$build/configure.log"; exit 1; }
cmake --build "$build" -j "${TP_JOBS:-$(nproc)}"
[ "${1:-}" != --build ] || exit 0

# Inside: a kernel's list of binary formats for this namespace alone (Linux 6.7), in which qemu runs what is for aarch64.
inside() {
    set -e
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    printf '%s' ':arm:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$(command -v qemu-aarch64-static)":F \
        >/proc/sys/fs/binfmt_misc/register
    for folder in proc dev sys; do
        mount --rbind "/$folder" "$root/$folder"
    done
    mount -t tmpfs none "$root/tmp"
    mkdir -p "$root/$top"
    mount --bind "$top" "$root/$top"
    cd "$top"
    exec env -i PATH=/usr/bin:/usr/sbin HOME=/tmp LANG=C.UTF-8 TP_EMULATED=qemu chroot "$root" /bin/bash -c "cd '$top' && \"\$@\"" bash "$@"
}

# Runs a command inside. Several tests give a file to another user: root gives the namespace 65536 users, anybody else those that
# /etc/subuid lends, by newuidmap. Where neither is to be had, it has one user.
users=1
if [ "$(id -u)" = 0 ]; then
    users=$(awk '{ n += $3 } END { print n < 65536 ? 1 : 65536 }' /proc/self/uid_map)
elif command -v newuidmap >/dev/null && grep -q "^$(id -un):" /etc/subuid && grep -q "^$(id -un):" /etc/subgid; then
    users=65536
fi

# Gives the process its users as soon as it has a namespace of its own.
map_users() { # PROCESS
    local kind own first
    while [ "$(readlink "/proc/$1/ns/user")" = "$(readlink /proc/self/ns/user)" ]; do sleep 0.1; done
    for kind in gid uid; do
        own=$(id -"${kind:0:1}")
        first=$(grep "^$(id -un):" "/etc/sub$kind" 2>/dev/null | cut -d: -f2 | head -1)
        if [ "$(id -u)" = 0 ]; then
            echo "0 0 65536" >"/proc/$1/${kind}_map"
        else
            "new${kind}map" "$1" 0 "$own" 1 1 "$first" 65535
        fi
    done
}

run_inside() { # COMMAND ...
    [ "$users" != 1 ] || exec unshare -Urm bash -c 'inside "$@"' bash "$@"
    map_users $$ &
    # The first bash begins as a user without a number, and so without rights; the second has them.
    # shellcheck disable=SC2016 # for the other shells
    exec unshare -Um bash -c 'until read -r line </proc/self/uid_map; do sleep 0.1; done; exec bash -c '\''inside "$@"'\'' bash "$@"' bash "$@"
}

export -f inside
export root top
if [ "${1:-}" = -- ]; then
    shift
    run_inside "$@"
fi
if [ $# = 0 ]; then
    out=$(grep -v '^#' packaging/arm/left-out | cut -d' ' -f1 | paste -sd'|')
    if [ "$users" = 1 ]; then
        echo "test.sh: one user (no newuidmap of Debian's uidmap, or no line of $(id -un) in /etc/subuid and /etc/subgid)"
        out+='|unit/test_h5_hostile|pipe/test_(convert|files|limits)'
    fi
    set -- -L "^(unit|trace|operators|fuzz|pipe)$" -E "^($out)$"
fi
run_inside ctest --test-dir "$build" --output-on-failure -j "${TP_JOBS:-$(nproc)}" "$@"
