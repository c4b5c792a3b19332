#!/bin/sh
# Runs the suite again and again, idle or beside busy processes, and notes of each test whether it failed and how long it took,
# with the commit and the load of the machine: what fails once in many runs fails by luck. Notes of several days add up.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD-build}
notes=${NOTES-$build/loop.tsv}

# The table of notes: per commit and load, then per test. Idle: nothing busy beside the tests, a load below 1 before they began,
# and at the end of the run no more than the tests themselves make, which have threads: up to 4.2 for three at once.
table() {
    awk -F '\t' '
    $1 == "when" { next }
    {
        idle = $4 == 0 && $5 < 1 && $6 <= $7 + 1.5
        kind = idle ? "idle" : "loaded"
        set = $2 " | " $3 " | " kind
        if (!((set, $8) in runs_of)) { runs_of[set, $8] = 1; runs[set]++ }
        if (least[set] == "" || $6 + 0 < least[set]) least[set] = $6 + 0
        if ($6 + 0 > most[set] + 0) most[set] = $6 + 0
        if (first[set] == "" || $1 < first[set]) first[set] = $1
        if ($10 == "skipped") { skipped[$9] = 1; next }
        ran[set]++; all++
        n[$9, kind]++; names[$9] = 1
        if ($10 == "failed") { failed[$9, kind]++; lost[set]++; bad++; any[$9]++ }
        if ($11 + 0 > slowest[$9] + 0) slowest[$9] = $11 + 0
    }
    END {
        printf "| commit | build | machine | runs | load | from | tests run | failures |\n|---|---|---|---|---|---|---|---|\n"
        for (set in runs)
            printf "| %s | %d | %s to %s | %s | %d | %d |\n", set, runs[set], least[set], most[set], first[set], ran[set], lost[set] | "sort"
        close("sort")
        printf "\n| test | idle runs | failures | loaded runs | failures | slowest s |\n|---|---|---|---|---|---|\n"
        for (name in names)
            printf "%d\t| %s | %d | %d | %d | %d | %.1f |\n", any[name], name, n[name, "idle"], failed[name, "idle"],
                n[name, "loaded"], failed[name, "loaded"], slowest[name] | "sort -k1,1nr -k3,3 | cut -f 2"
        close("sort -k1,1nr -k3,3 | cut -f 2")
        for (name in skipped)
            if (!(name in names))
                printf "skipped: %s\n", name
        printf "%d tests run, %d failed\n", all, bad
        exit bad > 0 || !all
    }' "$@"
}

if [ "${1-}" = table ]; then
    shift
    [ $# -gt 0 ] || set -- "$notes"
    table "$@"
    exit
fi
case ${1-}:${2-} in
*[!0-9:]* | :* | *: | 0*)
    cat >&2 <<'TEXT'
usage: tests/loop.sh RUNS BUSY [CTEST OPTION ...]
       tests/loop.sh table [NOTES ...]
  RUNS   how often
  BUSY   busy processes beside the tests; 0: none
  Options of ctest choose the tests, and how many run at once (default: one more than CPUs): -L capture -j 2
  table  adds up the notes of earlier loops, by commit, load and test
  BUILD=build-asan in the environment names another build than build. BUILD/loop/N.txt holds the output of run N;
  BUILD/loop.tsv, or the file that NOTES names, gets a line for each test of each run and keeps those of earlier loops.
TEXT
    exit 2
    ;;
esac
runs=$1 busy=$2 jobs=$(($(nproc) + 1)) load='' left=$2 run=0
shift 2
logs=$build/loop
rm -rf "$logs"
mkdir -p "$logs"
flag=''
for word in "$@"; do # as ctest takes it: how many at once
    case $flag:$word in
    -j:*) jobs=$word ;;
    *:-j[0-9]*) jobs=${word#-j} ;;
    esac
    flag=$word
done
[ -s "$notes" ] || printf 'when\tcommit\tbuild\tbusy\tload_before\tload\tjobs\trun\ttest\tresult\tseconds\n' >"$notes"
commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD || commit=$commit+
before=$(cut -d ' ' -f 1 /proc/loadavg)
stamp=$(date -u '+%Y-%m-%dT%H:%M:%SZ')

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
    # 12/240 Test #7: capture/test_x .....***Failed   1.23 sec
    awk -v OFS='\t' -v when="$stamp" -v commit="$commit" -v build="$build" -v busy="$busy" -v before="$before" \
        -v load="$(cut -d ' ' -f 1 /proc/loadavg)" -v jobs="$jobs" -v run="$stamp $run" '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
        name = $4; sub(/^#[0-9]+:/, "", name); if (name == "") name = $5
        result = / Passed / ? "passed" : /\*\*\*Skipped/ ? "skipped" : "failed"
        print when, commit, build, busy, before, load, jobs, run, name, result, $(NF - 1)
    }' "$logs/$run.txt" >"$logs/$run.tsv"
    cat "$logs/$run.tsv" >>"$notes"
done
table "$logs"/*.tsv
