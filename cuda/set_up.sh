#!/usr/bin/env bash
# Sets up NVIDIA's toolkit in build-toolkit for the driver here: cuda/set_up.sh auto|driver|12|13|both|gpu.
#   auto: what the driver serves, if it is not there; a failure leaves the CPU, and a sentence says so
#   driver: what the driver serves, else 13
#   gpu: nothing; exit code 77 and a sentence where no GPU can be used
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=start.sh
. ./start.sh # apt_install, has_pip

# The version of NVIDIA's driver, as 565; nothing where none answers.
driver() {
    local smi
    for smi in nvidia-smi /usr/lib/wsl/lib/nvidia-smi; do
        if command -v "$smi" >/dev/null; then
            "$smi" --query-gpu=driver_version --format=csv,noheader 2>/dev/null | sed -n '1s/^\([0-9]*\)\..*/\1/p'
            return
        fi
    done
}

# The CUDA that this driver serves, of those that the back end is built for; nothing where none does.
cuda_of_driver() {
    local version
    version=$(driver)
    if [ "${version:-0}" -ge 580 ]; then
        echo 13
    elif [ "${version:-0}" -ge 525 ]; then
        echo 12
    fi
}

# Finds out whether a toolkit of CUDA $1 is on this machine, ours or another.
has_toolkit() {
    local root
    for root in build-toolkit/nvidia/cu"$1" "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda-"$1".* /usr; do
        if [ -e "$root/include/cufft.h" ] && "$root/bin/nvcc" --version 2>/dev/null | grep -q "release $1\."; then
            return 0
        fi
    done
    return 1
}

# fetch 12|13: brings the toolkit, and with apt what it needs beside the build's own packages.
fetch() {
    local wanted="" newest
    newest=$(g++ -dumpversion 2>/dev/null | cut -d. -f1)
    has_pip || wanted=python3-pip
    if [ "$1" = 12 ] && [ "${newest:-0}" -gt 13 ] && ! command -v g++-13 >/dev/null; then
        wanted="$wanted g++-13"
    fi
    # shellcheck disable=SC2086 # a list of words
    [ -z "$wanted" ] || apt_install $wanted || true
    if [ "$1" = 12 ] && [ "${newest:-0}" -gt 13 ] && ! command -v g++-13 >/dev/null; then
        echo "CUDA 12.4 compiles with g++ up to 13; this is $newest. Install g++-13 beside it, then ./start.sh cuda." >&2
        return 1
    fi
    cuda/toolkit.sh "$1"
}

# Sets up the toolkit that the driver here needs to compute; without it the CPU computes, and a sentence says so.
set_up_gpu() {
    local version
    [ "${TOMOPROF_CUDA_TOOLKIT-}" != none ] || return 0
    version=$(cuda_of_driver)
    if [ -z "$version" ] && [ -n "$(driver)" ]; then
        echo "NVIDIA's driver $(driver) is older than 525, which CUDA 12 needs: the CPU computes." >&2
    fi
    if [ -z "$version" ] || has_toolkit "$version"; then
        return 0
    fi
    echo "NVIDIA's driver $(driver) is here: CUDA $version is set up in build-toolkit, once (TOMOPROF_CUDA_TOOLKIT=none forbids it)."
    fetch "$version" || echo "CUDA $version could not be set up, so the CPU computes: ./start.sh cuda tries again." >&2
}

# Ends with a sentence where a check of the GPU would only build for minutes.
needs_gpu() {
    local version
    version=$(driver)
    if [ -n "$version" ] && [ "$version" -lt 525 ]; then
        echo "NVIDIA's driver $version is older than 525, which CUDA 12 needs: update it, then run this again." >&2
        exit 77
    fi
    # nvidia-smi may be missing beside a driver that works.
    if [ -z "$version" ] && [ ! -e /proc/driver/nvidia/version ] && [ ! -e /dev/dxg ]; then
        echo "No NVIDIA driver answers here, so no GPU can be checked: install it (nvidia-smi then names the GPU), in WSL2 on Windows." >&2
        exit 77
    fi
}

case $1 in
auto) set_up_gpu ;;
gpu) needs_gpu ;;
driver)
    version=$(cuda_of_driver)
    fetch "${version:-13}"
    ;;
12 | 13) fetch "$1" ;;
both)
    fetch 13
    fetch 12
    ;;
*)
    echo "./start.sh cuda $1: 12, 13 or both" >&2
    exit 2
    ;;
esac
