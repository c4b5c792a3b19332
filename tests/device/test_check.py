"""tests/gpu/check.sh where there is no GPU: the program and the operator tests with the emulator inside, small sizes, and
fakes of nvidia-smi, compute-sanitizer and MBIRJAX. Every step has its row; what fails, hangs or comes too late says so."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/gpu"))
import check as check_of  # noqa: E402
import emulated  # noqa: E402
import runner as runner_of  # noqa: E402
from emulated import CELLS  # noqa: E402
from runner import Runner, Step  # noqa: E402

BUILD = pathlib.Path(os.environ["TOMOPROF"]).parent
# The fingerprints take the emulator a minute: operators/test_fingerprints. Recordings: one program of capture/test_gpu_capture's.
SETTINGS = emulated.SETTINGS | {"tests": ["project", "filter_recon"], "fingerprints": False, "capture_options": ["--only", "known"]}
SMI = """#!/bin/sh
case "$*" in
*clocks.sm*loop-ms*) while :; do echo "$(date "+%Y/%m/%d %H:%M:%S.%3N"), 1980, 3201, 500.5, 40, 0x0000000000000004"; sleep 0.05; done ;;
*) echo "of the emulator" ;;
esac
"""
SANITIZER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift 2; done
exec "$@"
"""
# What the adapters of tests/peers call, each returning an array of the right shape.
MBIRJAX = '''import numpy as np
class Model:
    def __init__(self, shape, angles, **more):
        self.shape, self.values = shape, {}
    def set_params(self, **values):
        self.values.update(values)
    def volume(self):
        return np.ones(self.values["recon_shape"], np.float32)
    def forward_project(self, x, output_sharded):
        assert x.shape == self.values["recon_shape"], x.shape
        return np.ones(self.shape, np.float32)
    def back_project(self, y, output_sharded):
        return self.volume()
    def compute_hessian_diagonal(self, output_sharded):
        return self.volume()
    def fbp_filter(self, y, output_sharded):
        return y
    fdk_filter = fbp_recon = fdk_recon = fbp_filter
    def recon(self, y, weights, max_iterations, **more):
        assert weights.shape == y.shape and weights.min() >= 0.5 and max_iterations == 3
        return self.volume(), None
ParallelBeamModel = ConeBeamModel = Model
def median_filter3d(x):
    raise ValueError("no median today")
'''
JAX = "def device_put(x): return x\ndef block_until_ready(x): return x\n"


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def package(folder, name, text):
    """A module with the metadata of an installed one."""
    (folder / f"{name}.py").write_text(text)
    (folder / f"{name}-0.dist-info").mkdir()
    (folder / f"{name}-0.dist-info/METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")


def build_of(folder):
    return emulated.build_of(BUILD, folder, SETTINGS["tests"])


