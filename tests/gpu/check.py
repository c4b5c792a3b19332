"""What check.sh runs: the operator tests on the GPU, compute-sanitizer on small cases, the suite's timing. Every step
is one row of OUT/check.json with status passed, failed or skipped, and a log of its own. Exit 1 when a step failed, 77 when
no GPU works here."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

LIMIT = 530  # seconds of the whole
ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ["project", "projection_calls", "hessian", "filter_recon", "goldens", "mbir", "mbir_twin", "analytic"]
SMALL = "par_even,par_prime,par_37_slices,cone_even,cone_tall_rows,cone_helical_curved"


class Check:
    def __init__(self, build, out):
        self.build, self.out, self.rows = build, out, []
        self.start = time.monotonic()
        self.environment = dict(os.environ, TOMOPROF_CUDA=str(build / "libtomoprof_cuda.so"),
                                TOMOPROF_TEST_BACKEND="cuda")
        libraries = [str(build / "lib")] if (build / "lib").is_dir() else []
        libraries += [p for p in [os.environ.get("LD_LIBRARY_PATH")] if p]
        if libraries:
            self.environment["LD_LIBRARY_PATH"] = ":".join(libraries)
        cufft = find_cufft()
        if cufft and "TOMOPROF_CUFFT" not in os.environ:
            self.environment["TOMOPROF_CUFFT"] = cufft

    def left(self):
        return LIMIT - (time.monotonic() - self.start)

    def skip(self, name, reason):
        self.rows.append({"name": name, "status": "skipped", "reason": reason, "seconds": None, "log": None})

    def run(self, name, command, limit, **variables):
        """One row; returns the output, None unless it passed."""
        limit = min(limit, self.left())
        if limit < 5:
            self.skip(name, f"the {LIMIT} s are used up")
            return None
        begin, log = time.monotonic(), self.out / f"{name}.log"
        try:
            done = subprocess.run([str(c) for c in command], env=dict(self.environment, **variables), timeout=limit,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            code, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, text = "timeout", (late.stdout or b"").decode(errors="replace")
        except OSError as error:
            code, text = str(error), ""
        log.write_text(text)
        lines = text.strip().splitlines()
        status = "passed" if code == 0 else "skipped" if code == 77 else "failed"
        reason = "" if code == 0 else f"exit {code}: {lines[-1] if lines else ''}"
        self.rows.append({"name": name, "status": status, "reason": reason,
                          "seconds": round(time.monotonic() - begin, 3), "log": log.name})
        print(f"{status:8} {name} {reason}", flush=True)
        return text if code == 0 else None

    def write(self, facts):
        (self.out / "check.json").write_text(json.dumps({"schema": "tomoprof-gpu-check/1", "machine": facts,
                                                         "steps": self.rows}, indent=2) + "\n")


def find_cufft():
    """cuFFT as Python packages bring it; the loader finds a system's own."""
    for folder in sys.path:
        for path in sorted(pathlib.Path(folder or ".").glob("nvidia/*/lib/libcufft.so.12")):
            return str(path)
    return None


def test_data(build):
    """The goldens' path is compiled in: make it lead here where it does not exist."""
    if (ROOT / "tests/data").is_dir():
        text = (build / "tests/test_goldens").read_bytes()
        end = text.find(b"/tests/data/goldens")
        begin = text.rfind(b"\0", 0, end) + 1
        path = pathlib.Path(text[begin:end].decode()) / "tests/data"
        try:
            if end > 0 and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(ROOT / "tests/data")
        except OSError:
            pass  # the tests that need it then fail and say which file they miss


def sanitize(check):
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    for kind in ("memcheck", "racecheck", "initcheck", "synccheck"):
        name = f"sanitizer_{kind}"
        if not pathlib.Path(tool).exists():
            check.skip(name, "compute-sanitizer is not installed")
            continue
        check.run(name, [tool, "--tool", kind, "--error-exitcode", "9", check.build / "tests/test_project"], 60,
                  TOMOPROF_TEST_CASES=SMALL)


def main():
    if len(sys.argv) != 3:
        print("usage: tests/gpu/check.sh BUILD OUT", file=sys.stderr)
        return 2
    build, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    check = Check(build, out)
    doctor = check.run("doctor", [build / "tomoprof", "doctor", "--json"], 60)
    facts = json.loads(doctor) if doctor else None
    cuda = (facts or {}).get("back_ends", {}).get("cuda", {})
    if not cuda.get("usable"):
        check.write(facts)
        print("skipped:", cuda.get("reason", "tomoprof doctor failed"))
        return 77 if facts else 1
    check.run("nvidia_smi", ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu",
                             "--format=csv"], 20)
    test_data(build)
    for name in TESTS:
        check.run(name, [build / f"tests/test_{name}"], 120)
    check.run("suite", [build / "tomoprof", "run", "--backend", "cuda", "--sizes", "32,64,128,256", "--runs", "3",
                        "--out", out / "suite"], 150)
    check.run("large", [build / "tomoprof", "run", "--backend", "cuda", "--sizes", "512", "--runs", "3", "--ops",
                        "parallel_forward_project,parallel_back_project,cone_forward_project,cone_back_project,"
                        "parallel_fbp_filter,median_filter3d", "--out", out / "large"], 120)
    sanitize(check)
    check.write(facts)
    return 1 if any(row["status"] == "failed" for row in check.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
