#!/usr/bin/env bash
# Installs the CUDA toolkit that the project builds with, without root: cuda/toolkit.sh [FOLDER]. FOLDER is build-toolkit
# beside this folder unless given; CMake finds the default by itself, another with -DTP_CUDA_TOOLKIT=FOLDER/nvidia/cu13.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1-$here/../build-toolkit}
root=$folder/nvidia/cu13

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "cuda/toolkit.sh: the pinned packages are for Linux on x86-64; install NVIDIA's toolkit 13.0 instead" >&2
    exit 1
fi
mkdir -p "$folder"
if cmp -s "$here/requirements.txt" "$folder/installed.txt"; then
    echo "The CUDA toolkit is in $root already."
    exit 0
fi
for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then
        break
    fi
done
if ! "$python" -m pip --version >/dev/null 2>&1; then
    echo "cuda/toolkit.sh: python3 has no pip (Debian: sudo apt-get install python3-pip)" >&2
    exit 1
fi
rm -rf "$folder/nvidia"
"$python" -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check --target "$folder" --upgrade \
    --requirement "$here/requirements.txt"

# The wheels hold versioned libraries alone, and no lib64.
for library in "$root"/lib/lib*.so.*; do
    name=${library%%.so.*}.so
    [ -e "$name" ] || ln -s "$(basename "$library")" "$name"
done
[ -e "$root/lib64" ] || ln -s lib "$root/lib64"
"$root/bin/nvcc" --version | tail -n 2
cp "$here/requirements.txt" "$folder/installed.txt"
echo "The CUDA toolkit is in $root."
