"""Stacks and modules from end to end: targets/stacks.c with the capture library preloaded, and a Python program."""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import captured, compiled, main, need_library, of_samples, run, same, target
from trace_file import CODE, MODULE, SAMPLE, STACK, WAIT

MODULE_GONE, CUT, PYTHON_CUT, NO_PYTHON, DEEP = 6, 2, 4, 8, 16
INNER, OUTER, LEFT_OUT = 768, 256, 1 << 63
PLUG = "double plug(double x) { for (int i = 0; i < 1000; i++) x = x * 0.5 + i; return x; }"


class Module:
    def __init__(self, record):
        self.start, self.end, self.bias, path, build_id, _ = struct.unpack_from("<QQQHHI", record.tail)
        self.path = record.tail[32 : 32 + path].decode()
        self.build_id = record.tail[32 + path : 32 + path + build_id].hex()


def stacks(trace):
    """{id: (flags, native addresses, [(line, code id)])}"""
    found = {}
    for r in trace.of(STACK):
        words = struct.unpack_from(f"<{r.native + 2 * r.python}Q", r.tail)
        found[r.id] = r.flags, words[: r.native], list(zip(words[r.native :: 2], words[r.native + 1 :: 2]))
    return found


def namer(program):
    """Address -> function of a program that is not relocated, None outside."""
    rows = [r.split() for r in run(["nm", "-S", program]).stdout.decode().splitlines()]
    places = [(int(r[0], 16), int(r[0], 16) + int(r[1], 16), r[3]) for r in rows if len(r) == 4 and r[2] in "tT"]

    def name(address):
        return next((n for low, high, n in places if low < address <= high), None)

    return name


def build_id(path):
    said = run(["readelf", "-n", path]).stdout.decode()
    return said.split("Build ID:")[1].split()[0] if "Build ID:" in said else ""


def sampled(trace):
    """(flags, addresses) of every sample that has a stack."""
    known = stacks(trace)
    return [known[s.stack][:2] for s in trace.of(SAMPLE) if s.stack in known]


def are_whole(check, what, samples):
    deep = [s for s in samples if s[0] & DEEP]
    cut = [s for s in samples if s[0] & CUT]
    print(f"{what}: {len(samples)} samples, {len(deep)} deeper than the limit, {len(cut)} cut")
    check.that(len(samples) > 20, f"{what}: only {len(samples)} samples")
    check.that(len(cut) <= 0.01 * len(samples), f"{what}: {len(cut)} of {len(samples)} stacks are cut")
    return deep


def modules_are_right(check, trace, program, plug):
    came = [Module(r) for r in trace.of(MODULE)]
    gone = [Module(r) for r in trace.of(MODULE_GONE)]
    by_path = {m.path: m for m in came}
    check.that(str(program) in by_path, f"no module {program} in {sorted(by_path)}")
    check.that(any("/libc.so" in p for p in by_path), "no module for the C library")
    check.that("[vdso]" in by_path, "no module for the vdso")
    for path in (program, plug):
        if str(path) in by_path:
            check.that(by_path[str(path)].build_id == build_id(path), f"{path}: build id {by_path[str(path)].build_id}")
    plugs = [m for m in came if m.path == str(plug)]
    check.that(len(plugs) == 2, f"the plug-in came {len(plugs)} times, not twice")
    check.that(len([g for g in gone if any(g.start == p.start for p in plugs)]) == 2, f"{len(gone)} modules went")
    inside = sum(any(p.start <= s[1][0] < p.end for p in plugs) for s in sampled(trace) if s[1])
    check.that(inside > 20, f"{inside} samples inside the plug-in")


