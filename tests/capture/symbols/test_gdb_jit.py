"""Code that is announced by GDB's JIT interface has its names, and its lines where it has DWARF, for as long as it was there."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, of_samples, profile, run

TARGET = (pathlib.Path(__file__).resolve().parents[1] / "targets" / "announces.c").read_text()
# Two functions of 70 and 30 %; in the first, two loops of one length on lines of their own.
FIRST = """#define LOOP(n) for (long i = 0; i < (n); i++) __asm__ volatile("" : "+r"(i))
void made_seven(long k)
{
    LOOP(35 * k);
    LOOP(35 * k);
}
void made_three(long k)
{
    LOOP(30 * k);
}
"""
SECOND = """void made_again(long k)
{
    for (long i = 0; i < 50 * k; i++) __asm__ volatile("" : "+r"(i));
}
"""


def made(folder, *flags, debug=True):
    """The program, and the words for its code."""
    words = [compiled(folder, "announces", TARGET, *flags)]
    for name, text in (("first", FIRST), ("second", SECOND)):
        (folder / f"{name}.c").write_text(text)
        done = run([os.environ.get("CC", "cc"), "-c", *(["-g"] if debug else []), "-O1", "-o", folder / f"{name}.o", folder / f"{name}.c"])
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        words.append(folder / f"{name}.o")
    return words


def recorded(check, folder, *words):
    done = run(command(folder / "runs", "--rate", "1000", "--", *words), cwd=folder)
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()}")
    *seconds, child = map(float, done.stdout.decode().split())
    return profile(folder / "runs"), dict(zip(("made_seven", "made_three", "made_again"), seconds)), child


def functions(data):
    """CPU seconds by name of the innermost frame."""
    found = {}
    for frame, ns in zip(data["stacks"]["frame"], data["stacks"]["cpu_ns"]):
        name = data["frames"]["function"][frame]
        found[name] = found.get(name, 0) + ns * 1e-9
    return found


def as_by_its_clocks(check, data, own, what):
    found = functions(data)
    for name, seconds in own.items():
        share, truth = found.get(name, 0) / sum(own.values()), seconds / sum(own.values())
        # 0.6 s hold 150 ticks of the kernel, at which it looks at timers: 4 points of standard error; 5 points held where nothing else ran
        check.that(abs(share - truth) <= 0.1, f"{what}: {name} has {share:.3f} of the program's time, by its own clocks {truth:.3f}")


@of_samples
def names_and_lines(check, folder):
    """Local and exported descriptors; the file of the code is kept with the run."""
    data, own, _ = recorded(check, folder, *made(folder), "stay")
    as_by_its_clocks(check, data, own, "stay")
    lines = {x["line"]: x["cpu"]["user"] for path, f in data["files"].items() if path.endswith("first.c") for x in f["lines"]}
    truth = own["made_seven"] / 2
    for line in (4, 5):
        check.that(abs(lines.get(line, 0) - truth) <= 0.08 * sum(own.values()), f"first.c:{line} has {lines.get(line, 0):.3f} s, expected {truth:.3f} s")
    for name in ("first.o", "second.o", "first.c", "second.c"):
        (folder / name).unlink()
    again = run([os.environ["TOMOPROF"], "report", newest(folder / "runs"), "--reanalyze"])
    check.that(again.returncode == 0, again.stderr.decode())
    as_by_its_clocks(check, profile(folder / "runs"), own, "analysed again")
    data, own, _ = recorded(check, folder, *made(folder, "-DEXPORTED", "-rdynamic", "-Wl,--strip-all", debug=False), "stay")
    as_by_its_clocks(check, data, own, "exported, without lines")


@of_samples
def lifetimes(check, folder):
    """Other code at the same place has its own name, from when it was announced."""
    data, own, _ = recorded(check, folder, *made(folder), "replace")
    as_by_its_clocks(check, data, own, "replace")


@of_samples
def fork_and_exec(check, folder):
    """A child runs what its parent announced; a new program begins with nothing."""
    words = made(folder)
    data, own, child = recorded(check, folder, *words, "fork")
    found = functions(data)
    check.that(abs(found.get("made_three", 0) - own["made_three"] - child) <= 0.1 * sum(own.values()),
               f"fork: made_three has {found.get('made_three', 0):.3f} s in two processes, by their clocks {own['made_three']:.3f} and {child:.3f} s")
    data, own, _ = recorded(check, folder, *words, "exec")
    as_by_its_clocks(check, data, own, "exec")


def hostile(check, folder):
    """Sizes, addresses and bytes that are wrong, and a list without an end: the program and its analysis go on."""
    data, _, _ = recorded(check, folder, *made(folder), "hostile")
    check.that(data["totals"]["cpu"]["user"] > 0, "nothing was recorded")
    told = [item for item in data["quality"]["items"] if item["id"].startswith("jit.")]
    check.that(told, f"nothing tells of code that could not be kept: {json.dumps(data['quality']['items'])[:500]}")


DESCRIPTOR = """#include <stdint.h>
static char code[100000] = "\\177ELF";
static struct { void *next, *previous; const char *at; uint64_t bytes; } entry = {0, 0, code, sizeof code};
__attribute__((visibility("hidden"))) struct { uint32_t version, action; void *relevant, *first; } __jit_debug_descriptor = {1, 1, &entry, &entry};
"""


@of_samples
def closed_library(check, folder):
    """A library with a descriptor that comes and goes."""
    program, first, _ = made(folder, "-ldl")
    plugin = compiled(folder, "plugin.so", DESCRIPTOR, "-shared", "-fPIC")
    data, own, _ = recorded(check, folder, program, first, plugin, "plugins")
    as_by_its_clocks(check, data, own, "plugins")


need_library()
main(names_and_lines, lifetimes, fork_and_exec, hostile, closed_library)
