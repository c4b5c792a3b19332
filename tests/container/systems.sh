#!/usr/bin/env bash
# Runs what a user does first in a bare system with an emulated NVIDIA driver, and prints it: systems.sh SYSTEM DRIVER [FOLDER].
# As root, with debootstrap and the network. SYSTEM is debian-11, debian-12 or debian-13, or the likeness of another one: ubuntu-22.04,
# ubuntu-24.04 or rhel-9. A likeness is a Debian with that system's os-release, compiler, CMake and package manager (a dnf that installs
# Debian's packages): it shows what start.sh does there, and tells nothing about that system's packages. All is built as `Quick`, at -O0.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
system=${1-} driver=${2-} work=${3-/var/tmp/tomoprof-systems}
suite='' cmake='' gcc=''
case $system in
debian-11) suite=bullseye ;;
debian-12) suite=bookworm ;;
debian-13) suite=trixie ;;
ubuntu-22.04) suite=bookworm cmake=3.22.1 gcc=11 release='ID=ubuntu ID_LIKE=debian VERSION_ID=22.04 PRETTY_NAME="likeness of Ubuntu 22.04"' ;;
ubuntu-24.04) suite=trixie cmake=3.28.3 gcc=13 release='ID=ubuntu ID_LIKE=debian VERSION_ID=24.04 PRETTY_NAME="likeness of Ubuntu 24.04"' ;;
rhel-9) suite=bookworm cmake=3.26.4 gcc=11 release='ID=rhel ID_LIKE=fedora VERSION_ID=9.6 PRETTY_NAME="likeness of RHEL 9"' ;;
esac
if [ -z "$suite" ] || [ -z "$driver" ]; then
    echo "systems.sh debian-11|debian-12|debian-13|ubuntu-22.04|ubuntu-24.04|rhel-9 DRIVER [FOLDER]" >&2
    exit 2
fi
case ${driver%%.*} in
580) serves=13000 ;;
575) serves=12090 ;;
570) serves=12080 ;;
560 | 565) serves=12060 ;;
550 | 555) serves=12040 ;;
*) serves=12000 ;;
esac
root=$work/$system
run() { "$source/packaging/release/root.sh" run "$root" "$@"; }
program() {
    mkdir -p "$(dirname "$root/$1")"
    cat >"$root/$1"
    chmod +x "$root/$1"
}

mkdir -p "$work"
"$source/packaging/release/root.sh" make "$suite" "$root"
mkdir -p "$root/src"
git -C "$source" ls-files -z | (cd "$source" && tar --null -T - -cf -) | tar -xf - -C "$root/src"
sed -i 's/RelWithDebInfo/Quick/' "$root/src/CMakePresets.json"

program usr/local/bin/nvidia-smi <<END
#!/bin/sh
case "\$*" in *driver_version*) echo $driver.65.06 ;; *) echo "GPU 0: emulated" ;; esac
END
if [ -n "$cmake" ]; then
    tr ' ' '\n' <<<"${release%% PRETTY*}" >"$root/etc/os-release"
    echo "PRETTY_NAME=${release#*PRETTY_NAME=}" >>"$root/etc/os-release"
    rm -rf "$root/opt/cmake"
    python3 -m pip install --quiet --no-deps --target "$root/opt/cmake" "cmake==$cmake"
    # Debian's packages come, then the compiler and the CMake of that system take their names.
    program usr/local/lib/likeness <<END
#!/bin/sh
/usr/bin/apt-get "\$@" || exit
case "\$*" in
*install*-s*) ;;
*install*" cmake "*)
    /usr/bin/apt-get install -y --no-install-recommends gcc-$gcc g++-$gcc </dev/null >/dev/null
    for name in gcc g++; do ln -sf /usr/bin/\$name-$gcc /usr/local/bin/\$name; done
    ln -sf gcc /usr/local/bin/cc
    ln -sf g++ /usr/local/bin/c++
    ln -sf /opt/cmake/cmake/data/bin/cmake /usr/local/bin/cmake
    ;;
