"""What check.sh runs. The steps are a table, in the order of what is worth most; the limit cuts the last ones."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import clocks
import figures
import settings as settings_of
from runner import Runner, Step

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROOM = 40e9   # bytes: the arrays of all cells, twice
LOG = 20_000  # characters kept of each log, from its end


def python(script, *words):
    return [sys.executable, HERE / script, *words]


def served():
    """The major version of CUDA that the driver serves; 0 without one."""
    version = ctypes.c_int(0)
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        pass
    return version.value // 1000


def toolkits(build, most):
    """Folders of nvcc and compute-sanitizer of the toolkits that built the back end, the newest that the driver serves first."""
    cache = build / "CMakeCache.txt"
    found = re.findall(r"^TP_CUDA(\d+)_NVCC:INTERNAL=(.+)/nvcc$", cache.read_text(), re.M) if cache.exists() else []
    return [path for major, path in sorted(found, key=lambda row: (int(row[0]) > most, -int(row[0])))]


def environment_of(build):
    """The libraries that lie beside the packed programs, and those of NVIDIA's Python packages, under their own names: those
    of CUDA 12 and of CUDA 13 differ."""
    found = dict(os.environ, TOMOPROF_TEST_BACKEND="cuda", TP_DATA=str(ROOT / "tests/data"), TOMOPROF=str(build / "tomoprof"),
                 PYTHONDONTWRITEBYTECODE="1")
    libraries = [str(build / "lib")] if (build / "lib").is_dir() else []
    libraries += [p for p in [os.environ.get("LD_LIBRARY_PATH")] if p]
    libraries += sorted({str(path.parent) for folder in sys.path for name in ("libcufft.so.1?", "libcupti.so.1?")
                         for path in pathlib.Path(folder or ".").glob(f"nvidia/*/lib/{name}")})
    if libraries:
        found["LD_LIBRARY_PATH"] = ":".join(libraries)
    found["PATH"] = ":".join([*toolkits(build, served()), os.environ.get("PATH", os.defpath), str(build / "sanitizer/bin")])
    return found


def correctness(build, s, path=None):
    """Steps that time nothing. `path`: where programs are looked for."""
    few = {"TOMOPROF_TEST_CASES": s["cases"]} if s["cases"] else {}
    steps = [Step(f"operators_{name}", [build / f"tests/test_{name}"], s["test_seconds"], few) for name in s["tests"]]
    fingerprints = [sys.executable, ROOT / "tests/operators/goldens/test_fingerprints.py"]
    steps.append(Step("fingerprints", fingerprints if s["fingerprints"] else "the settings leave it out", 60))
    program = build / "tomoprof"
    for what, cell, seconds in (("bits", s["equal_cell"], 60), ("slabs", s["slab_cell"], 60)):
        steps.append(Step(f"same_{what}", lambda work, what=what, cell=cell:
                          python("same.py", what, program, cell, work / f"cell_{what}"), seconds))
    tool = shutil.which("compute-sanitizer", path=path) or "/usr/local/cuda/bin/compute-sanitizer"
    steps.append(Step("load_device", lambda work: python("loaded.py", program, s["load_cell"], work / "cell_load"), 60))
    for kind in s["sanitizers"]:
        command = [tool, "--tool", kind, "--error-exitcode", "9", build / "tests/test_project"]
        steps.append(Step(f"sanitizer_{kind}", command if pathlib.Path(tool).exists() else "compute-sanitizer is not installed",
                          90, {"TOMOPROF_TEST_CASES": s["small_cases"]}))
    return steps


def timed(build, s):
    """Steps that have the machine for themselves."""
    program, suite = build / "tomoprof", [build / "tomoprof", "run", "--backend", "cuda", "--no-trace"]

    def timing(cell):
        return Step(f"timing_{cell}", lambda work: python("timing.py", program, cell, work / f"cell_{cell}",
                                                          work / f"timing_{cell}.json", work / "settings.json"), 170)

    def peer(name, cell):
        return Step(f"peer_{name}_{cell}", lambda work: python("sidebyside.py", name, cell, work / f"cell_{cell}", work /
                                                               f"peer_{name}_{cell}.json", work / "settings.json"), 75)

    def reference(cell):
        return Step(f"same_as_cpu_{cell}", lambda work: python("same.py", "reference", program, cell, work / f"cell_{cell}"), 60)

    peers = [peer(name, cell) for cell in s["peer_cells"] for name in s["peers"]]
    steps = [timing(cell) for cell in s["cells"]] + peers[:1]
    steps += [reference(cell) for cell in s["reference_cells"]]
    steps.append(Step("suite", lambda work: [*suite, "--sizes", s["suite"], "--runs", "4", "--ops",
                                             s["suite_operations"], "--out", work / "suite"], 100))
    steps.append(Step("recording", lambda work: python("recordings.py", program, work / "recording", work / "recording.tar.xz",
                                                       work / "settings.json"), 40))
    steps += peers[1:]
    steps.append(capture(build, s))
    steps.append(Step("suite_large", lambda work: [*suite, "--sizes", s["suite_large"], "--runs", "2", "--ops",
                                                   s["suite_large_operations"], "--out", work / "suite_large"], 120))
    return steps


def capture(build, s):
    """Recordings of other programs; it writes capture.json and small traces. The CUDA C program is the one beside the tests, else
    nvcc makes it. The emulator brings a CUPTI of its own."""
    if not s["capture_seconds"]:
        return Step("capture", "the settings leave it out", 0)
    known, cupti = build / "tests/known", build / "tests/fake_cupti.so"
    words = [*(["--known", known] if known.exists() else []), *s["capture_options"]]
    return Step("capture", lambda work: python("capture.py", build, work / "capture", "--seconds", s["capture_seconds"] * s["patience"], *words),
                s["capture_seconds"] + 15, {"TOMOPROF_CAPTURE_CUPTI": str(cupti)} if cupti.exists() else {})


def memory_of(device):
    """Bytes of the GPU that doctor names: "NVIDIA ..., compute capability 8.9, 24 GiB"; None: it does not say."""
    found = re.search(r"(\d+) (MiB|GiB)$", device)
    bytes_there = int(found[1]) * {"MiB": 1 << 20, "GiB": 1 << 30}[found[2]] if found else 0
    return bytes_there or None


def workers_of(s, device):
    """Processes side by side: each takes some 500 MB of the device for its context. A device in exclusive mode takes one."""
    if "Exclusive" in (say(["nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader"]) or ""):
        return 1
    most = (memory_of(device) or 4 << 30) // (2 << 30)
    return s["workers"] or max(1, min((os.cpu_count() or 1) // 3, most))


def say(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def machine_of(doctor, build, s):
    """What a figure must be read with. Host names and paths stay out."""
    rows, device = doctor["rows"], doctor["back_ends"]["cuda"]["device"]
    commit = build / "commit.txt"
    driver = say(["nvidia-smi", "--query-gpu=driver_version,vbios_version,power.limit,clocks.max.sm,clocks.max.mem",
                  "--format=csv,noheader", "--id=0"])
    return {"made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "device": device, "emulated": "emulator" in device,
            "tomoprof": doctor["tomoprof"], "compiler": doctor["compiler"], "processor": rows["processor"]["found"],
            "commit": commit.read_text().strip() if commit.exists() else say(["git", "-C", ROOT, "rev-parse", "HEAD"]),
            "driver": driver, "cuda": rows["cuda"]["found"], "nvidia_driver": rows["nvidia_driver"]["found"], "settings": s}


def keep(work, out, rows):
    """The files that are worth committing: at most 8, all small."""
    logs = {path.stem: re.sub(r"(?<![\w.])/(?:\w[\w.+-]*/)+", "", path.read_text(errors="replace"))[-LOG:]
            for path in sorted((work / "logs").glob("*.log"))}
    (out / "logs.json").write_text(json.dumps(logs, indent=1) + "\n")
    timings = {path.parent.parent.name: json.loads(path.read_text()) for path in sorted(work.glob("suite*/*/timing.json"))}
    if timings:
        (out / "suite.json").write_text(json.dumps(timings) + "\n")
    if (work / "recording.tar.xz").exists():
        shutil.copy(work / "recording.tar.xz", out)
    if (work / "capture/capture.json").exists():
        shutil.copy(work / "capture/capture.json", out)
        with tarfile.open(out / "capture.tar.xz", "w:xz") as archive:
            archive.add(work / "capture", arcname="capture")


def write(out, runner, machine, complete):
    check = {"schema": "tomoprof-gpu-check/1", "machine": machine, "seconds": round(runner.limit - runner.left(), 3),
             "complete": complete, "steps": runner.rows}
    (out / "check.json").write_text(json.dumps(check, indent=1) + "\n")


def limited(step, s):
    return step._replace(seconds=step.seconds * s["patience"])


def run(build, out, work, s):
    runner = Runner(work, environment_of(build), s["limit"])
    doctor = runner.run(limited(Step("doctor", [build / "tomoprof", "doctor", "--json"], 60), s))
    doctor = json.loads(doctor) if doctor else None
    cuda = doctor["back_ends"]["cuda"] if doctor else {"usable": False, "reason": runner.rows[0]["reason"]}
    if not cuda["usable"]:
        write(out, runner, None, False)
        print("skipped:" if doctor else "failed:", cuda["reason"])
        return 77 if doctor else 1
    machine, log = machine_of(doctor, build, s), clocks.Clocks()
    (work / "settings.json").write_text(json.dumps(dict(s, emulated=machine["emulated"])))
    ceilings = runner.run(limited(Step("ceilings", [build / "tomoprof", "doctor", "--ceilings", "--json"], 60), s))
    if ceilings:
        (work / "ceilings.json").write_text(json.dumps(json.loads(ceilings)["back_ends"]["cuda"]["ceilings"]))
    steps = correctness(build, s, runner.environment["PATH"])
    runner.together([limited(step, s) for step in steps], workers_of(s, machine["device"]))
    for step in timed(build, s):
        runner.run(limited(step, s))
        write(out, runner, machine, False)  # what there is survives a kill
    log.end()
    found = figures.collect(work, machine, s, log)
    (out / "figures.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "table.txt").write_text(figures.table(found) + "\n")
    keep(work, out, runner.rows)
    write(out, runner, machine, True)
    print(figures.table(found))
    failed = [row for row in runner.rows if row["status"] == "failed"]
    print(f"{len(runner.rows)} steps, {len(failed)} failed" + "".join(f"\n  {row['name']}: {row['reason']}" for row in failed))
    return 1 if failed else 0


def roomy():
    """Memory rather than a disk for the arrays, where it has room."""
    folder = pathlib.Path("/dev/shm")
    return folder if folder.is_dir() and shutil.disk_usage(folder).free > ROOM else None


def main():
    if len(sys.argv) not in (3, 4):
        print("usage: tests/gpu/check.sh BUILD OUT [SETTINGS]", file=sys.stderr)
        return 2
    build, out = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    try:
        s = settings_of.load(sys.argv[3] if len(sys.argv) == 4 else None)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tomoprof-check-", dir=roomy())))
        (work / "logs").mkdir()
        if build.is_file():  # not where arrays lie: memory that files are kept in may forbid programs
            programs = stack.enter_context(tempfile.TemporaryDirectory(prefix="tomoprof-programs-"))
            with tarfile.open(build) as archive:
                archive.extractall(programs, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
            build = pathlib.Path(programs)
        return run(build, out, work, s)


if __name__ == "__main__":
    sys.exit(main())
