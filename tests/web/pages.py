"""The runs whose reports the browser tests open."""

import copy
import json
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipe"))
from tool import DATA, TOMOPROF, tomoprof, write_json  # noqa: E402

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
    for key in ("findings", "ranges", "apis", "gpu", "memsets", "processes", "threads"):
        profile.pop(key)
    for file in profile["files"].values():
        file["functions"] = []
        for key in ("length", "source"):
            file.pop(key)
        for line in file["lines"]:
            for key in ("scalene", "live_mb", "ranges"):
                line.pop(key)
            line["text"] = None
    profile["totals"]["cpu"]["python"] = None
    profile["memory"].pop("bin_s")
    return profile


def lossy():
    profile = example()
    profile["quality"]["complete"] = False
    profile["quality"]["items"] = [{"id": "records", "severity": "error", "count": 12, "share": None, "text": "12 records found no room", "effect": "times are too low", "fix": "free disk space"}]
    profile["meta"]["end"] = "running"
    return profile


def parts():
    """A traced pass without a GPU whose range is an operation of the suite: two of the lines ran in it."""
    profile = example()
    profile["ranges"][0].update(name="cone_back_project", cpu_s=0.3)
    profile["totals"].update(gpu_sum_s=0, gpu_busy_s=0)
    return profile


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
    return profile


def blind():
    """A program without line tables."""
    profile = example()
    profile["totals"].update(gpu_sum_s=0, gpu_busy_s=0)
    profile["files"] = {}
    profile["findings"] = []
    profile["quality"]["unattributed_cpu_share"] = 1.0
    return profile


def interrupted(timing):
    timing = copy.deepcopy(timing)
    timing["interrupted"] = True
    for row in timing["measurements"][20:40]:
        row.update(status="failed", time=None, reason="killed by signal 9 (SIGKILL): out of memory?")
    return timing


def make(folder):
    """{name: folder of the run with its report.html}; the quick suite is real."""
    folder = pathlib.Path(folder)
    done = tomoprof("run", "--quick", "--out", folder / "suite")
    if done.returncode:
        sys.exit(f"the quick suite failed: {done.stderr}")
    suite = folder / "suite" / (folder / "suite" / "latest").read_text().strip()
    timing = json.loads((suite / "timing.json").read_text())
    runs = {"both": (example(), timing), "profile": (example(), None), "timing": (None, timing), "hostile": (hostile(example()), None), "million": (million(), None),
            "old": (old(), None), "lossy": (lossy(), interrupted(timing)),
            "parts": (parts(), timing), "waiting": (waiting(), None), "blind": (blind(), None)}
    pages = {"suite": suite}
    for name, (profile, times) in runs.items():
        pages[name] = folder / name
        pages[name].mkdir()
        if profile:
            write_json(pages[name] / "profile.json", profile)
        if times:
            write_json(pages[name] / "timing.json", times)
    for name in ("suite", "both"):
        done = tomoprof("triage", pages[name])
        if done.returncode:
            sys.exit(f"tomoprof triage {name}: exit {done.returncode}: {done.stderr}")
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
    for form in ("speedscope", "chrome"):
        subprocess.run([TOMOPROF, "export", folder / "both", "--to", form, "--out", folder / f"{form}.json"], check=True, stderr=subprocess.DEVNULL, timeout=300)
    return pages
