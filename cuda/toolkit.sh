#!/usr/bin/env bash
# Installs a CUDA toolkit that the project builds with, without root: cuda/toolkit.sh [12|13] [FOLDER]. 13 (drivers from 580)
# unless given: NVIDIA's wheels, pinned, by pip. 12 (12.4, drivers from 525): the packages of Debian 13, checked by apt,
# unpacked and not installed, and the CUPTI of CUDA 12.8 by pip, for RTX 50 with drivers 570 to 579. FOLDER is build-toolkit beside this folder unless given; CMake finds the default by itself,
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

# The address of the mirror that this system's apt uses; nothing where it uses none of Debian's.
debian_mirror() {
    grep -rhE '^(URIs:|deb )' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
        grep -oE 'https?://[^ ]+/debian/?( |$)' | sed -n '1s|/* *$||p'
}

from_debian() {
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg apt file mirror library=usr/lib/x86_64-linux-gnu
    mirror=$(debian_mirror)
    if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null || [ ! -e "$keys" ] || [ -z "$mirror" ]; then
        fail "CUDA 12 is taken from Debian's packages, which needs Debian, its apt-get and $keys; install NVIDIA's toolkit 12.x instead: CMake finds /usr/local/cuda"
    fi
    rm -rf "$root"
    mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial" "$root/apt/debs" "$root/bin" "$root/libexec"
    apt=$root/apt
    echo "deb [signed-by=$keys] $mirror trixie main non-free" >"$apt/list"
    local options=(-q -o "Dir::Etc::sourcelist=$apt/list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists"
        -o "Dir::Cache=$apt/cache")
    apt-get "${options[@]}" update >"$apt/log" 2>&1 || {
        cat "$apt/log" >&2
        fail "apt-get update failed"
    }
    (cd "$apt/debs" && apt-get "${options[@]}" download nvidia-cuda-toolkit/trixie nvidia-cuda-dev/trixie nvidia-profiler/trixie \
        libnvvm4/trixie libcudart12/trixie libcufft11/trixie libcupti12/trixie libcupti-dev/trixie >>"$apt/log" 2>&1) || {
        cat "$apt/log" >&2
        fail "apt-get download failed"
    }
    for file in "$apt"/debs/*.deb; do
        dpkg -x "$file" "$root"
        printf 'debian\t%s\t%s\tLicenseRef-NVIDIA-Proprietary\n' "$(dpkg-deb -f "$file" Package)" "$(dpkg-deb -f "$file" Version)" \
            >>"$root/packages.tsv"
        rm "$file"
    done
    rm -rf "$apt"
    # Libraries that no build needs: two thirds of the space.
    find "$root/$library" -name '*.a' ! -name 'libcuda*' -delete
    cp "$root/usr/lib/nvidia-cuda-toolkit/bin/nvcc" "$root/libexec/"
    printf 'NVVMIR_LIBRARY_DIR = %s\nPATH += %s:\nINCLUDES += -I%s\nLIBRARIES =+ -L%s -L%s\n' \
        "$root/usr/lib/nvidia-cuda-toolkit/libdevice" "$root/usr/lib/nvidia-cuda-toolkit/bin:$root/usr/bin" \
        "$root/usr/include" "$root/$library/stubs" "$root/$library" >"$root/libexec/nvcc.profile"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\nroot=%s\nPATH="$root/usr/bin:$PATH" LD_LIBRARY_PATH="$root/%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$root/libexec/nvcc" "$@"\n' \
        "'$root'" "$library" >"$root/bin/nvcc"
    chmod +x "$root/bin/nvcc"
    ln -s ../usr/lib/nvidia-cuda-toolkit/bin/crt "$root/libexec/crt" # what nvcc links programs with (tests/gpu/capture.py)
    for file in cuobjdump nvdisasm compute-sanitizer; do
        ln -s "../usr/bin/$file" "$root/bin/$file"
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
    from_debian
    cupti_of_12_8
    ;;
13) from_wheels ;;
esac
"$root/bin/nvcc" --version | tail -n 2
cp "$recipe" "$root/installed.txt"
echo "The CUDA $version toolkit is in $root."
