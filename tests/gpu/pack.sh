#!/usr/bin/env bash
# Copies what tests/gpu/check.sh needs of a build folder, shared libraries included: tests/gpu/pack.sh BUILD FOLDER.
set -eu
build=$1 folder=$2
tests="test_project test_projection_calls test_hessian test_filter_recon test_analytic test_mbir_twin test_mbir test_goldens"
mkdir -p "$folder/tests" "$folder/lib"
cp "$build/tomoprof" "$build/libtomoprof_cuda.so" "$folder/"
for name in $tests; do
    cp "$build/tests/$name" "$folder/tests/"
done
# Not the C library: it belongs to the machine.
for file in "$folder/tomoprof" "$folder"/tests/*; do
    ldd "$file" | awk '$3 ~ "^/" {print $3}'
done | sort -u | grep -Ev '/(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so' | xargs -r -I{} cp -L {} "$folder/lib/"
strip --strip-debug "$folder/tomoprof" "$folder"/tests/*
du -sh "$folder"
