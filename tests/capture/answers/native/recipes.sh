#!/bin/bash
# Like make: many short processes, of which mawk uses most CPU time. /proc/PID/stat counts the CPU time of children that ended, in ticks.
declare -A sums calls

children() {
    local line
    read -r line <"/proc/$$/stat"
    set -- ${line##*) }
    ticks=$((${14} + ${15}))
}

phase() { # NAME COMMAND...
    local name=$1 begin
    shift
    children
    begin=$ticks
    "$@" >/dev/null
    children
    sums[$name]=$((${sums[$name]:-0} + ticks - begin))
    calls[$name]=$((${calls[$name]:-0} + 1))
}

seq 1 4000 >numbers
for k in {1..60}; do
    phase mawk mawk -v k="$k" '{ s += ($1 * k) % 97; for (i = 0; i < 12; i++) t[i] += length(s i) } END { print s }' numbers # truth: mawk
    phase sed sed "s/$k/view/" numbers                                                                                     # truth: sed
    phase sort sort -n numbers                                                                                             # truth: sort
done

comma=
{
    printf '{"pid": %d, "process_s": 0, "phases": {' $$
    for name in "${!sums[@]}"; do
        s=$((sums[$name] / 100)).$(printf %02d $((sums[$name] % 100)))
        printf '%s"%s": {"thread_s": %s, "process_s": %s, "wall_s": %s, "calls": %d}' "$comma" "$name" "$s" "$s" "$s" "${calls[$name]}"
        comma=", "
    done
    printf '}}'
} >"${TRUTH:-.}/$$.json"
