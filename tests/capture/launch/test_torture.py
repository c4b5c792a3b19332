"""The library injected into programs that fork, exec, thread and signal in every way they may: same output, same
exit status, and traces that read."""

import collections
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import LONG, captured, environment, main, need_library, of_samples, run, same, target
from pythons import pythons
from trace_file import COPY, EXEC, EXECED, EXIT, FORKED, QUICK, RUNNING, SPAWNED, PROCESS, SAMPLE, THREAD, THREAD_END, WAIT, traces

RUNS, KILLS = (200, 200) if LONG else (8, 20)  # each with another seed


@of_samples
def everything_at_once(check, folder):
    program = target(folder, "torture")
    for seed in range(RUNS):
        wanted = 41 if seed % 3 == 2 else 40
        try:
            done, files = captured(folder, [program, seed], RATE=1000)
        except subprocess.TimeoutExpired:
            check.must(False, f"run {seed} hangs")
            continue
        if not check.must((done.returncode, done.stdout) == (wanted, b"all done\n"),
                          f"run {seed}: exit {done.returncode}, {done.stdout[-300:]!r} {done.stderr[-300:]!r}"):
            continue
        check.must(not any(f.damage for f in files), f"run {seed}: {[f.damage for f in files]}")
        if seed < 3:
            its_processes_are_told(check, seed, files)


def its_processes_are_told(check, seed, files):
    ends = sorted((f.end, f.detail) for f in files)
    for code in (17, 18, 19, 20, 22, 23):
        check.must(any(f.end in (EXIT, QUICK) and f.detail == code for f in files), f"{seed}: no end with {code}: {ends}")
    check.must(any(f.end == EXEC for f in files), f"{seed}: no end by exec: {ends}")
    check.must(any(f.end == RUNNING for f in files), f"{seed}: the killed child has an end: {ends}")
    first = min(files, key=lambda f: f.start)
    made = [(r.op, r.child) for r in first.of(PROCESS)]
    check.must({op for op, _ in made} >= {FORKED, SPAWNED}, f"{seed}: {made}")
    check.must({f.pid for f in files} >= {pid for _, pid in made}, f"{seed}: children without a trace: {made}")
    check.must({r.op for f in files for r in f.of(PROCESS)} >= {EXECED}, f"{seed}: no exec was told")
    child = next(f for f in files if f.detail == 17)
    check.that(sum(r.weight for r in child.of(SAMPLE)) > 0, f"{seed}: a forked child is not sampled")


def threads_of_all_kinds(check, folder):
    program = target(folder, "threads")
    for name in run([program]).stdout.decode().split():
        for _ in range(3 if LONG else 1):
            files = same(check, folder, name, [program, name], RATE=1000)
        if name == "three_hundred":
            ended = {r.tid for r in files[0].of(THREAD_END)}
            check.that(len(ended) >= 301, f"{name}: {len(ended)} threads have an end")


@of_samples
def threads_made_otherwise_are_sampled(check, folder):
    """What they ran before they were found is in their first sample."""
    program = target(folder, "threads")
    _, files = captured(folder, [program, "other_threads"], RATE=1000)
    known, sampled = {r.tid for r in files[0].of(THREAD)}, collections.Counter()
    for r in files[0].of(SAMPLE):
        sampled[r.tid] += r.weight / 1e9
    longest = max((r.weight / 1e9 for r in files[0].of(SAMPLE)), default=0)  # what is after a thread's last sample is in none
    check.that(sum(s > 0.25 - max(0.05, longest) for s in sampled.values()) == 3, f"three threads are busy for 0.25 s each: {sampled}, {longest} s at most")
    check.that(sampled.keys() <= known, f"sampled {sampled} of {known}")
    _, files = captured(folder, [program, "brief_timer"], RATE=1000)
    events = sum(r.weight / 1e9 for r in files[0].of(SAMPLE) if r.tid != files[0].pid)
    # 5 ms each, about a tick of the kernel, at which it looks at timers: on an overloaded machine a third is sampled, 0.17 s at the least
    check.that(0.05 < events < 0.75, f"{events} s of events are sampled, truth 0.5 s")


@of_samples
def signals_of_all_kinds(check, folder):
    program = target(folder, "signals")
    for name in run([program]).stdout.decode().split():
        files = same(check, folder, name, [program, name], RATE=1000, COPY_MEAN=1 if name.startswith("jumps_out") else 8e6,
                     **({"SHIELD": 1} if name == "undisturbed" else {}))  # which forges what kernels before 5.9 do
        if name == "jumps_out":
            last = max((r.time for r in files[0].of(SAMPLE)), default=files[0].start)
            late, whole = (files[0].end_ns - last) / 1e9, (files[0].end_ns - files[0].start) / 1e9
            check.that(late < whole / 2, f"{name}: samples end {late} s before the program, which ran for {whole} s")
        if name in ("jumps_out_then_spins", "jumps_out_then_deeper"):  # at the clock that the library reads
            told = files[0].of(COPY)
            check.that(not told, f"{name}: {len(told)} copies are recorded, which the handler left")
        if name in ("block_all", "reset_all", "profiling_timer", "tiny_stack", "jumps_out_then_spins", "jumps_out_then_deeper"):
            got = sum(r.weight for f in files for r in f.of(SAMPLE))
            check.that(got > 0.2e9, f"{name}: only {got / 1e9} s of 0.3 s are sampled")


