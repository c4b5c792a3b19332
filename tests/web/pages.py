"""The runs whose reports the browser tests open."""

import copy
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipe"))
from tool import DATA, TOMOPROF, newest, tomoprof, write_json  # noqa: E402

EVIL = ['</script><script>window.hacked=1</script>', '"><img src=x onerror=window.hacked=1>', "';--", "a\u0000b", "\u202eevil\u202c", "{{data}}", "\ufffd\ud83d\ude00",
        "kernel<" + "int, " * 2000 + ">", "line\nbreak\ttab", "http://example.com/x.png", "javascript:window.hacked=1", "| a | b |"]


def example():
    return json.loads((DATA / "profile" / "example.json").read_text())


def hostile(value):
    """Every text of it becomes something that would run, break out or turn around where it is not shown as text."""
    random.seed(7)
    fixed = {"schema", "kind", "language", "severity", "style", "direction", "from", "to", "end"}

    def poison(value, key=None):
        if isinstance(value, str):
            return value if key in fixed else random.choice(EVIL)
        if isinstance(value, list):
            return [poison(v, key) for v in value]
        if isinstance(value, dict):
            if key in ("files", "environment"):
                return {f"{random.choice(EVIL)} {i}": poison(v) for i, v in enumerate(value.values())}
            return {k: poison(v, k) for k, v in value.items()}
        return value

    return poison(value)


def million(n=1_000_000):
    """A timeline of n events on four tracks, in no regular rhythm."""
    random.seed(1)
    profile = example()
    kernels = len(profile["kernels"])
    tracks = []
    for i in range(4):
        count = n // 4
        length = [random.randint(500, 4000) for _ in range(count)]
        start = [0] + [b + random.randint(1, 3000) for b in length[:-1]]
        tracks.append({**copy.deepcopy(profile["timeline"][0]), "kind": "kernel", "thread": None, "device": 0, "context": 1, "stream": i, "resolution_ns": 0,
                       "events": {"start": start, "length": length, "busy": length, "count": [1] * count, "what": [random.randrange(kernels) for _ in range(count)]}})
    profile["timeline"] = tracks
    profile["meta"]["wall_s"] = max(sum(t["events"]["start"]) for t in tracks) * 1e-9
    return profile


def old():
    """What a version with fewer blocks would have written."""
    profile = example()
    for key in ("findings", "ranges", "apis", "gpu", "memsets", "processes", "threads", "own", "answers", "headline", "locks", "contention", "mpi"):
        profile.pop(key)
    for file in profile["files"].values():
        file["functions"] = []
        for key in ("length", "source"):
            file.pop(key)
        for line in file["lines"]:
            for key in ("scalene", "live_mb", "ranges", "threads"):
                line.pop(key)
            line["text"] = None
    profile["totals"]["cpu"]["python"] = None
    profile["memory"].pop("bin_s")
    profile["frames"].pop("thread")
    return profile


BUSY = {"id": "cpu.busy", "severity": "info", "count": None, "share": 0.5, "text": "The machine was busy: the program waited 5 of 10 s for a CPU.", "effect": None, "fix": None}


def lossy():
    profile = example()
    profile["quality"]["complete"] = False
    profile["quality"]["items"] = [{"id": "records", "severity": "error", "count": 12, "share": None, "text": "12 records found no room", "effect": "times are too low", "fix": "free disk space"}, BUSY]
    profile["meta"]["end"] = "running"
    return profile


def parts():
    """A traced pass without a GPU whose range is an operation of the suite: two of the lines ran in it."""
    profile = example()
    profile["ranges"][0].update(name="cone_back_project", cpu_s=0.3)
    profile["totals"].update(gpu_sum_s=0, gpu_busy_s=0)
    return profile


def idle_pool(profile):
    """A lock's row of threads of a pool that had no work."""
    return {**profile["locks"][0], "kind": "condition", "role": "work", "file": None, "line": None, "function": "blas_thread_server", "wait_s": 1.8, "holders": [], "unknown_s": None, "reason": None,
            "waited_s": [s * 1.8 / (sum(profile["locks"][0]["waited_s"]) or 1) for s in profile["locks"][0]["waited_s"]]}


LONG_NAME = "void back_project<std::vector<float, std::allocator<float>>, std::map<int, std::string>>(std::vector<float, std::allocator<float>>&, int)"