esac
END
fi
case $system in
ubuntu-*) ln -sf ../lib/likeness "$root/usr/local/bin/apt-get" ;;
rhel-*)
    mkdir -p "$root/opt/away"
    [ ! -e "$root/usr/bin/apt-get" ] || mv "$root/usr/bin/apt-get" "$root/opt/away/"
    sed -i 's|/usr/bin/apt-get|/opt/away/apt-get|' "$root/usr/local/lib/likeness"
    printf '#!/bin/sh\nexec "$@"\n' | program usr/local/bin/sudo
    printf '#!/bin/sh\necho 9\n' | program usr/local/bin/rpm
    printf '#!/bin/sh\necho "crb $*"\n' | program usr/local/bin/crb
    program usr/local/bin/dnf <<END
#!/bin/sh
echo "dnf \$*"
case "\$*" in *cmake*) /opt/away/apt-get update >/dev/null; exec /usr/local/lib/likeness install -y --no-install-recommends$(
    bash -c ". $source/start.sh; printf ' %s' \$debian"
) python3-pip </dev/null >/dev/null ;; esac
END
    ;;
esac

program src/.first <<'END'
#!/usr/bin/env bash
# Goes the way of a user.
cd /src
say() { echo "\$ $*"; }
. /etc/os-release
echo "== $PRETTY_NAME"
say ./start.sh build
export TOMOPROF_CUDA_TOOLKIT=none
./start.sh build >/tmp/build 2>&1
code=$?
grep -E '^(Missing|Still missing|CMake is older|apt |Install|  [A-Z]|Built|NVIDIA)' /tmp/build
if [ $code != 0 ] && line=$(grep -m 1 -oE 'sudo dnf .*' /tmp/build); then
    say "$line"
    eval "$line" </dev/null
    say ./start.sh build
    ./start.sh build >/tmp/build 2>&1
    code=$?
    grep -E '^(Missing|Still missing|CMake is older|apt |Install|  [A-Z]|Built|NVIDIA)' /tmp/build
fi
[ $code = 0 ] || { tail -n 20 /tmp/build; exit $code; }
echo "($(cmake --version | head -n 1), $(cc --version | head -n 1))"
doctor() {
    say build/tomoprof doctor
    FAKE=serves=$1,chip=$2 LD_LIBRARY_PATH=/usr/local/lib/emulated CUDA_PATH=$3 build/tomoprof doctor |
        awk '/^[a-z]/ { shown = /^(nvidia driver|cuda|cupti|cufft|capture library) / } shown' | cut -c1-170
}
mkdir -p /usr/local/lib/emulated
cc -shared -fPIC -O1 -o /usr/local/lib/emulated/libcuda.so.1 tests/fakes/gpu.c tests/fakes/events.c -ldl -lpthread
chip=89 # RTX 40; from driver 570 on RTX 50
[ "$1" -lt 12080 ] || chip=120
doctor "$1" $chip /none
unset TOMOPROF_CUDA_TOOLKIT
say cuda/set_up.sh auto
cuda/set_up.sh auto 2>&1 | grep -vE '^(Get|Selecting|Preparing|Unpacking|Setting|Reading|Building|Fetched|Hit|Ign)' | tail -n 12
say "cmake --preset release -DTP_CUDA_ARCH=89; one kernel"
cmake --preset release -DTP_CUDA_ARCH=89 >/tmp/configure 2>&1 || tail -n 5 /tmp/configure
grep -E '^-- .*CUDA' /tmp/configure
object=$(ninja -C build -t targets all 2>/dev/null | grep -oE '^[^:]*common_reduce.cu.o' | head -n 1)
[ -z "$object" ] || { ninja -C build "$object" | tail -n 1; ls -s "build/$object"; }
for toolkit in build-toolkit/nvidia/cu1?; do doctor "$1" $chip "$PWD/$toolkit"; done
END
run /src/.first $serves
