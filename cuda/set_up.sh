#!/usr/bin/env bash
# Sets up NVIDIA's toolkit in build-toolkit for the driver here: cuda/set_up.sh auto|driver|12|13|both.
#   auto: what the driver serves, if it is not there; a failure leaves the CPU, and a sentence says so
#   driver: what the driver serves, else 13
set -eu
cd "$(dirname "$0")/.."

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

# Sets up the toolkit that the driver here needs to compute; without it the CPU computes, and a sentence says so.
set_up_gpu() {
    local version
    [ "${TOMOPROF_CUDA_TOOLKIT-}" != none ] || return 0
    version=$(cuda_of_driver)
    if [ -z "$version" ] || has_toolkit "$version"; then
        return 0
    fi
    echo "NVIDIA's driver $(driver) is here: CUDA $version is set up in build-toolkit, once (TOMOPROF_CUDA_TOOLKIT=none forbids it)."
    cuda/toolkit.sh "$version" || echo "CUDA $version could not be set up, so the CPU computes: ./start.sh cuda tries again." >&2
}

case $1 in
auto) set_up_gpu ;;
driver)
    version=$(cuda_of_driver)
    cuda/toolkit.sh "${version:-13}"
    ;;
12 | 13) cuda/toolkit.sh "$1" ;;
both)
    cuda/toolkit.sh 13
    cuda/toolkit.sh 12
    ;;
*)
    echo "./start.sh cuda $1: 12, 13 or both" >&2
    exit 2
    ;;
esac
