#!/usr/bin/env bash
# Installs a CUDA toolkit that the project builds with, without root: cuda/toolkit.sh [12|13] [FOLDER]. 13 (drivers from 580)
# unless given: NVIDIA's wheels, pinned, by pip. 12 (12.4, drivers from 525): the packages of Debian 13, pinned, unpacked on any Linux and
# not installed, and the CUPTI of CUDA 12.8 by pip, for RTX 50 with drivers 570 to 579. FOLDER is build-toolkit beside this folder unless given; CMake finds the default by itself,
# another with -DTP_CUDA_TOOLKIT=FOLDER/nvidia/cu13 (or cu12).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=13
case ${1-} in
12 | 13)
    version=$1
    shift
    ;;
esac
folder=${1-$here/../build-toolkit}
root=$folder/nvidia/cu$version

fail() {
    echo "cuda/toolkit.sh: $*" >&2
    exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] ||
    fail "the packages are for Linux on x86-64; install NVIDIA's toolkit $version.x instead"
mkdir -p "$folder/nvidia"
folder=$(cd "$folder" && pwd)
root=$folder/nvidia/cu$version

# Prints the Python that has pip.
python_with_pip() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -m pip --version >/dev/null 2>&1; then
            echo "$python"
            return
        fi
    done
    fail "python3 has no pip (Debian: sudo apt-get install python3-pip)"
}

# pip_into FOLDER REQUIREMENTS
pip_into() {
    "$python" -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check --target "$1" --requirement "$2"
}

# Debian's CUPTI is of CUDA 12.4, which knows no chip after 9.0. The other one lies beside it under a name that says what it is:
# profiler/capture/recorders/cuda/load.c takes it where the driver serves CUDA 12.8 or 12.9.
cupti_of_12_8() {
    local python version=12.8.90
    python=$(python_with_pip)
    echo "nvidia-cuda-cupti-cu12==$version --hash=sha256:ea0cb07ebda26bb9b29ba82cda34849e73c166c18162d3913575b0c9db9a6182" >"$root/cupti.txt"
    pip_into "$root/wheels.tmp" "$root/cupti.txt"
    mv "$root/wheels.tmp/nvidia/cuda_cupti/lib/libcupti.so.12" "$root/usr/lib/x86_64-linux-gnu/libcupti-12.8.so.12"
    rm -rf "$root/wheels.tmp" "$root/cupti.txt"
    printf 'wheel\tnvidia-cuda-cupti-cu12\t%s\tLicenseRef-NVIDIA-Proprietary\n' "$version" >>"$root/packages.tsv"
}