def check(folder, build, code, tools=(), **changes):
    """(check.json, folder, output) of a run that must end with `code`."""
    folder.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF")}
    environment["PATH"] = ":".join([*map(str, tools), environment["PATH"]])
    environment["PYTHONPATH"] = ":".join([*map(str, tools), environment.get("PYTHONPATH", "")])
    environment.update(changes.pop("environment", {}))
    (folder / "settings.json").write_text(json.dumps(SETTINGS | changes))
    done = subprocess.run([ROOT / "tests/gpu/check.sh", build, folder / "out", folder / "settings.json"], env=environment,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    assert done.returncode == code, f"exit {done.returncode}, expected {code}\n{done.stdout}"
    return json.loads((folder / "out/check.json").read_text()), folder / "out", done.stdout


def results(*words, code=0):
    done = subprocess.run([sys.executable, ROOT / "tests/gpu/results.py", *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"results.py {words}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def statuses(found):
    return {row["name"]: row["status"] for row in found["steps"]}


def whole(folder):
    """Everything there: all rows pass but those that are said to be missing."""
    tools = folder / "tools"
    script(tools / "nvidia-smi", SMI)
    script(tools / "compute-sanitizer", SANITIZER)
    package(tools, "mbirjax", MBIRJAX)
    package(tools, "jax", JAX)
    found, out, said = check(folder / "whole", build_of(folder / "build"), 1, [tools])
    rows = {row["name"]: row for row in found["steps"]}
    expected = ["doctor", "ceilings", "operators_project", "operators_filter_recon", "fingerprints", "same_bits", "same_slabs", "load_device",
                "sanitizer_memcheck", "sanitizer_racecheck", *(f"timing_{c}" for c in CELLS), f"peer_mbirjax_{CELLS[0]}",
                f"same_as_cpu_{CELLS[0]}", "suite", "recording", f"peer_mbirtorch_{CELLS[0]}",
                *(f"peer_{p}_{CELLS[1]}" for p in ("mbirjax", "mbirtorch")), "capture", "suite_large"]
    assert list(rows) == expected, sorted(set(rows) ^ set(expected))
    others = {"fingerprints": "skipped",
              **{f"peer_mbirjax_{c}": "failed" for c in CELLS}, **{f"peer_mbirtorch_{c}": "skipped" for c in CELLS}}
    assert statuses(found) == {name: others.get(name, "passed") for name in expected}, said
    assert "no median today" in rows[f"peer_mbirjax_{CELLS[0]}"]["reason"], rows
    assert "No module named 'mbirtorch'" in rows[f"peer_mbirtorch_{CELLS[0]}"]["reason"], rows
    assert len(list(out.iterdir())) <= 8, list(out.iterdir())
    known = json.loads((out / "capture.json").read_text())["rows"]
    assert [row["program"] for row in known] == ["known"] and known[0]["kernels"]["ours"] == known[0]["kernels"]["own"] >= 25, known
    look_at(json.loads((out / "figures.json").read_text()))
    assert "13x11x9" in (out / "table.txt").read_text()
    print(results("validate", "--emulated", out).strip())
    assert "emulator" in results("validate", out, code=1)  # never among results
    broken = json.loads((out / "check.json").read_text())
    broken["steps"] = [row for row in broken["steps"] if row["status"] != "failed"]
    (out / "check.json").write_text(json.dumps(broken))
    assert f"peer_mbirjax_{CELLS[0]}" in results("validate", "--emulated", out, code=1)  # a failed step that was hidden


def look_at(figures):
    """Prediction, measurement and shares of every operation, peers and the step from one size to the next."""
    rows = {(row["operation"], "x".join(map(str, row["size"]))): row for row in figures["rows"]}
    assert len(rows) == 11 * len(CELLS) and all(row["status"] == "ok" for row in rows.values()), rows
    for (operation, _), row in rows.items():
        assert row["n"] == len(row["times"]) and row["min"] <= row["median"] and row["peak_device_bytes"] > 0, row
        assert row["measured_ceiling"]["rate"] > 0 and row["recalled_ceiling"] is None, row
        assert row["clocks"] is None or row["clocks"]["sm_mhz"] == 1980, row
        if "project" in operation and "hessian" not in operation:  # what the launchers declare is what is counted here
            per_update = 4 if operation.startswith("parallel") else 8
            assert row["flops"] == per_update * row["amount"], row
    assert figures["clocks"]["all"]["power_w"] == 500.5 and figures["machine"]["emulated"], figures["clocks"]
    assert len(figures["padding"]) == 11 and all(p["ratio"] > 0 for p in figures["padding"]), figures["padding"]
    peer = next(p for p in figures["peers"] if p["operation"] == "cone_mbir_recon" and p["size"] == [12, 10, 8])
    assert peer["ratio"] > 0 and peer["difference"] > 0 and peer["versions"]["mbirjax"] == "0", peer
    assert {s["operation"] for s in figures["suite"]} == {"parallel_forward_project", "median_filter3d", "cone_back_project"}
    assert figures["ceilings"]["l2_bytes_per_s"] > 0 and figures["ceilings"]["graph_launch_s"] > 0, figures["ceilings"]


def failures(folder):
    """A program that fails and one that hangs: rows with reasons, the other steps all the same, and nothing left running."""
    build, pid = build_of(folder / "broken"), folder / "pid"
    for name, text in (("project", "echo wrong result; exit 1"), ("filter_recon", f"echo $$ > {pid}; sleep 1000")):
        (build / f"tests/test_{name}").unlink()
        script(build / f"tests/test_{name}", f"#!/bin/sh\n{text}\n")
    found, out, _ = check(folder / "failures", build, 1, test_seconds=2, cells=[], reference_cells=[], sanitizers=[], peers=[],
                          capture_seconds=0)
    rows = {row["name"]: row for row in found["steps"]}
    assert rows["operators_project"]["reason"] == "exit 1: wrong result", rows
    assert rows["operators_filter_recon"]["status"] == "failed", rows
    assert "not done after" in rows["operators_filter_recon"]["reason"], rows
    assert rows["suite_large"]["status"] == "passed", rows
    print(results("validate", "--emulated", out).strip())
    process = pathlib.Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not process.exists() or process.read_text().split(")")[1].split()[0] == "Z", process.read_text()


def limits(folder):
    """A step gets no more than what is left of the whole, and the next ones say that nothing is."""
    (folder / "logs").mkdir()
    runner = Runner(folder, dict(os.environ), 5)
    runner.run(Step("hangs", ["sleep", "1000"], 1000))
    runner.run(Step("late", ["true"], 1000))
    runner.run(Step("without", ["true"], 1000, needs=["hangs"]))
    hangs, late, without_it = runner.rows
    assert hangs["status"] == "failed" and hangs["reason"].startswith("not done after"), hangs
    assert late["status"] == "skipped" and late["reason"] == "the 5 s are used up", late
    assert without_it["reason"] == "hangs did not pass", without_it
    twin = "back against its twin"  # what a program of cmocka says of a kernel that computes wrongly, and its last line, which says nothing
    for says, reason in ((f"cuda cone_even: {twin} is 0.0156, the limit is 1e-05\n{twin}: worst of 190 0.0156 (cuda cone_even), limit 1e-05\nERROR: {twin}: beyond the limit",
                          f"cuda cone_even: {twin} is 0.0156, the limit is 1e-05"),
                         ("[  ERROR   ] --- the GPU ran out of memory while x: end other programs", "the GPU ran out of memory while x: end other programs"),
                         ("1 failed", "1 FAILED TEST(S)")):
        assert runner_of.verdict(1, f"{says}\n[  FAILED  ] 1 test(s), listed below:\n\n 1 FAILED TEST(S)\n", 9) == ("failed", f"exit 1: {reason}"), says
    runner = Runner(folder, dict(os.environ), 1000)
    runner.together([Step("skips", ["sh", "-c", "echo no such thing; exit 77"], 900), Step("runs", ["echo", "x"], 900)], 2)
    assert [(row["name"], row["status"], row["reason"]) for row in runner.rows] == [
        ("skips", "skipped", "no such thing"), ("runs", "passed", "")], runner.rows


def without(folder):
    """No driver: 77 and its sentence. A program that does not run, a wrong setting, a wrong call: said."""
    build = build_of(folder / "without")
    found, out, said = check(folder / "no_driver", build, 77, environment={"SHIM_NO_DRIVER": "1"})
    assert "skipped: no NVIDIA driver" in said and statuses(found) == {"doctor": "passed"}, said
    assert "no GPU" in results("validate", "--emulated", out, code=1)
    with tarfile.open(folder / "packed.tar.xz", "w:xz") as archive:  # as tests/gpu/pack.sh leaves it
        archive.add(build / "tomoprof", arcname="./tomoprof")
    found, _, said = check(folder / "no_driver_packed", folder / "packed.tar.xz", 77, environment={"SHIM_NO_DRIVER": "1"})
    assert "skipped: no NVIDIA driver" in said and statuses(found) == {"doctor": "passed"}, said
    (build / "tomoprof").unlink()
    found, _, said = check(folder / "no_program", build, 1)
    assert "tomoprof cannot be started: No such file or directory" in found["steps"][0]["reason"], said
    for words, sentence in (([], "usage"), ([build, folder / "x", ROOT / "pyproject.toml"], "Expecting value")):
        done = subprocess.run([ROOT / "tests/gpu/check.sh", *words], capture_output=True, text=True, timeout=300)
        assert done.returncode == 2 and sentence in done.stderr, done


def of_a_stranger(folder):
    """./start.sh gpu-check's part: sizes by memory, one archive without names or paths, one sentence."""
    import gpu_check
    import settings
    whole_plan = settings.SETTINGS
    for device, host, largest, out in ((80 << 30, 200 << 30, "1024x1008x992", 0), (16 << 30, 32 << 30, "513x449x385", 1),
                                       (4 << 30, 200 << 30, "513x449x385", 1), (2 << 30, 200 << 30, "200x208x160", 3), (None, 3 << 30, "513x449x385", 1)):
        s, left_out = gpu_check.fitted(whole_plan, device, host)
        sizes = [tuple(map(int, cell.split("x"))) for cell in s["cells"]]
        assert max(sizes) <= tuple(map(int, largest.split("x"))) and len(left_out) == len(whole_plan["cells"]) - len(sizes), (device, host, s["cells"])
        assert set(s["peer_cells"]) <= set(s["cells"]) >= set(s["reference_cells"]) and set(s["cliff"]) <= set(s["cells"]), s
        assert len(left_out) >= out, (device, left_out)
    found = {"steps": [{"name": "same_bits", "status": "passed"}], "machine": {"device": "NVIDIA RTX, 24 GiB", "emulated": False}}
    said = gpu_check.sentence(found, [], "A.tar.gz")
    assert said.startswith("On the NVIDIA RTX 1 of 1 steps passed, which proves: equal bits") and "Please attach A.tar.gz to a report" in said, said
    tools = folder / "tools"
    script(tools / "nvidia-smi", SMI.replace("of the emulator", "of the emulator, seen by stranger-name"))
    (folder / "settings.json").write_text(json.dumps(SETTINGS | {"sanitizers": [], "peers": [], "cells": CELLS[:1], "cliff": CELLS[:1] * 2, "peer_cells": [],
                                                               "capture_seconds": 0}))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF")}
    environment |= {"PATH": f"{tools}:{environment['PATH']}", "LOGNAME": "stranger-name", "TOMOPROF_GPU_CHECK": "emulator"}
    words = [sys.executable, ROOT / "tests/gpu/gpu_check.py", BUILD, folder / "left", folder / "settings.json"]
    done = subprocess.run(words, env=environment, text=True, capture_output=True, timeout=300)
    last = done.stdout.strip().splitlines()[-1]
    assert done.returncode == 0 and "steps passed, which proves: operators equal to float64 twins" in last, done
    assert "is of the emulator" in last and "no names and no paths" in last and "equal bits" in last and "fingerprints" not in last, last
    assert [path.name for path in (folder / "left").iterdir()] == ["tomoprof-gpu-check.tar.gz"], done
    with tarfile.open(folder / "left/tomoprof-gpu-check.tar.gz") as archive:
        names = archive.getnames()
        assert 5 <= len(names) <= 8 and all(m.uname == m.gname == "" and m.uid == 0 for m in archive), names
        for member in archive:
            text = archive.extractfile(member).read()
            for private in (b"stranger-name", str(folder).encode(), str(ROOT).encode()):
                assert member.name.endswith(".xz") or private not in text, f"{member.name} holds {private}"
    done = subprocess.run(words, env={**environment, "SHIM_NO_DRIVER": "1"}, text=True, capture_output=True, timeout=300)
    assert done.returncode == 77 and "No GPU could be checked: no NVIDIA driver" in done.stdout, done


def toolkit(folder):
    """nvcc and compute-sanitizer of the toolkit that built the back end are found, of the newest that the driver serves; processes side by
    side fit the device."""
    (folder / "CMakeCache.txt").write_text("TP_CUDA12_NVCC:INTERNAL=/a/bin/nvcc\nTP_CUDA13_NVCC:INTERNAL=/b/bin/nvcc\n")
    assert [check_of.toolkits(folder, most) for most in (12, 13, 0)] == [["/a/bin", "/b/bin"], ["/b/bin", "/a/bin"], ["/b/bin", "/a/bin"]]
    assert check_of.toolkits(folder / "nowhere", 13) == []
    path = os.environ["PATH"]
    for mode, most in (("Default", 2), ("Exclusive_Process", 1)):
        os.environ["PATH"] = f"{script(folder / mode / 'nvidia-smi', f'#!/bin/sh{chr(10)}echo {mode}{chr(10)}').parent}:{path}"
        assert check_of.workers_of({"workers": 2}, "a GPU, 24 GiB") == most, mode
    os.environ["PATH"] = f"{folder / 'Default'}:{path}"
    assert check_of.workers_of({"workers": None}, "a GPU, 2 GiB") == 1
    os.environ["PATH"] = path


def main():
    with tempfile.TemporaryDirectory() as name:
        for part in (limits, toolkit, whole, failures, without, of_a_stranger):
            folder = pathlib.Path(name) / part.__name__
            folder.mkdir()
            part(folder)
            print(part.__name__, "ok", flush=True)
    results("validate")  # what is kept under tests/gpu/results
    results("render", "--check", ROOT / "docs/internals/cuda.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