def waiting():
    """2.4 s of CPU time in 10 s, one thread; line 5 waited six of them and line 9 one."""
    profile = example()
    profile["meta"]["wall_s"] = 10.0
    profile["environment"]["launcher.cpus"] = "8"
    profile["totals"].update(gpu_sum_s=0, gpu_busy_s=0)
    profile["totals"]["cpu"]["samples"] = 24
    profile["threads"][0].update(user_s=2.1, sys_s=0.3)
    profile["unattributed"] = [{**profile["unattributed"][0], "module": f"/opt/{name}.so", "cpu": {"user": s, "sys": 0.0, "share": s / 2.4}} for name, s in (("few", 0.2), ("most", 0.4))]
    for path, file in profile["files"].items():
        for line in file["lines"]:
            line["cpu"]["wait"] = {("recon.py", 5): 6.0, ("recon.py", 9): 1.0}.get((path, line["line"]), 0.0)
    wait = {**profile["answers"][0], "kind": "wait", "line": 5, "text": "recon.py:5 `return np.load(path)` waits for input or output for 6 of the 10 s that the program ran.",
            "cost_s": 6.0, "share": 0.6, "of": "own time", "gain_s": 6.0, "advice": "Read ahead in a thread."}
    imports = {**wait, "kind": "imports", "line": 1, "function": None, "text": "Importing modules took 1 of 10 s (recon.py:1).", "gain_s": 1.0}
    profile["meta"]["command"] = [".../envs/analysis/bin/python", ".../projects/tomography/scripts/recon.py", "--slices", "128", "--out", "volume.h5"]
    profile["meta"]["started"] = "2026-11-28T11:12:47Z"
    profile["io"]["files"][0]["path"] = "~/.cache/jit/minimum-" + "77fefde7c153d55bfb520962732c263ea0992a671156df9c6324216b023bcfc6" * 2 + "-cache"
    for i, kind in enumerate(profile["frames"]["kind"]):
        if kind == "native":
            profile["frames"]["function"][i] = LONG_NAME
    profile["headline"] = wait["text"]
    profile["locks"] = [idle_pool(profile)]
    profile["answers"] = [wait, profile["answers"][0], imports, {**imports, "text": "the fourth"}]
    return profile


def untimed():
    """A capture that holds costs of stacks alone: no times, no samples."""
    profile = example()
    profile["meta"]["wall_s"] = None
    profile["totals"].update(gpu_sum_s=0, gpu_busy_s=0)
    profile["totals"]["cpu"]["samples"] = None
    profile["totals"]["wait"] = {kind: None for kind in profile["totals"]["wait"]}
    return profile


def blind():
    """A program without line tables."""
    profile = example()
    profile["totals"].update(gpu_sum_s=0, gpu_busy_s=0)
    profile["files"] = {}
    profile["findings"] = []
    profile["quality"].update(unattributed_cpu_share=1.0, complete=True, items=[BUSY])
    profile["answers"] = [{**profile["answers"][0], "file": None, "line": None, "function": "waves", "text": "waves (prog) takes 60 % of the CPU time (1.4 of 2.4 s)."}]
    profile["headline"] = profile["answers"][0]["text"]
    return profile


CYTHON = "__pyx_pf_4h5py_9_selector_6Reader_2read"


def add_frame(profile, function, file=None, line=None, module=None, kind="python", thread=None):
    for key, value in (("function", function), ("file", file), ("line", line), ("module", module), ("kind", kind), ("thread", thread)):
        profile["frames"][key].append(value)
    return len(profile["frames"]["kind"]) - 1


def add_stack(profile, parent, frame, cpu=0, wait=0):
    for key, value in (("parent", parent), ("frame", frame), ("cpu_ns", cpu), ("wait_ns", wait), ("gpu_ns", 0), ("alloc_bytes", 0)):
        profile["stacks"][key].append(value)
    return len(profile["stacks"]["frame"]) - 1


def add_track(profile, kind, process, thread, what, start, length):
    track = {**copy.deepcopy(profile["timeline"][0]), "kind": kind, "process": process, "thread": thread, "device": None, "context": None, "stream": None, "resolution_ns": 0,
             "events": {"start": [start], "length": [length], "busy": [length], "count": [1], "what": [what]}}
    profile["timeline"].append(track)


