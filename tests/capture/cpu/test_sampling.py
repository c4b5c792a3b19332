"""Samples against programs whose truth is known: shares of functions, sleep beside work, threads apart, memory taken.
Tolerances are those of the number of samples, five standard deviations."""

import json
import math
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import LIBRARY, LONG, captured, main, need_library, of_samples, run, target
from trace_file import COST, FOOTPRINT, SAMPLE, SLEEP, THREAD, THREAD_END, WAIT, traces


def functions(program):
    """{name: (first, after last address)}; the program is not relocated."""
    rows = [r.split() for r in run(["nm", "-S", program]).stdout.decode().splitlines()]
    return {r[3]: (int(r[0], 16), int(r[0], 16) + int(r[1], 16)) for r in rows if len(r) == 4}


def by_function(trace, program):
    """{(tid, function or None): ns}"""
    places, leaves, sums = functions(program), trace.leaves(), {}
    for s in trace.of(SAMPLE):
        pc = leaves.get(s.stack, 0)
        name = next((n for n, (low, high) in places.items() if low <= pc < high), None)
        sums[s.tid, name] = sums.get((s.tid, name), 0) + s.weight
    return sums


@of_samples
def shares_are_right(check, folder):
    program = target(folder, "truth", "-no-pie")
    for rate in (97, 200, 1000) if LONG else (97, 1000):
        done, (trace,) = captured(folder, [program, "shares"], RATE=rate)
        said = json.loads(done.stdout)
        sums, n = by_function(trace, program), len(trace.of(SAMPLE))
        total = sum(sums.values())
        check.that(n >= 100, f"{rate} Hz: {n} samples")
        for name, calls in zip(("seventy", "twenty", "ten"), said["calls"]):
            wanted = calls / sum(said["calls"])
            got = sums.get((trace.pid, name), 0) / total
            within = 5 * math.sqrt(wanted * (1 - wanted) / n) + 0.01
            check.that(abs(got - wanted) < within, f"{rate} Hz: {name} {got:.3f}, truth {wanted:.3f} +- {within:.3f}")
        end = next(r for r in trace.of(THREAD_END) if r.tid == trace.pid)
        check.that(end.sampled == total, f"{rate} Hz: sums of weights {end.sampled} {total}")
        whole = end.user + end.system
        check.that(abs(total - whole) < 0.03 * whole + 2e9 / rate, f"{rate} Hz: {total} of {whole} ns are in samples")
        check.that(abs(whole / 1e9 - said["cpu"]) < 0.1, f"{rate} Hz: thread end says {whole}, the program {said['cpu']} s")


@of_samples
def sleep_is_no_work(check, folder):
    program = target(folder, "truth", "-no-pie")
    done, (trace,) = captured(folder, [program, "sleeps"])
    said = json.loads(done.stdout)
    work = sum(r.weight for r in trace.of(SAMPLE)) / 1e9
    asleep = sum(r.weight for r in trace.of(WAIT) if r.tid == trace.pid and r.state == SLEEP) / 1e9
    check.that(abs(work - said["cpu"]) < 0.05, f"work {work}, truth {said['cpu']}")
    # the last sleep may end between two looks; and the kernel tells of a wait for a CPU when that is over: until then it looks like sleep
    check.that(said["asleep"] - 0.2 < asleep < said["asleep"] + said["queued"] + 0.05, f"asleep {asleep}, truth {said}")
    calls = {r.syscall for r in trace.of(WAIT) if r.tid == trace.pid and r.state == SLEEP}
    check.that(230 in calls or 35 in calls, f"sleeps in system calls {calls}")  # clock_nanosleep, nanosleep


@of_samples
def the_last_sleep_counts(check, folder):
    """Sleep is told when the sleeper wakes or each 250 ms: not later than its thread or the program ends."""
    done, (trace,) = captured(folder, [target(folder, "truth", "-no-pie"), "naps"])
    said = json.loads(done.stdout)
    asleep = {}
    for r in trace.of(WAIT):
        if r.state == SLEEP:
            asleep[r.tid] = asleep.get(r.tid, 0) + r.weight / 1e9
    others = sum(s for tid, s in asleep.items() if tid != trace.pid)
    check.that(0.4 < others < said["thread"] + 0.2, f"a thread that ends after 0.8 s of sleep: {others} s, truth {said}")  # less the time until the first look
    check.that(1.2 < asleep.get(trace.pid, 0) < said["main"] + 0.4, f"a program that ends after 0.8 s and 0.8 s: {asleep} s, truth {said}")


@of_samples
def threads_are_apart(check, folder):
    program = target(folder, "truth", "-no-pie")
    done, (trace,) = captured(folder, [program, "threads"], RATE=500)
    said = json.loads(done.stdout)
    sums = by_function(trace, program)
    for mine, other in (("seventy", "twenty"), ("twenty", "seventy")):
        check.that(sums.get((said[mine], mine), 0) > 0.35e9, f"{mine}: {sums}")
        check.that((said[mine], other) not in sums, f"{mine}: samples of {other}: {sums}")
    ours = [r for r in trace.of(THREAD) if r.flags & 2]
    check.that(len(ours) == 1 and not [s for s in trace.of(SAMPLE) if s.tid == ours[0].tid], "the library samples itself")
    names = {r.tail[: r.name_bytes].decode() for r in trace.of(THREAD) if r.tid == said["seventy"]}
    check.that("named" in names or "truth" in names, f"{names}")
    check.that(trace.of(COST) and all(r.calls for r in trace.of(COST)), "no costs")
    check.that(trace.of(FOOTPRINT), "no memory in use")


