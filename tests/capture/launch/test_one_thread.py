"""A program of one thread stays one for glibc: its flag (2.36 to 2.41) is that of a bare run at each step, and the library's own
thread, which goes unseen by it, never allocates."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import captured, main, need_library, run, target


def the_flag_is_kept(check, folder):
    for flags in ((), ("-no-pie", "-fno-pie"), ("-fPIC",)):  # with and without a copy of it in the program
        program = target(folder, "one_thread", *flags)
        bare = run([program, "flag"], timeout=300)
        check.must(bare.returncode == 0 and b"first: 1 1" in bare.stdout, f"bare: {bare}")
        done, files = captured(folder, [program, "flag"], RATE=1000, WAIT_RATE=200)
        check.must((done.returncode, done.stdout) == (0, bare.stdout), f"{flags}: {done}, bare {bare.stdout!r}")
        check.that((bare.stderr.split(), done.stderr.split()) == ([b"Threads:", b"1"], [b"Threads:", b"2"]), f"threads: {bare.stderr!r}, {done.stderr!r}")
        check.that(not any(f.damage for f in files), f"{flags}: {[f.damage for f in files]}")


def its_thread_never_allocates(check, folder):
    program = target(folder, "one_thread", "-DOWN_HEAP", "-fno-builtin")
    bare = run([program, "heap"], timeout=300)
    check.must(bare.returncode == 0, f"bare: {bare.returncode} {bare.stderr!r}")
    for modes in ("cpu,wait,memory,copies,python,io,locks", "cpu"):
        done, files = captured(folder, [program, "heap"], RATE=1000, WAIT_RATE=200, MODES=modes)
        check.must(done.returncode == 0, f"{modes}: exit {done.returncode}, {done.stderr[-300:]!r}")
        check.must(done.stdout == bare.stdout, f"{modes}: {done.stdout!r}, bare {bare.stdout!r}")
        check.that(not any(f.damage for f in files), f"{modes}: {[f.damage for f in files]}")


def its_heap_is_as_in_a_bare_run(check, folder):
    program = target(folder, "one_thread", "-fno-builtin")
    bare = run([program, "place"], timeout=300)
    check.must(bare.returncode == 0 and len(bare.stdout.split()) == 2, f"bare: {bare}")
    for modes in ("cpu,wait,memory,copies,python,io,locks", "cpu"):
        done, _ = captured(folder, [program, "place"], MODES=modes)
        check.that(done.stdout == bare.stdout, f"{modes}: first blocks at {done.stdout!r} from the heap's end, bare {bare.stdout!r}")


if __name__ == "__main__":
    need_library()
    name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "? 0").split()
    if name != "glibc" or not (2, 36) <= tuple(map(int, version.split(".")[:2])) <= (2, 41):
        print(f"skipped: {name} {version} is left as it is: the flag for one thread is kept with 2.36 to 2.41")
        sys.exit(77)
    sys.exit(main(the_flag_is_kept, its_thread_never_allocates, its_heap_is_as_in_a_bare_run))