def threads():
    """The example in two processes: a worker that computes 240 ms and waits in a futex below Python, a second process that computes 300 ms, a thread
    that does nothing to speak of, an import of 100 ms in a package that is not the program's. All sums are those of the example."""
    p = example()
    stacks = p["stacks"]
    worker, other = add_frame(p, "worker", kind="thread", thread=1), add_frame(p, "python3", kind="thread", thread=2)
    stacks["cpu_ns"][6] -= 240_000_000  # filter_rows, recon.py:9
    stacks["cpu_ns"][5] -= 300_000_000  # filter_rows, recon.py:8
    stacks["cpu_ns"][7] -= 100_000_000  # main, recon.py:15
    root = add_stack(p, None, worker)
    computes = add_stack(p, root, 6, cpu=240_000_000)
    at = add_stack(p, root, 2)
    for name in (CYTHON, "__Pyx_PyObject_Call"):
        at = add_stack(p, at, add_frame(p, name, module="site-packages/h5py/_selector.so", kind="native"))
    waits = add_stack(p, at, add_frame(p, "__futex_abstimed_wait_common", module="libc.so.6", kind="native"), wait=300_000_000)
    at = add_stack(p, None, other)
    for name in ("_start", "Py_RunMain"):
        at = add_stack(p, at, add_frame(p, name, module="python3", kind="native"))
    second = add_stack(p, add_stack(p, at, 1), 5, cpu=300_000_000)
    at = add_stack(p, 1, add_frame(p, "_find_and_load", "<frozen importlib._bootstrap>", 1176))
    add_stack(p, at, add_frame(p, "<module>", "site-packages/numpy/__init__.py", 1), cpu=100_000_000)

    lines = {line["line"]: line for line in p["files"]["recon.py"]["lines"]}
    lines[8]["threads"] = [{**lines[8]["threads"][0], "cpu_s": 0.6, "cpu_incl_s": 0.6}, {"thread": 2, "cpu_s": 0.3, "cpu_incl_s": 0.3, "wait_s": 0.0, "gpu_s": 0.0}]
    package = copy.deepcopy(p["files"]["recon.py"])
    package.update(user=False, cpu_share=0.1 / 2.4, gpu_share=0.0, length=1, functions=[{**package["functions"][0], "name": "<module>", "line": 1}], source={"line": [], "text": []})
    package["lines"] = [{**copy.deepcopy(lines[14]), "line": 1, "text": "import core", "function": 0}]
    p["files"]["recon.py"]["cpu_share"] -= 0.1 / 2.4
    for key in ("cpu", "cpu_incl"):
        for part in ("user", "sys", "share", "python", "native", "samples"):
            if part in lines[14][key]:
                lines[14][key][part] = 0
    lines[14]["threads"] = []
    p["files"]["site-packages/numpy/__init__.py"] = package
    p["files"]["lib/python3.11/queue.py"] = {**copy.deepcopy(package), "cpu_share": 0.0, "lines": []}

    p["processes"].append({**p["processes"][0], "pid": 4720, "parent": 4711, "cpu_s": 0.3, "peak_rss_mb": 300.0})
    p["processes"][0]["cpu_s"] = 2.1
    p["threads"][0]["user_s"] -= 0.3
    p["threads"] += [{**p["threads"][0], "process": 1, "tid": 4720, "name": "python3", "user_s": 0.3, "sys_s": 0.0, "wait_s": 0.0}, {**p["threads"][1], "tid": 4713, "name": "idle", "user_s": 0.0, "wait_s": 1.9}]
    add_track(p, "cpu", 0, 1, computes, 0, 240_000_000)
    add_track(p, "wait", 0, 1, waits, 300_000_000, 1_500_000_000)
    add_track(p, "cpu", 1, 2, second, 500_000_000, 300_000_000)
    add_track(p, "wait", 0, 3, waits, 0, 1_900_000_000)
    p["locks"].append(idle_pool(p))
    p["io"]["unseen_write_mb"] = -0.198  # the kernel had not yet counted what the program had written
    p["memory"]["series"].append({"process": 1, "t_s": [0.5, 1.0, 1.5], "rss_mb": [100, 300, 300], "heap_mb": [0, 0, 0]})
    p["io"]["reading"] = [{"file": "recon.py", "line": 5, "mb": 128.0, "calls": 3.0, "storage_s": 0.012, "ready_s": 0.024, "network_s": 0.0, "copy_s": 0.004, "decode_s": 0.11,
                           "unnamed_s": 0.0, "codec": "zlib", "convert_s": 0.05, "place_s": 0.06, "other_s": 0.08}]
    return p