@of_samples
def short_threads_are_not_lost(check, folder):
    """Each runs for less than a period: few are met by a sample, which then stands for the others too."""
    program = target(folder, "truth", "-no-pie")
    done, (trace,) = captured(folder, [program, "brief"], RATE=200)
    said, got, n = json.loads(done.stdout)["cpu"], 0, 0
    for s in trace.of(SAMPLE):
        if s.tid != trace.pid:
            got, n = got + s.weight / 1e9, n + 1
    within = 5 * said / math.sqrt(max(n, 1))
    check.that(n > 30 and abs(got - said) < within, f"{got} s in {n} samples, truth {said} +- {within}")


@of_samples
def threads_shorter_than_a_tick_are_not_lost(check, folder):
    """0.4 ms each, of the kernel's 4: a first sample stands for those that ended without one, by the kernel's account of them. Where
    the kernel begins turns at its ticks, as on an overloaded machine, few are met, and their samples weigh more."""
    program = target(folder, "truth", "-no-pie")
    done, (trace,) = captured(folder, [program, "blink"], RATE=1000)
    said = json.loads(done.stdout)["cpu"]
    got = {}
    for s in trace.of(SAMPLE):
        got[s.tid] = got.get(s.tid, 0) + s.weight / 1e9
    ends = [r for r in trace.of(THREAD_END) if r.tid != trace.pid and r.user + r.system > 0 and r.start]
    true = sum(r.user + r.system - r.start for r in ends) / 1e9
    total = sum(got.get(r.tid, 0) for r in ends)
    check.that(len(ends) > 5900 and true > 0.3 * said, f"{len(ends)} threads took {true} s by the kernel, {said} by their own clocks")
    check.that(0.7 * true < total < true + 0.1, f"{total} s in samples of {len(got)} threads, truth {true}")
    alone = [r for r in ends if r.tid not in got]
    check.that(sum(r.writer == 0 for r in alone) > len(alone) / 2, f"{len(alone)} threads without a sample have chunks of their own")


@of_samples
def a_signal_while_capture_starts_does_not_end_it(check, folder):
    """The first one comes right after its timer is armed, before the start of the capture is over."""
    program, early = target(folder, "truth", "-no-pie"), target(folder, "early")
    to = folder / "early_trace"
    to.mkdir()
    done = run([early, LIBRARY, to, program, "sleeps"])
    if done.returncode == 77:
        print("a signal while capture starts: skipped, no tracing here")
        return
    check.must(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
    (trace,) = traces(to)
    said = json.loads(done.stdout)
    work = sum(r.weight for r in trace.of(SAMPLE)) / 1e9
    check.that(work > said["cpu"] / 2, f"{len(trace.of(SAMPLE))} samples of {work} s, truth {said['cpu']}")


def memory_is_bounded(check, folder):
    """16 MiB and 1 MiB per thread at most."""
    program = target(folder, "truth", "-no-pie")
    bare = json.loads(run([program, "memory"]).stdout)["peak_kib"]
    done, (trace,) = captured(folder, [program, "memory"])
    taken = json.loads(done.stdout)["peak_kib"] - bare
    print(f"memory taken with 100 threads: {taken / 1024:.1f} MiB, the trace says {trace.memory / 2**20:.1f} MiB at its end")
    check.that(taken < (16 + 100) * 1024, f"{taken} KiB for 100 threads")


def wrong_settings_are_noted(check, folder):
    program = target(folder, "truth", "-no-pie")
    done, (trace,) = captured(folder, [program, "memory"], RATE="fast", MODES="cpu,tea", RUN="1" * 32)
    check.that(done.stderr == b"", f"{done.stderr}")
    said = dict(trace.notes()).get("configuration", "")
    check.that("TOMOPROF_CAPTURE_RATE=fast" in said and "cpu,tea" in said, f"notes {trace.notes()}")
    check.that(trace.facts()["cpu.hz"] == "100", f"{trace.facts()}")
    done, files = captured(folder, [program, "memory"], DIR="/nonexistent/folder")
    check.that(done.returncode == 0 and done.stderr == b"" and not files, f"{done}")


if __name__ == "__main__":
    need_library()
    try:
        subprocess.run(["nm", "--version"], stdout=subprocess.DEVNULL, check=True, timeout=300)
    except FileNotFoundError:
        print("skipped: nm (binutils) is missing")
        sys.exit(77)
    sys.exit(main(shares_are_right, sleep_is_no_work, the_last_sleep_counts, threads_are_apart, short_threads_are_not_lost,
                  threads_shorter_than_a_tick_are_not_lost, a_signal_while_capture_starts_does_not_end_it, memory_is_bounded, wrong_settings_are_noted))
