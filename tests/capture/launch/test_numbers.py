"""A program that opens, duplicates and lists descriptors while threads start and end, files are mapped and processes made meets none of the
recorder's: also where its trace begins in memory, where it closes what it did not open, and where its limit leaves no number out of its way."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import target
from recorded import command, main, need_library, newest, run
from trace_file import THREAD_END, traces

ROUNDS = 2
WAYS = {  # how the shell starts it
    "started": 'exec "$0" "$1"',
    "child": '"$0" "$1"; true',
    "closes": 'exec "$0" "$1" all',
    "few": 'ulimit -n 40; "$0" "$1"; true',
}


def numbers_are_the_programs(check, folder):
    program = target(folder, "numbers")
    if not program:
        print("skipped: no compiler")
        return
    file = folder / "mapped"
    file.write_bytes(bytes(100000))
    for way, words in WAYS.items():
        shell = ["sh", "-c", words, program, file]
        bare = json.loads(run(shell).stdout)
        check.must(bare["looks"] > 0 and bare["other"] == bare["listed"] == 0, f"{way}, bare: {bare}")
        for _ in range(ROUNDS):
            done = run(command(folder / "runs", "--no-analysis", "--", *shell))
            check.must(done.returncode == 0, f"{way}: exit {done.returncode}: {done.stderr[-300:]!r}")
            seen = json.loads(done.stdout)
            check.must(seen["looks"] > 0, f"{way}: {seen}")
            check.that(seen["other"] == 0, f"{way}: {seen['other']} of {seen['looks']} files had other numbers")
            check.that(seen["listed"] == 0, f"{way}: a descriptor more {seen['listed']} times")
            files = traces(newest(folder / "runs") / "trace")
            check.must(max(len(t.of(THREAD_END)) for t in files) > 200, f"{way}: the threads are not recorded")
            check.must(not any(t.damage for t in files), f"{way}: {[t.damage for t in files if t.damage]}")
            check.must(not any(t.lost["records"] for t in files), f"{way}: {[t.lost for t in files if t.lost['records']]}")


need_library()
main(numbers_are_the_programs)