def killed_at_any_moment(check, folder):
    program, to, dice = target(folder, "threads"), folder / "trace", random.Random(5)
    to.mkdir()
    for _ in range(KILLS):
        p = subprocess.Popen([program, "forks_and_threads"], env=environment(to, RATE=1000), stdout=subprocess.DEVNULL)
        time.sleep(dice.random() * 0.05)
        p.send_signal(signal.SIGKILL)
        p.wait(timeout=300)
        for f in traces(to):
            if f.pid == p.pid:  # its children live on for a moment
                check.that(f.end in (RUNNING, EXIT), f"end {f.end}")
            # a file that was made but not yet begun is the one thing that may be found besides
            check.that(not f.damage or f.damage == ["no magic"], f"{f.path.name}: {f.damage}")
            f.path.unlink(missing_ok=True)


@of_samples
def python_processes(check, folder):
    script = pathlib.Path(folder) / "pool.py"
    script.write_text("import multiprocessing as m, subprocess, sys, time\n"
                      "def begin(b): globals()['both'] = b\n"
                      "def spin():\n"
                      "    end = time.process_time() + 0.1\n"
                      "    while time.process_time() < end: sum(range(300000))\n"
                      "def f(x):\n    both.wait()\n    spin()\n    return x\n"  # each worker takes one
                      "if __name__ == '__main__':\n"
                      "    c = m.get_context(sys.argv[1])\n    spin()\n"
                      "    with c.Pool(2, begin, [c.Barrier(2)]) as p: print(sum(p.map(f, [1, 2], 1)))\n"
                      "    print(subprocess.run(['sh', '-c', 'exit 6']).returncode)\n")
    for how in ("fork", "spawn", "forkserver"):
        files = same(check, folder, how, [sys.executable, script, how])
        busy = [f for f in files if sum(r.weight for r in f.of(SAMPLE)) > 0]
        check.that(len(busy) >= 3, f"{how}: only {len(busy)} processes are sampled")


@of_samples
def forks_of_a_python_that_counts_threads(check, folder):
    """From 3.12 on os.fork() warns where the process has threads; ours must not be one of them."""
    script = pathlib.Path(folder) / "fork.py"
    script.write_text("import os, sys, time\nx = [bytes(3000) for _ in range(3000)]\n"
                      "for i in range(12):\n    pid = os.fork()\n    if pid == 0: os._exit(i)\n"
                      "    print(os.waitpid(pid, 0)[1] >> 8)\n    time.sleep(0.01)\n"
                      "time.sleep(0.1)\n"  # the library's thread stays away 20 ms, and comes with an allocation after them
                      "y = [bytes(3000) for _ in range(6000)]\ntime.sleep(2)\n")  # on a busy machine it comes late
    new = [p for p in pythons() if subprocess.run([p, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"], timeout=300).returncode == 0]
    print(f"Pythons from 3.12 on: {len(new) or 'none here'}")
    for python in new:
        files = same(check, folder, str(python), [python, "-W", "error", script])
        main_file = min(files, key=lambda f: f.start)
        check.that(main_file.of(WAIT), f"{python}: nobody looks at waiting threads after the forks")


def shells_and_pipes(check, folder):
    files = same(check, folder, "pipeline", ["bash", "-c", "seq 20000 | sort -n | uniq | tail -n 2; (exit 3) | true; "
                                                          "echo ${PIPESTATUS[0]}; x=$(echo in; exit 9); echo $x $?; exit 12"])
    ran = {f.facts().get("exe", "").rsplit("/", 1)[-1] for f in files}
    check.that(ran >= {"bash", "seq", "sort", "uniq", "tail"}, f"pipeline: traces of {ran}")


def what_is_closed_twice(check, folder):
    """The library's own files never stand under the numbers that a program closes once more: 1 of 4 s of this had a wrong pipe."""
    same(check, folder, "closes_twice", [target(folder, "closes_twice", "-pthread")], WAIT_RATE=200)


def a_cleared_environment_stays_clear(check, folder):
    done, files = captured(folder, ["env", "-i", "sh", "-c", "echo ${LD_PRELOAD-none}"])
    check.that(done.stdout == b"none\n" and done.returncode == 0, f"{done}")
    check.that(len(files) == 1, f"{len(files)} traces")


if __name__ == "__main__":
    need_library()
    sys.exit(main(everything_at_once, threads_of_all_kinds, threads_made_otherwise_are_sampled, signals_of_all_kinds,
                  killed_at_any_moment, python_processes, forks_of_a_python_that_counts_threads, shells_and_pipes, what_is_closed_twice,
                  a_cleared_environment_stays_clear))
