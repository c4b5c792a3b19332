#!/usr/bin/env python3
"""Proves the recorder on a machine with a GPU: python3 tests/gpu/capture.py BUILD OUT --seconds N.

Every program of programs/ runs bare and recorded, says itself what it did, and the recording must say the same
(capture_judge.py). OUT/capture.json has a row for each with status passed, failed or skipped and the reason; OUT/traces/NAME
a recording of at most 2 MB with what it must add up to. Exit 1 when a row failed, 77 when no GPU works here."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from capture_judge import Recording, judge  # noqa: E402

FIXTURE_BYTES = 2 << 20
SUITE_SIZE = 64


class Skip(Exception):
    """The row cannot be had here, for the reason that it says."""


class Failure(Exception):
    pass


class Session:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.build, self.out = options.build.resolve(), options.out.resolve()
        self.tool, self.rows = self.build / "tomoprof", []
        self.end = time.monotonic() + options.seconds
        self.environment = dict(os.environ, PYTHONPATH=str(HERE / "programs"))
        if (self.build / "lib").is_dir():
            self.environment["LD_LIBRARY_PATH"] = ":".join(
                [str(self.build / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        self.known_program = options.known

    def run(self, words, limit=120, env=None):
        limit = min(limit, self.end - time.monotonic())
        if limit < 3:
            raise Skip("the time that --seconds gives is used up")
        return subprocess.run(list(map(str, words)), env=dict(self.environment, **(env or {})), timeout=limit,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def bare(self, words, env=None):
        """(finished process, the program's truth, seconds)"""
        truth, begin = self.work / "bare.json", time.monotonic()
        truth.unlink(missing_ok=True)
        done = self.run(words, env={"TRUTH": str(truth), **(env or {})})
        return done, load(truth), time.monotonic() - begin

    def record(self, name, words, *options, env=None):
        """(finished process, truth, folder of the run)"""
        folder, truth = self.work / name, self.work / f"{name}.json"
        shutil.rmtree(folder, ignore_errors=True)
        truth.unlink(missing_ok=True)
        done = self.run([self.tool, "record", "--out", folder, *options, "--", *words], env={"TRUTH": str(truth), **(env or {})})
        if not (folder / "latest").exists():
            raise Failure(f"tomoprof record made no run: {last_line(done.stderr)}")
        return done, load(truth), newest(folder)

    def known(self):
        """The CUDA C program, built for the GPU that is here."""
        if not self.known_program:
            nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
            if not pathlib.Path(nvcc).exists():
                raise Skip("nvcc is not installed")
            program = self.work / "known"
            done = self.run([nvcc, "-O2", "-g", "-lineinfo", "-arch=native", "-o", program, HERE / "programs/known.cu", "-ldl"], 200)
            if done.returncode:
                raise Failure(f"nvcc: {last_line(done.stderr + done.stdout)}")
            self.known_program = program
        return self.known_program

    def row(self, name, step):
        begin, row = time.monotonic(), {"program": name, "status": "passed", "reason": ""}
        try:
            row.update(step(self) or {})
        except Skip as reason:
            row.update(status="skipped", reason=str(reason))
        except Exception as error:  # the machine is borrowed for minutes: the other rows still count
            row.update(status="failed", reason=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())
        if row.get("wrong"):
            row.update(status="failed", reason="; ".join(row["wrong"][:4]))
        row["seconds"] = round(time.monotonic() - begin, 2)
        self.rows.append(row)
        print(f"{row['status']:8} {name} {row['reason']}", flush=True)
        self.write()

    def write(self):
        rows = {"schema": "tomoprof-gpu-capture/1", "rows": self.rows}
        (self.out / "capture.json").write_text(json.dumps(rows, indent=1) + "\n")


def newest(out):
    """The run that OUT/latest leads to."""
    return out / os.readlink(out / "latest")


def load(path):
    with contextlib.suppress(FileNotFoundError):
        return json.loads(path.read_text())
    return None


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def same_outcome(bare, recorded):
    if bare.returncode != recorded.returncode:
        yield f"exit code {bare.returncode} bare, {recorded.returncode} recorded: {last_line(recorded.stderr)}"
    if bare.stdout != recorded.stdout:
        yield "stdout differs when recorded"


def keep(s, name, run, truth, facts):
    """The recording for CI, cut to FIXTURE_BYTES: readers repair the end of a file that was cut."""
    to, left = s.out / "traces" / name, FIXTURE_BYTES - (64 << 10)
    shutil.rmtree(to, ignore_errors=True)
    (to / "trace").mkdir(parents=True)
    cut = []
    for path in sorted((run / "trace").iterdir(), key=lambda p: p.stat().st_size):
        data = path.read_bytes()
        if len(data) > left:
            cut.append(path.name)
        (to / "trace" / path.name).write_bytes(data[:left])
        left -= min(left, len(data))
    if (run / "record.json").exists():  # `tomoprof run` writes none
        shutil.copy(run / "record.json", to)
    totals = json.loads((run / "profile.json").read_text())["totals"]
    (to / "expected.json").write_text(json.dumps({"truth": truth, "totals": totals, "facts": facts, "cut": cut}, indent=1) + "\n")


def compare(s, name, words, source, *options):
    """One program bare and recorded, its own truth against ours."""
    bare, _, _ = s.bare(words)
    recorded, truth, run = s.record(name, words, *options)
    if truth is None:
        raise Failure(f"the program told nothing: {last_line(recorded.stdout + recorded.stderr)}")
    wrong, facts = judge(Recording(run, source), truth)
    wrong = list(same_outcome(bare, recorded)) + wrong
    keep(s, name, run, truth, facts)
    return {"wrong": wrong, **facts}


def overhead(s, words, pairs):
    """Seconds of wall time of the program, bare and recorded in turn; what the library holds on the device."""
    bare, recorded, used = [], [], [0, 0]
    for _ in range(pairs):
        _, truth, seconds = s.bare(words)
        bare.append(seconds)
        used[0] = device_used(truth)
        _, truth, run = s.record("pair", words, "--no-analysis")
        recorded.append(json.loads((run / "record.json").read_text())["end"]["wall_s"])
        used[1] = device_used(truth)
    if not pairs:
        return None
    return {"pairs": pairs, "bare_s": bare, "recorded_s": recorded, "least": min(recorded) / min(bare) - 1,
            "median": statistics.median(recorded) / statistics.median(bare) - 1, "device_bytes": used[1] - used[0]}


def device_used(truth):
    return sum(row["bytes"] for row in truth or [] if row["what"] == "device_used")


def known(s):
    return compare(s, "known", [s.known()], "known.cu")


def short(s):
    """Launch-heavy: paired runs first, then the many."""
    few = max(s.options.short // 10, 1)
    costs = overhead(s, [s.known(), "--short", few], s.options.pairs)
    row = compare(s, "short", [s.known(), "--short", s.options.short], "known.cu")
    return {**row, "overhead": costs}


def python_program(name):
    def step(s):
        script = HERE / f"programs/{name}_lines.py"
        found = s.run([sys.executable, "-c", f"import {name}"])
        if found.returncode:
            raise Skip(f"{name} cannot be imported: {last_line(found.stderr)}")
        return compare(s, name, [sys.executable, script], script.name)
    return step


def operations(timing, ranges):
    """{operation: seconds of its recorded runs by timing.json and of the device from the first to the last piece of work}"""
    found = {}
    for row in timing["measurements"]:
        if row["traced"] and row["status"] == "ok":
            o = found.setdefault(row["operation"], {"wall_s": 0, "gpu_s": ranges.get(row["operation"], {}).get("gpu_projected_s")})
            o["wall_s"] += row["time"]
    return found


def suite(s):
    """Our own operations: timing.json against the recording of the same processes."""
    folder = s.work / "suite"
    words = [s.tool, "run", "--backend", "cuda", "--sizes", SUITE_SIZE, "--runs", 3, "--out", folder]
    done = s.run(words, 200)
    if done.returncode == 2:
        raise Skip(f"this build has no CUDA back end: {last_line(done.stderr)}")
    if done.returncode:
        raise Failure(f"exit code {done.returncode}: {last_line(done.stderr)}")
    run = newest(folder)
    r = Recording(run, "")
    facts = {"kernels": {"ours": r.profile["totals"]["kernels"], "own": None}, "unattributed_share": r.unattributed(),
             "drops": r.drops(), "callbacks": r.callback_ns(), "gpu_s": {"ours": r.profile["totals"]["gpu_sum_s"]}}
    wrong = r.drops() + [c["text"] for c in r.profile["quality"]["checks"] if not c["ok"]]
    if not r.profile["totals"]["kernels"]:
        wrong.append("no kernel was recorded: " + "; ".join(r.notes()))
    if r.profile["totals"]["no_origin_n"]:
        wrong.append(f"{r.profile['totals']['no_origin_n']} operations belong to no call")
    timing, ranges = json.loads((run / "timing.json").read_text()), {x["name"]: x for x in r.profile["ranges"]}
    facts["operations"] = operations(timing, ranges)
    for name, o in facts["operations"].items():
        if o["gpu_s"] is None or not 0 < o["gpu_s"] <= o["wall_s"] * 1.02:
            wrong.append(f"{name} took {o['wall_s']:.6g} s by timing.json, its GPU work {o['gpu_s']} s")
    for name in ("report.html", "timing.json"):
        shutil.copy(run / name, s.out / name)
    keep(s, "suite", run, None, facts)
    bare = s.run([*words[:-1], s.work / "bare", "--no-trace"], 200)
    if bare.returncode != done.returncode:
        wrong.append(f"exit code {bare.returncode} without recording, {done.returncode} with it")
    return {"wrong": wrong, **facts}


def mbirjax(s):
    if s.run([sys.executable, "-c", "import mbirjax"]).returncode:
        raise Skip("mbirjax cannot be imported")
    words = [sys.executable, HERE.parent / "capture/mbirjax_cone.py", 32, 3]
    one = {"XLA_FLAGS": "--xla_force_host_platform_device_count=1"}  # MBIRJAX shards over all devices that it sees
    bare, _, _ = s.bare(words, one)
    recorded, _, run = s.record("mbirjax", words, env=one)
    r = Recording(run, "mbirjax_cone.py")
    wrong = list(same_outcome(bare, recorded)) + r.drops()
    if not r.profile["totals"]["kernels"]:
        wrong.append("no kernel was recorded: " + "; ".join(r.notes()))
    facts = {"kernels": {"ours": r.profile["totals"]["kernels"], "own": None}, "unattributed_share": r.unattributed(),
             "gpu_s": {"ours": r.profile["totals"]["gpu_sum_s"]}, "drops": r.drops(), "callbacks": r.callback_ns()}
    keep(s, "mbirjax", run, None, facts)
    return {"wrong": wrong, **facts}


def sentence(r, words):
    """The recording's sentence that holds all these words."""
    found = [text for text in r.notes() if all(word in text for word in words)]
    return found[0] if found else None


def no_device(s):
    """CUDA_VISIBLE_DEVICES empty: the program fails as it does bare, and the profile says why it has no GPU work."""
    env = {"CUDA_VISIBLE_DEVICES": ""}
    bare, _, _ = s.bare([s.known()], env)
    recorded, _, run = s.record("no_device", [s.known()], env=env)
    said = sentence(Recording(run, "known.cu"), ["CUDA_VISIBLE_DEVICES"])
    return {"wrong": list(same_outcome(bare, recorded)) + ([] if said else ["no sentence names CUDA_VISIBLE_DEVICES"]), "said": said}


def children(s):
    """A process for each GPU task, all of them children of a shell."""
    shell = "for i in 1 2 3; do TRUTH=$TRUTH.$i $0 || exit; done; $0"
    recorded, truth, run = s.record("children", ["sh", "-c", shell, s.known()])
    r, own = Recording(run, "known.cu"), sum(row["n"] for row in truth or [] if row["what"] in ("kernel", "timed"))
    ours, processes = r.profile["totals"]["kernels"], len([t for t in r.raw if t.kernel])
    wrong = [] if own and ours == 4 * own and processes == 4 else [f"4 x {own} kernels in 4 processes, recorded {ours} in {processes}"]
    return {"wrong": wrong + r.drops(), "kernels": {"ours": ours, "own": 4 * own}}


def killed(s):
    recorded, truth, run = s.record("killed", [s.known(), "--kill"])
    r, own = Recording(run, "known.cu"), sum(row["n"] for row in truth or [] if row["what"] in ("kernel", "timed"))
    ours, said = r.profile["totals"]["kernels"], sentence(r, ["did not say how they ended"])
    wrong = [] if recorded.returncode in (137, -9) else [f"exit code {recorded.returncode} after SIGKILL"]
    if not own or ours != own:
        wrong.append(f"{own} kernels ended a second before the kill, recorded {ours}")
    return {"wrong": wrong + ([] if said else ["no sentence says that the process was killed"]), "said": said,
            "kernels": {"ours": ours, "own": own}}


def reset(s):
    """cudaDeviceReset before the end discards what CUPTI still holds."""
    return compare(s, "reset", [s.known(), "--reset"], "known.cu")


def unprivileged(s):
    """Kernels need no counter privilege: the same as nobody, without capabilities."""
    if not shutil.which("setpriv") or os.geteuid():
        raise Skip("needs root and setpriv")
    os.chmod(s.work, 0o777)
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
    if s.run([*drop, s.tool, "--version"]).returncode:
        raise Skip("nobody may not run the build")
    probe = s.run([*drop, s.known()])
    if probe.returncode:
        raise Skip(f"nobody may not use the device: {last_line(probe.stdout + probe.stderr)}")
    folder = s.work / "unprivileged"
    done = s.run([*drop, s.tool, "record", "--out", folder, "--", s.known()], env={"TRUTH": str(s.work / "unprivileged.json")})
    run = newest(folder)
    wrong, facts = judge(Recording(run, "known.cu"), load(s.work / "unprivileged.json") or [])
    return {"wrong": wrong + ([] if done.returncode == 0 else [f"exit code {done.returncode}"]), **facts}


def kernel_lines(s):
    """Samples inside kernels: `spin` spends its time in its loop. Where the driver keeps the counters, a sentence says so."""
    done, truth, run = s.record("kernel_lines", [s.known()], "--kernel-lines")
    wrong, facts = judge(Recording(run, "known.cu"), truth or [])
    profile = load(run / "profile.json")
    said = [item["text"] for item in profile["quality"]["items"] if "inside kernels" in item["text"]]
    spin = [row for row in profile["device_lines"] if profile["kernels"][row["kernel"]]["name"].startswith("spin")]
    if not spin and not said:
        wrong.append("no sample inside a kernel, and no sentence says why")
    known_lines = [row for row in spin if row["line"]]
    if known_lines:
        source = (HERE / "programs/known.cu").read_text().splitlines()
        at = max(known_lines, key=lambda row: row["samples"])["line"]
        if "clock64" not in source[at - 1] and "clock64" not in source[at - 2]:
            wrong.append(f"most samples of spin are at line {at}: {source[at - 1].strip()}")
    wrong += [] if done.returncode == 0 else [f"exit code {done.returncode}"]
    return {"wrong": wrong, "said": said, "samples": sum(row["samples"] for row in spin), **facts}


def other_client(s):
    """torch.profiler inside the program: either it goes without CUPTI and we have all, or we say who has it."""
    if s.run([sys.executable, "-c", "import torch"]).returncode:
        raise Skip("torch cannot be imported")
    recorded, truth, run = s.record("other_client", [sys.executable, HERE / "programs/torch_lines.py", "profiler"])
    r = Recording(run, "torch_lines.py")
    wrong, facts = judge(r, truth or [])
    said = sentence(r, ["another profiler"])
    facts["said"] = said or "the recording is complete" if not wrong else said
    return {"wrong": [] if said else wrong, **facts}


def old_cupti(s):
    """CUPTI of CUDA 12 with today's driver: fewer calls, shorter records."""
    if not s.options.old_cupti:
        raise Skip("no libcupti.so.12 was given by --old-cupti")
    s.environment["TOMOPROF_CAPTURE_CUPTI"] = str(s.options.old_cupti)
    try:
        return compare(s, "old_cupti", [s.known()], "known.cu")
    finally:
        s.environment.pop("TOMOPROF_CAPTURE_CUPTI")


def nsys(s):
    tool = shutil.which("nsys")
    if not tool:
        raise Skip("nsys is not installed")
    done = s.run([tool, "profile", "-o", s.work / "nsys", "--", s.tool, "record", "--out", s.work / "both", "--", s.known()])
    run = newest(s.work / "both")
    said = sentence(Recording(run, "known.cu"), ["another"])
    return {"wrong": [] if said and not done.returncode else [f"exit {done.returncode}, no sentence names nsys"], "said": said}


STEPS = {"known": known, "suite": suite, "torch": python_program("torch"), "cupy": python_program("cupy"), "jax": python_program("jax"),
         "short": short, "no_device": no_device, "killed": killed, "children": children, "reset": reset, "other_client": other_client,
         "unprivileged": unprivileged, "kernel_lines": kernel_lines, "mbirjax": mbirjax, "old_cupti": old_cupti, "nsys": nsys}


def has_device(s):
    """None, or why there is no GPU: asked of the back end and of nvidia-smi."""
    smi = shutil.which("nvidia-smi")
    if smi and s.run([smi, "-L"]).returncode == 0:
        return None
    return "nvidia-smi finds no GPU" if smi else "no nvidia-smi, so no driver"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=400, help="the whole takes no longer")
    parser.add_argument("--only", default=",".join(STEPS), help="rows, by their names: %(default)s")
    parser.add_argument("--known", type=pathlib.Path, help="the CUDA program, built already; then no GPU is asked for")
    parser.add_argument("--short", type=int, default=1_000_000, help="kernels of the launch-heavy program")
    parser.add_argument("--pairs", type=int, default=5, help="of bare and recorded runs")
    parser.add_argument("--old-cupti", type=pathlib.Path, help="a libcupti.so.12")
    options = parser.parse_args()
    names = options.only.split(",")
    if set(names) - set(STEPS):
        parser.error(f"no such row: {', '.join(sorted(set(names) - set(STEPS)))}")
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        s = Session(options, pathlib.Path(work))
        missing = None if options.known else has_device(s)
        if missing:
            print(f"skipped: {missing}")
            return 77
        for name in names:
            s.row(name, STEPS[name])
    return 1 if any(row["status"] == "failed" for row in s.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