def pool():
    """The example whose line recon.py:9 waits 400 ms while a thread of a pool runs a package's Python for 240 ms of its time; the thread waits before and after."""
    p = example()
    p["totals"].update(gpu_sum_s=0, gpu_busy_s=0)
    stacks, own = p["stacks"], p["own"]
    root = add_stack(p, None, add_frame(p, "worker", kind="thread", thread=1))
    runs = add_stack(p, root, add_frame(p, "run_task", "site-packages/lib/pool.py", 7), cpu=240_000_000)
    idle = add_stack(p, root, add_frame(p, "get", "lib/python3.11/queue.py", 171), wait=500_000_000)
    stacks["cpu_ns"][6] -= 240_000_000  # filter_rows, recon.py:9
    stacks["wait_ns"][10] -= 400_000_000
    stacks["wait_ns"][6] += 400_000_000
    lines = {line["line"]: line for line in p["files"]["recon.py"]["lines"]}
    for key in ("cpu", "cpu_incl"):
        lines[9][key]["user"] -= 0.24
    package = copy.deepcopy(p["files"]["recon.py"])
    package.update(user=False, cpu_share=0.1, length=9, functions=[{**package["functions"][0], "name": "run_task", "line": 6}], source={"line": [], "text": []})
    package["lines"] = [{**copy.deepcopy(lines[9]), "line": 7, "text": "task.run()", "function": 0, "live_mb": [], "threads": []}]
    for key in ("cpu", "cpu_incl"):
        package["lines"][0][key]["user"] = 0.24
    p["files"]["site-packages/lib/pool.py"] = package
    own["cpu_ns"][6] -= 240_000_000
    workers = {"parent": 6, "kind": "workers", "cpu_ns": 240_000_000, "samples": 24}
    lazy = {"parent": 6, "kind": "import", "cpu_ns": 20_000_000, "samples": 2}  # the line does much else
    own["cpu_ns"][6] -= 20_000_000
    for row in (workers, lazy):
        for key, column in own.items():
            column.append(row.get(key, 0 if key.endswith("_ns") else None))
    main = p["timeline"][0]["events"]
    kept = sum(1 for i in range(len(main["start"])) if sum(main["start"][: i + 1]) + main["length"][i] <= 1_450_000_000)
    p["timeline"][0]["events"] = {key: column[:kept] for key, column in main.items()}
    p["timeline"][1]["events"]["what"] = [6]
    add_track(p, "cpu", 0, 1, runs, 1_500_000_000, 240_000_000)
    add_track(p, "wait", 0, 1, idle, 1_000_000_000, 900_000_000)
    return p


def long(n=100_000):
    """A file of n lines, a fiftieth of them profiled; the first three are a text over several lines."""
    p = example()
    file = p["files"]["recon.py"]
    texts = ['"""What it does', "def return 1", 'to the end"""'] + [f"x = {i}" for i in range(4, n + 1)]
    some = {**file["lines"][1], "live_mb": [], "threads": []}
    file["lines"] = [{**some, "line": i, "text": texts[i - 1]} for i in range(50, n + 1, 50)]
    kept = [i for i in range(1, n + 1) if i % 50]
    file["source"] = {"line": kept, "text": [texts[i - 1] for i in kept]}
    file["length"] = n
    p["files"] = {"long.py": file}
    return p


