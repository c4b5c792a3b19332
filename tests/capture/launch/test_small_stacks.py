"""Programs on stacks of 4 to 16 KiB: whatever they do there bare they do recorded as well, sampled or not."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import captured, main, need_library, run, target

WHAT = ("files", "stdio", "memory", "maps", "locks", "turn", "fork", "exec")
# Where, KiB, and what a bare run must be able to do there: the rest needs more stack itself on some machines.
WHERE = (("fiber", 4, ("files", "memory", "locks", "turn")), ("fiber", 8, WHAT[:-1]), ("fiber", 16, WHAT),
         ("thread", 16, WHAT[:-1]), ("clone", 8, ("files", "memory", "maps", "locks")), ("handler", 4, ("files", "memory", "maps", "locks")))

# The child makes the recorder's own thread, for which pthread_create takes up to 3 KiB.
LEFT = {("fiber", 4, "fork")}


def each_goes_on_as_bare(check, folder):
    program = target(folder, "small_stacks", "-fno-builtin")
    for where, kib, sure in WHERE:
        for what in WHAT:
            if (where, kib, what) in LEFT:
                continue
            words = [program, where, str(kib), what]
            bare = run(words, timeout=300)
            if bare.returncode:
                check.that(what not in sure, f"{words[1:]}: bare {bare.returncode} {bare.stdout!r}")
                continue
            # The kernel's frame of a signal takes 1 to 3.5 KiB, by the processor: beside a call that is recorded 4 KiB are too few for it.
            rate = 1 if kib == 4 and what != "turn" else 1000
            done, files = captured(folder, words, ALLOC_MEAN=1 << 20, RATE=rate)
            check.that((done.returncode, done.stdout) == (0, bare.stdout), f"{words[1:]}: exit {done.returncode}, {done.stdout!r}")
            check.that(files and not any(f.damage for f in files), f"{words[1:]}: {[f.damage for f in files]}")


if __name__ == "__main__":
    need_library()
    sys.exit(main(each_goes_on_as_bare))
