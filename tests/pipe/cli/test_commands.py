"""The command line's own manners, and simulate, info and doctor: outputs, exit codes, sentences, signals."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, SANITIZED, TOMOPROF, loadable, main, tomoprof, write_json

COMMANDS = ["run", "record", "report", "recon", "apply", "simulate", "info", "load", "convert", "doctor", "export", "compare", "triage"]


def ok(check, *args, **options):
    done = tomoprof(*args, **options)
    check.that(done.returncode == 0, f"{args}: exit {done.returncode}: {done.stderr}")
    return done


def said_json(check, *args, **options):
    return json.loads(ok(check, *args, **options).stdout)


def refused(check, sentence, *args, code=2, **options):
    """One sentence on stderr that holds `sentence`, nothing on stdout, exit `code`."""
    done = tomoprof(*args, **options)
    one = done.stderr.startswith("tomoprof: ") and done.stderr.count("\n") == 1
    check.that(done.returncode == code, f"{args}: exit {done.returncode}, expected {code}: {done.stderr}")
    check.that(sentence in done.stderr, f"{args}: said {done.stderr!r}, expected {sentence!r}")
    check.that(one, f"{args}: not one sentence: {done.stderr!r}")
    check.that(done.stdout == "", f"{args}: wrote to stdout: {done.stdout!r}")


def help_texts(check, folder):
    overview = ok(check, "--help").stdout
    for word in ("help", "-h"):
        check.that(ok(check, word).stdout == overview, f"{word} and --help differ")
    check.that("child-run" not in overview, "--help shows a hidden command")
    for command in COMMANDS:
        check.that(f"  {command} " in overview, f"--help lacks {command}")
        text = ok(check, command, "--help").stdout
        check.that(ok(check, "help", command).stdout == text, f"help {command} differs from {command} --help")
        for word in ("Usage: tomoprof " + command, "Example", "Options:", "Exit codes:", "--help"):
            check.that(word in text, f"{command} --help lacks {word!r}")
        long_lines = [line for line in text.splitlines() if len(line) > 100]
        check.that(not long_lines, f"{command} --help is wider than 100 columns: {long_lines}")
    check.that(ok(check, "--version").stdout.startswith("tomoprof "), "--version")
    nothing = tomoprof()
    check.that(nothing.returncode == 0 and "Usage:" in nothing.stdout and nothing.stderr == "", "no command at all")


def earlier_names(check, folder):
    """They work, and nothing lists them."""
    overview = ok(check, "--help").stdout
    for old, new in (("op", "apply"), ("gen", "simulate")):
        check.that(ok(check, old, "--help").stdout == ok(check, new, "--help").stdout, f"{old} is not {new}")
        check.that(f"  {old} " not in overview, f"--help lists {old}")
        for shell in ("bash", "zsh", "fish", "man"):
            listed = re.search(rf"(?<![\w-]){old}(?![\w-])", re.sub(r"[a-z_]*gen_[a-z_]*", "", ok(check, "reference", shell).stdout))
            check.that(not listed, f"reference {shell} lists {old}")
    ok(check, "gen", "--size", 8, "--exact", "--out", folder / "old")
    for command, old, new in (("record", "--baseline", "--measure-overhead"), ("report", "--again", "--reanalyze")):
        text = ok(check, command, "--help").stdout
        check.that(new in text and old not in text, f"{command} --help: {old}, {new}")
    said = ok(check, "record", "--baseline", "--out", folder / "runs", "--", "sleep", "0.1").stderr
    check.that("without the recorder" in said, f"--baseline measures no overhead: {said}")
    ok(check, "report", "--again", folder / "runs")


def latest(check, folder):
    """As a link and as a text file, in every command that takes a run; the run itself is named, which latest will not stay."""
    ok(check, "run", "--sizes", 16, "--ops", "parallel_back_project", "--out", folder / "runs")
    name = os.readlink(folder / "runs/latest")
    for kind in ("link", "file"):
        if kind == "file":
            (folder / "runs/latest").unlink()
            (folder / "runs/latest").write_text(name + "\n")
        word = folder / "runs/latest"
        # With the sanitizers inside, the program is not traced, so its run has no lines.
        of_lines = [] if SANITIZED else [["report", "--text", word], ["export", "--to", "csv", word]]
        for call in (*of_lines, ["report", word], ["compare", word, word], ["triage", word], ["info", word], ["info", folder / "runs"], ["info", f"{word}/"]):
            done = ok(check, *call)
            check.that("latest" not in done.stdout + done.stderr, f"{kind} {call}: {done.stdout[:300]} {done.stderr}")


def wrong_calls(check, folder):
    refused(check, 'did you mean `tomoprof recon`?', "recom")
    refused(check, "`tomoprof compare A B` compares two runs", "bench", "--sizes", "16")
    refused(check, "is a benchmark: tomoprof run --ops cone_vcd_iteration", "apply", "cone_vcd_iteration", "16")
    refused(check, 'unknown command "xyzzy"', "xyzzy")
    refused(check, "did you mean --sizes?", "run", "--size", "32")
    refused(check, "did you mean cuda?", "record", "--modes", "gpu", "--", "true")
    refused(check, "did you mean memory?", "record", "--modes", "cpu,heap", "--", "true")
    for command in (("run", "--ops", "fbp"), ("apply", "fbp_")):
        refused(check, "did you mean parallel_fbp_recon", *command)
    refused(check, "--geometry cone --rows 1", "simulate", "--geometry", "fan", "--out", folder / "never")
    refused(check, "give parallel, cone, translation, multiaxis or a geometry file", "simulate", "--geometry", "conical", "--out", folder / "never")
    refused(check, "--runs 0: must be between", "run", "--runs", "0")
    refused(check, "--quick means --sizes 32,64", "run", "--quick", "--sizes", "16")
    refused(check, "unexpected word", "run", "parallel_fbp_recon")
    refused(check, "info needs FILE", "info")
    refused(check, "/no/such/file: cannot read: No such file or directory", "info", "/no/such/file")
    refused(check, "--phantom cube: must be one of two-ellipsoids|shepp-logan", "simulate", "--phantom", "cube")
    refused(check, "--noise nan: not a finite number", "simulate", "--noise", "nan")
    refused(check, "--size 0: must be between", "simulate", "--size", "0")
    if not said_json(check, "doctor", "--json")["back_ends"]["cuda"]["usable"]:  # not a wrong call, but the work fails
        refused(check, "--backend c", "simulate", "--backend", "cuda", "--out", folder / "never", code=1)
        refused(check, "--backend c", "run", "--quick", "--backend", "cuda", "--out", folder / "never", code=1)
    refused(check, "unknown: must be one of auto", "simulate", "--backend", "vulkan", "--out", folder / "never")
    refused(check, "cannot make the folder", "simulate", "--size", "8", "--exact", "--out", "/proc/never/scan", code=1)
    refused(check, "needs", "simulate", "--size", "600", "--exact", "--out", folder / "never", code=1,
            env={"TOMOPROF_MEMORY": "64MiB"})
    with open("/dev/full", "w") as full:
        done = subprocess.run([TOMOPROF, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    check.that(done.returncode == 1 and "No space left on device" in done.stderr, f"--help on a full disk: {done}")


def simulated(check, folder):
    for beam, shape, volume in (("parallel", (7, 5, 13), (13, 13, 5)), ("cone", (7, 5, 13), (13, 13, 5))):
        prefix = folder / f"made/{beam}"
        args = ["simulate", "--geometry", beam, "--views", 7, "--rows", 5, "--channels", 13, "--noise", 0, "--out"]
        done = ok(check, *args, prefix)
        check.that(done.stdout == "", "gen wrote to stdout")
        y = np.load(f"{prefix}_sinogram.npy")
        x = np.load(f"{prefix}_volume.npy")
        check.that(y.shape == shape and y.dtype == np.float32, f"{beam}: sinogram {y.shape} {y.dtype}")
        check.that(x.shape == volume and x.dtype == np.float32, f"{beam}: volume {x.shape} {x.dtype}")
        geometry = json.loads((folder / f"made/{beam}.json").read_text())
        check.that(geometry["geometry"] == beam and geometry["sinogram_shape"] == list(shape), f"{beam}: {geometry}")
        check.that(len(geometry["angles"]) == 7, f"{beam}: {len(geometry['angles'])} angles")

        # The projector's sinogram is the exact one up to the size of a voxel: 13 across, so within 15 %.
        ok(check, *args, folder / "exact", "--exact")
        exact = np.load(folder / "exact_sinogram.npy")
        distance = np.linalg.norm(y - exact) / np.linalg.norm(exact)
        check.that(0 < distance < 0.15, f"{beam}: projector and formula differ by {distance:.3f}")

        # A geometry file of gen's makes the same scan again.
        ok(check, "simulate", "--geometry", f"{prefix}.json", "--noise", 0, "--out", folder / "again")
        check.that(np.array_equal(np.load(folder / "again_sinogram.npy"), y), f"{beam}: not the same from its file")
        check.that(json.loads((folder / "again.json").read_text()) == geometry, f"{beam}: geometry not the same")


def simulated_noise(check, folder):
    def sinogram(*args):
        ok(check, "simulate", "--size", 24, "--exact", "--out", folder / "noisy", *args)
        return np.load(folder / "noisy_sinogram.npy").astype(np.float64)

    clean, one, two, other = (
        sinogram("--noise", 0),
        sinogram("--noise", 0.05),
        sinogram("--noise", 0.05),
        sinogram("--noise", 0.05, "--seed", 7),
    )
    check.that(np.array_equal(one, two), "the same seed gave other noise")
    check.that(not np.array_equal(one, other), "another seed gave the same noise")
    deviation = (one - clean).std() / np.abs(clean).max()
    # 6912 samples: one sigma of the estimate is 0.9 %.
    check.that(abs(deviation / 0.05 - 1) < 0.05, f"noise of {deviation:.4f} instead of 0.05")
    refused(check, "sets it already; leave --size out", "simulate", "--geometry", folder / "noisy.json", "--size", 8)


def info(check, folder):
    ok(check, "simulate", "--size", 12, "--exact", "--out", folder / "scan")
    array = said_json(check, "info", "--json", folder / "scan_volume.npy")
    check.that(array["shape"] == [12, 12, 12] and array["dtype"] == "<f4" and array["usable_by_op"], f"{array}")
    x = np.load(folder / "scan_volume.npy")
    check.that(abs(array["maximum"] - x.max()) < 1e-6 and abs(array["mean"] - x.mean()) < 1e-6, f"{array}")
    model = said_json(check, "info", "--json", folder / "scan.json")
    check.that(model["beam"] == "parallel" and model["recon_shape"] == [12, 12, 12], f"{model}")

    np.save(folder / "odd.npy", np.asfortranarray(np.array([[1, np.nan], [np.inf, 4]], np.float32)))
    odd = said_json(check, "info", "--json", folder / "odd.npy")
    check.that(odd["not_finite"] == 2 and odd["usable_by_op"] is False and odd["order"] == "Fortran", f"{odd}")
    (folder / "cut.npy").write_bytes((folder / "scan_volume.npy").read_bytes()[:-40])
    cut = said_json(check, "info", "--json", folder / "cut.npy")
    check.that(cut["values_missing"] == 10 and cut["usable_by_op"] is False, f"{cut}")

    parts = said_json(check, "doctor", "--json")
    if parts["rows"]["hdf5"]["state"] == "ok":
        tooth = said_json(check, "info", "--json", DATA / "tooth.h5")
        check.that(tooth["shape"] == [181, 2, 640] and tooth["flats"] == 10 and tooth["darks"] == 10, f"{tooth}")
        check.that(abs(tooth["theta_first"]) < 1e-4 and abs(tooth["theta_last"] - 180 * 180 / 181) < 1e-3, f"{tooth}")
        check.that("181 x 2 x 640" in ok(check, "info", DATA / "tooth.h5").stdout, "info for people")
        check.that("data_white" in ok(check, "info", DATA / "tooth.h5").stdout, "an underscore of a name is shown as it is")
        another_libhdf5(check, folder)
    else:
        refused(check, "HDF5", "info", DATA / "tooth.h5", code=1)

    (folder / "text").write_text("hello")
    refused(check, "of no known format", "info", folder / "text")
    (folder / "empty").write_text("")
    refused(check, "of no known format", "info", folder / "empty")
    (folder / "half.json").write_text('{"geometry": "parallel", "sinogram_shape": [')
    refused(check, "half.json", "info", folder / "half.json")
    refused(check, "a folder without timing.json", "info", folder)


def another_libhdf5(check, folder):
    """libhdf5 is opened when a file needs it: what is found under its name may not be it."""
    name = re.search(rb"libhdf5\w*\.so\.\d+", pathlib.Path(TOMOPROF).read_bytes())
    other = re.search(r"/\S+/libm[.-]\S*", pathlib.Path("/proc/self/maps").read_text())
    if not name or not other:
        return  # built with a static one
    (folder / "libraries").mkdir()
    shutil.copy(other[0], folder / "libraries" / name[0].decode())
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder / "libraries")}
    refused(check, "libhdf5 cannot be opened", "info", DATA / "tooth.h5", code=1, env=env)
    hdf5 = said_json(check, "doctor", "--json", env=env)["rows"]["hdf5"]
    check.that(hdf5["state"] == "missing" and " has no H5" in hdf5["found"] and "install libhdf5" in hdf5["fix"], f"{hdf5}")


def info_run(check, folder):
    run = folder / "runs" / "20260101T000000Z"
    run.mkdir(parents=True)
    timing = {
        "schema": "tomoprof-timing/1",
        "environment": {"backend": "cpu", "threads": 2, "driver": None},
        "measurements": [{"status": "ok"}, {"status": "failed"}, {"status": "skipped"}, {"status": "ok"}],
        "statistics": [
            {"operation": "cone_fdk_recon", "volume_size": 64, "median": 0.25, "cv": None, "roof_share": 0.5}
        ],
        "scaling": [],
    }
    write_json(run / "timing.json", timing)
    (run.parent / "latest").write_text(run.name + "\n")
    for path in (run, run / "timing.json", run.parent, run.parent / "latest"):
        said = said_json(check, "info", "--json", path)
        check.that(said["measurements"] == {"ok": 2, "skipped": 1, "failed": 1}, f"{path}: {said}")
        check.that(said["environment"] == {"backend": "cpu", "threads": 2}, f"{path}: {said}")
        text = ok(check, "info", path).stdout
        check.that("cone_fdk_recon" in text and "0.25" in text, f"{path}: {text}")


DOCTOR_ROWS = {  # what a person asks of a machine before measuring on it
    "processor", "memory", "disk", "clock", "container", "wsl2", "fft", "hdf5", "chunk_codecs", "rare_codecs", "dicom", "remote_files", "capture_library",
    "cpu_timers", "pending_signals", "safe_reads", "thread_states", "symbols", "debuginfod", "marks", "python", "captures", "ranks", "other_tools", "nvidia_driver", "cuda",
    "cufft", "cupti", "gpu_counters"}


def doctor(check, folder):
    said = said_json(check, "doctor", "--json")
    rows = said["rows"]
    check.that(said["back_ends"]["cpu"]["usable"] is True and said["back_ends"]["cpu"]["threads"] >= 1, f"{said}")
    check.that(said["back_ends"]["cuda"]["usable"] or said["back_ends"]["cuda"]["reason"], f"{said}")
    check.that(set(rows) == DOCTOR_ROWS, f"rows: {set(rows) ^ DOCTOR_ROWS}")
    able = said_json(check, "doctor", "--ceilings", "--json")["back_ends"]["cpu"]["ceilings"]
    check.that(able["flops_per_s"] > 1e6 and able["memory_bytes_per_s"] > 1e6, f"ceilings: {able}")
    text = ok(check, "doctor").stdout
    for name, row in rows.items():
        check.that(row["state"] in ("ok", "limited", "missing") and row["found"], f"{name}: {row}")
        shown = re.search(rf"^{name.replace('_', ' '):16} (ok|limited|missing) ", text, re.M)
        folded = rows["nvidia_driver"]["state"] == "missing" and name in ("cuda", "cufft", "cupti", "gpu_counters")
        check.that(bool(shown) != folded, f"{name}, folded {folded}: {text}")
        check.that((row["state"] == "ok") == ("fix" not in row), f"{name}: {row}")
        if row["state"] != "ok":
            check.that(row["consequence"] and row["fix"] and (folded or row["fix"] in text), f"{name}: {row}")
    if not SANITIZED:
        check.that(rows["capture_library"]["state"] == "ok", f"{rows['capture_library']}")
    check.that(rows["cuda"]["state"] == ("ok" if said["back_ends"]["cuda"]["usable"] else "missing"), f"{rows['cuda']}")
    taken = said_json(check, "doctor", "--json", env={"CUDA_INJECTION64_PATH": "/nowhere/other.so"})["rows"]
    check.that(taken["other_tools"]["state"] == "limited", f"{taken['other_tools']}")
    small = said_json(check, "doctor", "--json", env={"TOMOPROF_MEMORY": "512MiB", "TOMOPROF_ISA": "plain"})["rows"]
    check.that(small["memory"]["state"] == "limited" and small["memory"]["found"].startswith("512"), f"{small['memory']}")
    if "neon" not in rows["processor"]["found"]:  # of x86-64, which has several
        check.that(small["processor"]["state"] == "limited" and "plain" in small["processor"]["found"], f"{small['processor']}")
    if not SANITIZED:
        doctor_of_a_gpu(check, folder)


def doctor_of_a_gpu(check, folder):
    """The pretended driver serves CUDA 13.0; versions of CUPTI that fit it and that do not."""
    fakes = pathlib.Path(TOMOPROF).resolve().parent / "tests/fakes"
    (folder / "libcuda.so.1").symlink_to(fakes / "fake_gpu.so")
    for version, state, words in ((130001, "ok", "of CUDA 13"), (26, "ok", "of CUDA 12"), (17, "missing", "older than"),
                                  (130000, "limited", "synchronisations"), (140000, "limited", "refuses")):
        env = {"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": loadable(fakes / "fake_gpu.so"), "FAKE": f"version={version}",
               "TOMOPROF_CAPTURE_CUPTI": str(fakes / "fake_cupti.so")}
        rows = said_json(check, "doctor", "--json", env=env)["rows"]
        cupti = rows["cupti"]
        check.that(cupti["state"] == state and words in str(cupti), f"CUPTI {version}: {cupti}")
        check.that(rows["nvidia_driver"]["state"] == "ok" and "CUDA 13" in rows["nvidia_driver"]["found"], f"{rows['nvidia_driver']}")
        check.that(rows["gpu_counters"]["found"] != "no NVIDIA driver", f"{rows['gpu_counters']}")


def signals(check, folder):
    """Whenever the signal comes, no half-written file stays, and the parent sees the signal."""
    out = folder / "stopped"
    out.mkdir()
    command = [TOMOPROF, "simulate", "--size", "96" if SANITIZED else "160", "--exact", "--out", str(out / "scan")]
    killed = 0
    for delay in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(command, stderr=subprocess.PIPE)
            time.sleep(delay)
            process.send_signal(number)
            process.communicate(timeout=300)
            code = process.returncode
            check.that(code in (0, -number), f"signal {number} after {delay} s: exit {code}")
            killed += code == -number
            left = [path.name for path in out.iterdir() if path.suffix == ".tmp"]
            check.that(not left, f"signal {number} after {delay} s leaves {left}")
            for path in out.glob("*.npy"):
                np.load(path)  # whole, or np.load raises
    check.that(killed > 0, "no signal came in time")


def terminal(check, folder):
    """Colour on a terminal only where it is welcome."""

    def said(**extra):
        master, slave = pty.openpty()
        process = subprocess.Popen([TOMOPROF, "xyzzy"], stderr=slave, env={**os.environ, "TERM": "xterm", **extra})
        os.close(slave)
        text = b""
        while True:  # a line at a time where the kernel is busy
            try:
                text += os.read(master, 10000)
            except OSError:  # the terminal's other side is closed
                break
        process.wait(timeout=300)
        os.close(master)
        return text.decode()

    check.that("\033" not in said(NO_COLOR="1"), "NO_COLOR is not obeyed")
    check.that("debug: ERR_USAGE at " in said(TOMOPROF_LOG="debug", NO_COLOR="1"), "TOMOPROF_LOG=debug says where")


main(help_texts, earlier_names, latest, wrong_calls, doctor, terminal, simulated, simulated_noise, info, info_run, signals)