def crowd(functions=100_000, threads=500):
    """Many functions on many threads: a caller in each thread, with callees of one sample each."""
    p = example()
    p["frames"] = {key: [] for key in p["frames"]}
    p["stacks"] = {key: [] for key in p["stacks"]}
    p["threads"] = [{**p["threads"][0], "tid": 10_000 + i, "main": i == 0, "user_s": functions / threads * 0.01, "sys_s": 0.0} for i in range(threads)]
    before = len(p["timeline"])
    for i in range(threads):
        at = add_stack(p, None, add_frame(p, "python3", kind="thread", thread=i))
        at = add_stack(p, at, add_frame(p, f"caller_{i % 7}", "recon.py", 8))
        first = len(p["stacks"]["frame"])
        for k in range(functions // threads):
            add_stack(p, at, add_frame(p, f"function_{i}_{k}", "recon.py", 9), cpu=10_000_000 + 1000 * k)
        n = functions // threads
        add_track(p, "cpu", 0, i, first, 0, 10_000_000)
        p["timeline"][-1]["events"] = {"start": [0] + [20_000_000] * (n - 1), "length": [10_000_000 + 1000 * k for k in range(n)], "busy": [10_000_000 + 1000 * k for k in range(n)], "count": [1] * n, "what": list(range(first, first + n))}
    p["timeline"] = p["timeline"][before:]
    p["meta"]["wall_s"] = 20_000_000 * (functions // threads) * 1e-9
    return p


def interrupted(timing):
    timing = copy.deepcopy(timing)
    timing["interrupted"] = True
    for row in timing["measurements"][20:40]:
        row.update(status="failed", time=None, reason="killed by signal 9 (SIGKILL): out of memory?")
    timed = next(row for row in timing["measurements"] if row["status"] == "ok" and not row["traced"])
    timing["measurements"].append({**timed, "run": 1000, "traced": True, "status": "failed", "time": None, "reason": "killed in the traced pass"})
    return timing


def make(folder):
    """{name: folder of the run with its report.html}; the suite's is real, of two small sizes."""
    folder = pathlib.Path(folder)
    done = tomoprof("run", "--sizes", "16,24", "--out", folder / "suite")
    if done.returncode:
        sys.exit(f"the suite failed: {done.stderr}")
    suite = newest(folder / "suite")
    timing = json.loads((suite / "timing.json").read_text())
    runs = {"both": (example(), timing), "profile": (example(), None), "timing": (None, timing), "hostile": (hostile(example()), None), "million": (million(), None),
            "old": (old(), None), "lossy": (lossy(), interrupted(timing)),
            "parts": (parts(), timing), "waiting": (waiting(), None), "untimed": (untimed(), None), "blind": (blind(), None), "threads": (threads(), None), "pool": (pool(), None), "long": (long(), None), "crowd": (crowd(), None)}
    pages = {"suite": suite}
    for name, (profile, times) in runs.items():
        pages[name] = folder / name
        pages[name].mkdir()
        if profile:
            write_json(pages[name] / "profile.json", profile)
        if times:
            write_json(pages[name] / "timing.json", times)
    done = tomoprof("triage", pages["both"])
    if done.returncode:
        sys.exit(f"tomoprof triage both: exit {done.returncode}: {done.stderr}")
    write_json(pages["hostile"] / "triage.json", hostile(json.loads((suite / "triage.json").read_text())))
    for page in pages.values():
        done = tomoprof("report", page)
        if done.returncode or not (page / "report.html").is_file():
            sys.exit(f"tomoprof report {page.name}: exit {done.returncode}: {done.stderr}")
    pages["trace"] = folder / "trace"  # 1 million events, as they were recorded: 500,000 kernels and as many samples
    subprocess.run([pathlib.Path(TOMOPROF).resolve().parent / "tests" / "bench_analyze", pages["trace"], "500000"], check=True, timeout=300)
    done = tomoprof("report", pages["trace"])
    if done.returncode:
        sys.exit(f"tomoprof report trace: exit {done.returncode}: {done.stderr}")
    pages["compare"] = folder / "compare"
    pages["compare"].mkdir()
    subprocess.run([TOMOPROF, "compare", folder / "both", folder / "lossy", "--out", pages["compare"] / "report.html"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    (pages["compare"] / "compare.json").write_text(tomoprof("compare", "--json", folder / "both", folder / "lossy").stdout)
    other, pages["beside"] = folder / "other", folder / "beside"  # another tool's capture in the page of the run
    done = tomoprof("import", "--out", other, DATA / "import" / "three_parts.perf.txt")
    if done.returncode:
        sys.exit(f"tomoprof import: {done.stderr}")
    pages["import"] = other / os.readlink(other / "latest")
    done = tomoprof("import", "--out", folder / "counts", DATA / "import" / "pyspy.folded")
    if done.returncode:
        sys.exit(f"tomoprof import pyspy.folded: {done.stderr}")
    pages["folded"] = folder / "counts" / os.readlink(folder / "counts" / "latest")
    pages["beside"].mkdir()
    shutil.copy(folder / "both" / "profile.json", pages["beside"])
    done = tomoprof("compare", "--json", pages["beside"], pages["import"])
    (pages["beside"] / "compare.json").write_text(done.stdout)
    done = tomoprof("report", pages["beside"])
    if done.returncode:
        sys.exit(f"tomoprof report beside: {done.stderr}")
    for form in ("speedscope", "chrome", "perfetto"):
        subprocess.run([TOMOPROF, "export", folder / "both", "--to", form, "--out", folder / f"{form}.json"], check=True, stderr=subprocess.DEVNULL, timeout=300)
    return pages