@of_samples
def native_stacks(check, folder):
    program = target(folder, "stacks", "-no-pie", "-O2", "-fomit-frame-pointer")
    plug = compiled(folder, "plug.so", PLUG, "-O1", "-shared", "-fPIC", "-Wl,--build-id")
    if not program or not plug:
        print("skipped: there is no compiler")
        return
    name = namer(program)
    files = same(check, folder, "stacks", [program, plug], RATE=1000)
    if not check.that(len(files) == 2, f"{len(files)} traces, not those of parent and child"):
        return
    parent, child = sorted(files, key=lambda f: f.pid in {g.parent for g in files}, reverse=True)
    deep = are_whole(check, "parent", sampled(parent))
    check.that(deep and all(len(s[1]) == INNER + 1 + OUTER and s[1][INNER] & LEFT_OUT for s in deep), "both ends of a deep recursion are kept")
    check.that(all("main" in map(name, s[1][-5:]) for s in deep), "a deep recursion keeps its root")
    modules_are_right(check, parent, program, plug)

    names = [[name(a) for a in s[1]] for s in sampled(parent)]
    counts = {n.count("recurse") for n in names if n and "recurse" in n and len(n) < INNER}
    check.that(41 in counts and max(counts) <= 41, f"recurse stands {sorted(counts)} times in its stacks, not 41")
    compared = [n for n in names if "compare" in n]
    check.that(len(compared) > 20 and all("sort_much" in n for n in compared), "callers of qsort are not behind compare")
    handled = [n for n in names if "on_alternate" in n]
    check.that(len(handled) > 20, f"{len(handled)} samples in the signal handler")
    check.that(all("use_alternate" in n and "main" in n for n in handled), "the signal's stack does not lead to main")

    are_whole(check, "child", sampled(child))
    check.that(len(child.of(MODULE)) >= 4, f"the child has {len(child.of(MODULE))} modules")
    below = [[name(a) for a in s[1]] for s in sampled(child)]
    check.that(sum("sort_much" in n and "main" in n for n in below) > 0.9 * len(below), "the child's stacks lead to main")

    known = stacks(parent)
    waits = [known[w.stack] for w in parent.of(WAIT) if w.stack in known]
    here = [s for s in waits if "wait_here" in [name(a) for a in s[1]]]
    check.that(here, f"none of {len(waits)} waits is in wait_here")
    check.that(all(not s[0] & CUT for s in here), "stacks of the waiting thread are cut")


SCRIPT = """
import threading, time
def größe(n):
    return sorted(range(n), key=lambda x: -x)
def waiter():
    time.sleep(1)
def work():
    end = time.thread_time() + 1
    while time.thread_time() < end:
        größe(300)
thread = threading.Thread(target=waiter)
thread.start()
work()
thread.join()
"""


@of_samples
def python_stacks(check, folder):
    script = folder / "program.py"
    script.write_text(SCRIPT)
    done, files = captured(folder, [sys.executable, script], RATE=500)
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-300:]!r}")
    trace = files[0]
    codes = {}
    for r in trace.of(CODE):
        key, first, file, name = struct.unpack_from("<QiHH", r.tail)
        codes[key] = r.tail[16 : 16 + file].decode(), r.tail[16 + file : 16 + file + name].decode(), first
    known = stacks(trace)
    mine = [known[s.stack] for s in trace.of(SAMPLE) if s.stack in known]
    named = [[(codes[c][1].rpartition(".")[2], line & 0xFFFFFFFF) for line, c in s[2]] for s in mine]
    check.that(len(mine) > 50, f"only {len(mine)} samples")
    check.that(sum(bool(s[0] & PYTHON_CUT) for s in mine) <= 0.01 * len(mine), "Python stacks are cut")
    at_work = [n for n in named if ("work", 10) in n]
    check.that(len(at_work) > 0.5 * len(named), f"{len(at_work)} of {len(named)} samples have work() at line 10")
    check.that(all(n[-1] == ("<module>", 13) for n in at_work), "work() is not called from line 13 of the module")
    check.that(any(n[:2] == [("<lambda>", 4), ("größe", 4)] for n in named), "no sample in the lambda")
    waits = [known[w.stack] for w in trace.of(WAIT) if w.stack in known]
    asleep = [[(codes[c][1], line & 0xFFFFFFFF) for line, c in s[2]] for s in waits]
    check.that(any(n and n[0] == ("waiter", 6) for n in asleep), "no wait of the other thread at its line")


if __name__ == "__main__":
    need_library()
    main(native_stacks, python_stacks)