from_wheels() {
    local python
    python=$(python_with_pip)
    # pip replaces the whole folder nvidia of its target, in which CUDA 12 may be: into a folder beside, then moved.
    rm -rf "$root" "$folder/wheels.tmp" "$folder"/*.dist-info
    pip_into "$folder/wheels.tmp" "$here/requirements.txt"
    mv "$folder/wheels.tmp/nvidia/cu13" "$root"
    mv "$folder"/wheels.tmp/*.dist-info "$folder/"
    rm -rf "$folder/wheels.tmp"
    # The wheels hold versioned libraries alone, and no lib64.
    local library name
    for library in "$root"/lib/lib*.so.*; do
        name=${library%%.so.*}.so
        [ -e "$name" ] || ln -s "$(basename "$library")" "$name"
    done
    [ -e "$root/lib64" ] || ln -s lib "$root/lib64"
}

# The mirrors to ask: that of this system's apt, where it uses one of Debian's, then Debian's own, then its archive.
mirrors() {
    grep -rhE '^(URIs:|deb )' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
        grep -oE 'https?://[^ ]+/debian/?( |$)' | sed -n '1s|/* *$||p'
    echo http://deb.debian.org/debian
    echo https://snapshot.debian.org/archive/debian/20250901T000000Z
}

# NVIDIA's own files, which need no Debian, as Debian 13 packages them: no other registry has an nvcc of CUDA 12.
from_debian() {
    local python name below=pool/non-free/n/nvidia-cuda-toolkit library=usr/lib/x86_64-linux-gnu
    python=$(python_with_pip)
    # shellcheck disable=SC2046 # a list of words
    "$python" "$here/unpack.py" "$root" $(mirrors) <<END || fail "Debian's packages could not be fetched"
cd5fe85aee38d108b315f408a688641478f2402622a10c677478eb7a6c4e5319 $below/nvidia-cuda-toolkit_12.4.131~12.4.1-2_amd64.deb
d846838f914a0176948d48a8bcade5d6dbcccb5c9374343f6475f5503f173ee0 $below/nvidia-cuda-dev_12.4.127~12.4.1-2_amd64.deb
de674f3440d9e52c6c1c2998956fddc275b5b3341ab23c3466607b6ca5543aed $below/nvidia-profiler_12.4.127~12.4.1-2_amd64.deb
3c905c1df7453e1ad477516c4465629c310d2f58a796d66f44070dc289e7ec12 $below/libnvvm4_12.4.131~12.4.1-2_amd64.deb
361b3721cf84bf068e111ff013c819de61cb475268b0d38db99839471f1b4130 $below/libcudart12_12.4.127~12.4.1-2_amd64.deb
ca95170e32bc0a498f463c21ac104f993c9364f856522792138f57e72640857a $below/libcufft11_11.2.1.3~12.4.1-2_amd64.deb
49f475278f108cf1b07d60b8d3d9d1711c0de3868e374f5ac481a08c6c51750d $below/libcupti12_12.4.127~12.4.1-2_amd64.deb
09d56f110a9ab95de2674e6374aebcfce629e9a7de50480706c121cc56a34e67 $below/libcupti-dev_12.4.127~12.4.1-2_amd64.deb
END
    # glibc declares these with noexcept from 2.41 and 2.42 on (Debian 13, Ubuntu 25.04), CUDA 12.4 without, and no compiler takes both.
    sed -i -E 's/^(extern .* (rsqrt|sinpi|cospi)f?\((double|float) x\));$/\1 noexcept(true);/
        s/^(__func__\((double|float) (rsqrt|sinpi|cospi)f?\((const )?(double|float) a\)\))(;?)$/\1 noexcept(true)\6/' \
        "$root/usr/include/crt/math_functions.h" "$root/usr/include/crt/math_functions.hpp"
    cp "$root/usr/lib/nvidia-cuda-toolkit/bin/nvcc" "$root/libexec/"
    printf 'NVVMIR_LIBRARY_DIR = %s\nPATH += %s:\nINCLUDES += -I%s\nLIBRARIES =+ -L%s -L%s\n' \
        "$root/usr/lib/nvidia-cuda-toolkit/libdevice" "$root/usr/lib/nvidia-cuda-toolkit/bin:$root/usr/bin" \
        "$root/usr/include" "$root/$library/stubs" "$root/$library" >"$root/libexec/nvcc.profile"
    {
        printf "#!/bin/sh\nroot='%s' library=%s\n" "$root" "$library"
        cat <<'END'
# CUDA 12.4 takes a g++ up to 13.
cxx=
for name in g++ g++-13 g++-12 g++-11; do
    version=$("$name" -dumpversion 2>/dev/null) && [ "${version%%.*}" -le 13 ] && cxx=$name && break
done
PATH="$root/usr/bin:$PATH" LD_LIBRARY_PATH="$root/$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$root/libexec/nvcc" ${cxx:+-ccbin "$cxx"} "$@"
END
    } >"$root/bin/nvcc"
    chmod +x "$root/bin/nvcc"
    ln -s ../usr/lib/nvidia-cuda-toolkit/bin/crt "$root/libexec/crt" # what nvcc links programs with (tests/gpu/capture.py)
    for name in cuobjdump nvdisasm compute-sanitizer; do
        ln -s "../usr/bin/$name" "$root/bin/$name"
    done
    ln -s usr/include "$root/include"
    ln -s "$library" "$root/lib64"
}

recipe=$here/requirements.txt
[ "$version" = 13 ] || recipe=$here/toolkit.sh
if cmp -s "$recipe" "$root/installed.txt"; then
    echo "The CUDA $version toolkit is in $root already."
    exit 0
fi
case $version in
12)
    rm -rf "$root"
    mkdir -p "$root/bin" "$root/libexec" "$root/usr/lib/x86_64-linux-gnu"
    cupti_of_12_8 # first: it is small, and says at once what pip lacks
    from_debian
    ;;
13) from_wheels ;;
esac
"$root/bin/nvcc" --version | tail -n 2
cp "$recipe" "$root/installed.txt"
echo "The CUDA $version toolkit is in $root."
