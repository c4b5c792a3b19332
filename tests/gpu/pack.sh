#!/usr/bin/env bash
# Copies what tests/gpu/check.sh needs of a build folder to a machine that has only a driver, shared libraries included:
# tests/gpu/pack.sh BUILD FOLDER, or FILE.tar.xz. Of the toolkit that built the back end: CUPTI, compute-sanitizer where it
# has one, and the program of tests/gpu/capture.py. The repository's own tests/ travels beside it.
set -eu
build=$1 to=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
tests=$(cd "$root/tests/gpu" && python3 -B -c 'import settings; print(*settings.SETTINGS["tests"])')
folder=$to
case $to in
*.tar.xz)
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    ;;
esac
mkdir -p "$folder/tests" "$folder/lib"
cp "$build/tomoprof" "$build"/libtomoprof_cuda1?.so "$build/libtomoprof_capture.so" "$folder/"
for name in $tests; do
    cp "$build/tests/test_$name" "$folder/tests/"
done
# Not the C library: it belongs to the machine.
for file in "$folder/tomoprof" "$folder"/tests/*; do
    ldd "$file" | awk '$3 ~ "^/" {print $3}'
done | sort -u | grep -Ev '/(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so' | xargs -r -I{} cp -L {} "$folder/lib/"
strip --strip-debug "$folder/tomoprof" "$folder/libtomoprof_capture.so" "$folder"/tests/*

mapfile -t toolkits < <(sed -n 's|^TP_CUDA1[23]_NVCC:INTERNAL=\(.*\)/bin/nvcc$|\1|p' "$build/CMakeCache.txt" | sort)
for toolkit in "${toolkits[@]}"; do
    for file in "$toolkit"/{lib64,lib,extras/CUPTI/lib64}/libcupti.so.1[23]; do
        [ ! -e "$file" ] || cp -L "$file" "$folder/lib/"
    done
done
toolkit=${toolkits[-1]} # the newest
if [ -e "$toolkit/bin/libsanitizer-collection.so" ]; then # as NVIDIA's wheels have it
    mkdir -p "$folder/sanitizer/bin" "$folder/sanitizer/lib"
    cp -L "$toolkit/bin/compute-sanitizer" "$toolkit/bin/libsanitizer-collection.so" "$folder/sanitizer/bin/"
    cp -L "$toolkit"/lib/lib{TreeLauncher,Interceptor,sanitizer-public}*.so "$folder/sanitizer/lib/"
fi
# With its line table: recordings are compared by lines.
codes=()
for architecture in $(sed -n 's/^TP_CUDA_ARCH:[A-Z]*=//p' "$build/CMakeCache.txt" | tr ';' ' '); do
    codes+=(-gencode "arch=compute_$architecture,code=sm_$architecture")
done
"$toolkit/bin/nvcc" -O2 -g -lineinfo "${codes[@]}" -o "$folder/tests/known" "$root/tests/gpu/programs/known.cu" -ldl
git -C "$root" rev-parse HEAD >"$folder/commit.txt" 2>/dev/null || rm -f "$folder/commit.txt"
if [ "$folder" != "$to" ]; then
    tar -C "$folder" -c . | xz -T 2 >"$to.tmp"
    mv "$to.tmp" "$to"
fi
du -sh "$to"
