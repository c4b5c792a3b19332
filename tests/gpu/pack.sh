#!/usr/bin/env bash
# Copies what tests/gpu/check.sh needs of a build folder, shared libraries included: tests/gpu/pack.sh BUILD FOLDER. The
# repository's own tests/ travels beside it.
set -eu
build=$1 folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
tests=$(cd "$root/tests/gpu" && python3 -B -c 'import settings; print(*settings.SETTINGS["tests"])')
mkdir -p "$folder/tests" "$folder/lib"
cp "$build/tomoprof" "$build"/libtomoprof_cuda1?.so "$build/libtomoprof_capture.so" "$folder/"
for name in $tests; do
    cp "$build/tests/test_$name" "$folder/tests/"
done
# Not the C library: it belongs to the machine.
for file in "$folder/tomoprof" "$folder"/tests/*; do
    ldd "$file" | awk '$3 ~ "^/" {print $3}'
done | sort -u | grep -Ev '/(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so' | xargs -r -I{} cp -L {} "$folder/lib/"
strip --strip-debug "$folder/tomoprof" "$folder"/tests/*
git -C "$root" rev-parse HEAD >"$folder/commit.txt" 2>/dev/null || rm -f "$folder/commit.txt"
du -sh "$folder"
