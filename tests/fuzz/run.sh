#!/bin/sh
# Fuzzes every reader of untrusted bytes for SECONDS (default 60) each. Usage: tests/fuzz/run.sh [SECONDS] [NAME...]
# What is found is left in build/fuzz/found/NAME; inputs that reach new code in build/fuzz/corpus/NAME.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
build=build/fuzz
cmake -S . -B $build -G Ninja -DTP_FUZZ=ON >/dev/null
ninja -C $build fuzzers >/dev/null
[ $# -gt 0 ] || set -- $(cd $build/tests/fuzz && ls -d libfuzzer_* | sed 's/libfuzzer_//')
for name in "$@"; do
    mkdir -p $build/corpus/$name $build/found/$name
    dict=tests/fuzz/dict/$name.dict
    # ${dict:+...}: an option only where there is a dictionary
    [ -f $dict ] || dict=
    echo "== $name"
    $build/tests/fuzz/libfuzzer_$name -max_total_time=$seconds -timeout=60 -rss_limit_mb=2048 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix=$build/found/$name/ ${dict:+-dict=$dict} \
        $build/corpus/$name tests/fuzz/corpus/$name 2>&1 | grep -v "^#" | tail -12
done
found=$(find $build/found -type f)
[ -z "$found" ] || {
    echo "inputs that crash, hang or take too much memory:" "$found"
    exit 1
}
