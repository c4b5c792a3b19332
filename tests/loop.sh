#!/bin/sh
# Runs the suite again and again, idle or beside busy processes, and says of each test how often it ran and failed and how long
# it took at most: what fails once in many runs fails by luck.
set -eu
cd "$(dirname "$0")/.."
case ${1-}:${2-} in
*[!0-9:]* | :* | *: | 0*)
    cat >&2 <<'TEXT'
usage: tests/loop.sh RUNS BUSY [CTEST OPTION ...]
  RUNS   how often
  BUSY   busy processes beside the tests; 0: none
  Options of ctest choose the tests, and how many run at once (default: one more than CPUs): -L capture -j 2
  BUILD=build-asan in the environment names another build than build. BUILD/loop/N.txt holds the output of run N.
TEXT
    exit 2
    ;;
esac
runs=$1 busy=$2 build=${BUILD-build} jobs=$(($(nproc) + 1)) load='' left=$2 run=0
shift 2
logs=$build/loop
rm -rf "$logs"
mkdir -p "$logs"

end() {
    # shellcheck disable=SC2086 # one word for each process
    [ -z "$load" ] || kill $load 2>/dev/null || true
}
trap end EXIT
trap 'exit 1' HUP INT TERM
while [ "$left" -gt 0 ]; do
    sh -c 'while kill -0 "$1" 2>/dev/null; do for i in 1 2 3 4 5 6 7 8 9; do i=$((i * i)); done; done' busy $$ &
    load="$load $!" left=$((left - 1))
done

while [ "$run" -lt "$runs" ]; do
    run=$((run + 1))
    echo "run $run of $runs, $busy busy processes, $(date '+%H:%M:%S')"
    ctest --test-dir "$build" --output-on-failure -j "$jobs" -E '^container/' "$@" >"$logs/$run.txt" 2>&1 || true
    grep -E '\*\*\*(Failed|Timeout|Exception|Not Run)' "$logs/$run.txt" || true
done
# 12/240 Test #7: capture/test_x .....***Failed   1.23 sec
cat "$logs"/*.txt | awk -v runs="$runs" -v busy="$busy" '
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    name = $4; sub(/^#[0-9]+:/, "", name); if (name == "") name = $5
    seconds = $(NF - 1)
    n[name]++; all++
    skipped[name] += /\*\*\*Skipped/
    if (!/ Passed / && !/\*\*\*Skipped/) { failed[name]++; bad++ }
    if (seconds + 0 > slowest[name] + 0) slowest[name] = seconds
}
END {
    printf "| test | runs | failures | slowest s |\n|---|---|---|---|\n"
    for (name in n)
        if (n[name] > skipped[name])
            printf "| %s | %d | %d | %.1f |\n", name, n[name] - skipped[name], failed[name], slowest[name] | "sort -t\\| -k4,4nr -k5,5nr"
    close("sort -t\\| -k4,4nr -k5,5nr")
    for (name in n)
        if (n[name] == skipped[name])
            printf "skipped: %s\n", name
    printf "%d runs beside %d busy processes: %d tests run, %d failed\n", runs, busy, all, bad
    exit bad > 0 || !all
}'
