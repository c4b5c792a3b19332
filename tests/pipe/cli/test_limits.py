"""Limits of the system and odd kinds of files: what tomoprof cannot write ends with one sentence and nothing half-made, what is
no file is refused at once, one SIGTERM ends every command, and a program that is recorded runs whatever its limits are."""

import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, EMULATED, SANITIZED, TOMOPROF, have, main, tomoprof

PATIENT = 300  # s: whoever is not done then waits for something that never comes
KIB = 1024


def left_behind(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.tmp"))


def limited(what, soft, hard=None):
    return lambda: resource.setrlimit(what, (soft, soft if hard is None else hard))


def a_full_quota_ends_the_work_with_its_sentence(check, folder):
    """What exceeds RLIMIT_FSIZE (ulimit -f) is an error of the write, not the end by SIGXFSZ."""
    make = tomoprof("simulate", "--size", 24, "--out", folder / "s")
    shutil.copytree(DATA / "profile", folder / "run")
    (folder / "run" / "example.json").rename(folder / "run" / "profile.json")
    check.that(make.returncode == 0, f"{make}")
    scans = have("hdf5")
    for words in (["simulate", "--size", 24, "--out", folder / "t"],
                  ["recon", "--in", folder / "s.h5", "--out", folder / "v.nii"],
                  ["recon", "--in", folder / "s.h5", "--out", folder / "v.nii.gz"],
                  ["apply", "back_project", "-g", folder / "s.json", "-i", folder / "s_sinogram.npy", "-o", folder / "b.npy"],
                  ["report", folder / "run"], ["export", "--to", "speedscope", folder / "run"]):
        if words[0] == "recon" and not scans:
            continue
        before = sorted(folder.rglob("*"))
        done = tomoprof(*words, preexec_fn=limited(resource.RLIMIT_FSIZE, 2 * KIB))
        check.that(done.returncode == 1 and done.stderr.count("tomoprof: ") == 1 and "File too large" in done.stderr.splitlines()[-1],
                   f"{words[0]}: {done.returncode} {done.stderr}")
        made = [p for p in folder.rglob("*") if p not in before and p.name != "t.json"]  # which is small, and written first
        check.that(not left_behind(folder) and not made, f"{words[0]}: left {left_behind(folder)}, made {made}")


def the_programs_own_file_limit_is_its_matter(check, folder):
    """SIGXFSZ ends it, as bare; the trace, which meets the same limit, does not end it."""
    out = folder / "out"
    grow = ["sh", "-c", f"echo begun; head -c 300000 /dev/zero > '{folder / 'large'}'; echo $?"]
    work = [sys.executable, "-c", "x = [bytes(9000) for i in range(20000)]\nfor i in range(3000000): pass\nprint('done')"]
    for words, limits in ((grow, (64 * KIB,)), (work, (0, 2 * KIB, 10 * KIB, 20 * KIB, 100 * KIB))):
        for limit in limits:
            bare = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limited(resource.RLIMIT_FSIZE, limit), timeout=PATIENT)
            done = tomoprof("record", "--out", out, *words, preexec_fn=limited(resource.RLIMIT_FSIZE, limit))
            check.that((done.returncode, done.stdout.encode()) == (bare.returncode, bare.stdout), f"limit {limit}: {done}, bare {bare}")
            check.that(not left_behind(folder), f"limit {limit}: {left_behind(folder)}")
    shows = ["grep", "Sig[IC]", "/proc/self/status"]
    bare, done = subprocess.run(shows, stdout=subprocess.PIPE, text=True), tomoprof("record", "--no-analysis", "--out", out, *shows)
    check.that(done.stdout.splitlines()[0] == bare.stdout.splitlines()[0], f"ignored: {done.stdout}, bare {bare.stdout}")


def what_is_no_file_is_refused_at_once(check, folder):
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as s:
        here = os.open(folder, os.O_RDONLY)
        s.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    tomoprof("simulate", "--size", 16, "--out", folder / "s")
    geometry, sinogram, run = folder / "s.json", folder / "s_sinogram.npy", folder / "run"
    shutil.copytree(DATA / "profile", run)
    (run / "example.json").rename(run / "profile.json")
    back = ["apply", "back_project", "--out", folder / "x.npy"]
    for odd, kind in ((folder / "fifo", "a pipe"), (folder / "socket", "a socket"), (pathlib.Path("/dev/zero"), "a device")):
        for words in (["info", odd], ["recon", "--in", odd, "--out", folder / "v.nii"],
                      ["recon", "--in", sinogram, "--geometry", odd, "--out", folder / "v.nii"],
                      [*back, "-g", odd, "-i", sinogram], [*back, "-g", geometry, "-i", odd],
                      ["apply", "hessian_diagonal", "-g", geometry, "-w", odd, "-o", folder / "x.npy"],
                      ["simulate", "--geometry", odd, "--out", folder / "t"],
                      ["compare", run, odd], ["triage", run, "--weights", odd]):
            try:
                done = tomoprof(*words, timeout=PATIENT)
            except subprocess.TimeoutExpired:
                check.that(False, f"{words}: waits")
                continue
            check.that(done.returncode == 2 and done.stderr.count("\n") == 1 and f"{odd}: is {kind}" in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    os.mkfifo(run / "report.html")  # an output that nobody would read: refused, or replaced
    try:
        done = tomoprof("report", run, timeout=PATIENT)
        check.that(done.returncode in (0, 1) and done.stderr.count("\n") == 1, f"report.html is a pipe: {done.returncode} {done.stderr}")
    except subprocess.TimeoutExpired:
        check.that(False, "report: waits for a reader of report.html")
    (run / "profile.json").unlink()
    os.mkfifo(run / "profile.json")
    for words in (["report", run], ["report", run, "--text"], ["export", "--to", "csv", run], ["compare", run, run], ["triage", run], ["info", run],
                  ["report", run / "profile.json"], ["info", run / "profile.json"]):
        try:
            done = tomoprof(*words, timeout=PATIENT)
            check.that(done.returncode == 2 and done.stderr.count("\n") == 1, f"{words}: {done.returncode} {done.stderr}")
        except subprocess.TimeoutExpired:
            check.that(False, f"{words}: waits")


def one_sigterm_ends_every_command(check, folder):
    """Each would go on for minutes."""
    tomoprof("simulate", "--size", 128, "--out", folder / "s")
    geometry, sinogram = folder / "s.json", folder / "s_sinogram.npy"
    endless = ["--iterations", 100000, "--stop-threshold", 0]
    for words in (["simulate", "--size", 700, "--exact", "--out", folder / "t"], ["run", "--out", folder / "runs"],
                  ["recon", "--in", folder / "s.h5", "--method", "mbir", *endless, "--out", folder / "v.nii"],
                  ["apply", "mbir_recon", "-g", geometry, "-i", sinogram, *endless, "-o", folder / "x.npy"],
                  ["record", "--out", folder / "runs", "sleep", 600]):
        if words[0] == "recon" and not have("hdf5"):
            continue
        # The recorder hands signals on, and before it does must not keep one for itself: it is sent at many moments of its start.
        for wait in (*(0.003 * i for i in range(20)), 0.1, 0.7) if words[0] == "record" else (0.1, 0.7):
            p = subprocess.Popen([TOMOPROF, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
            time.sleep(wait)
            p.terminate()
            try:
                _, err = p.communicate(timeout=PATIENT)
                check.that(p.returncode in (-signal.SIGTERM, 130), f"{words}: exit {p.returncode} {err}")
            except subprocess.TimeoutExpired:
                check.that(False, f"{words}: goes on after SIGTERM")
                os.killpg(p.pid, signal.SIGKILL)
                p.communicate()
            check.that(not left_behind(folder), f"{words}: {left_behind(folder)}")


def as_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


def a_recorded_program_runs_whatever_its_limits_are(check, folder):
    out = folder / "out"
    words = ["sha256sum", "/etc/passwd", "/nowhere"]  # one file at a time, and the exit code of a failure
    limits = [("4 descriptors", limited(resource.RLIMIT_NOFILE, 4)), ("no locks", limited(resource.RLIMIT_MEMLOCK, 0)),
              ("no signals", limited(resource.RLIMIT_SIGPENDING, 0))]
    if EMULATED:
        print("  skipped: 4 descriptors, of which the program gets fewer in the emulator than outside")
        limits = limits[1:]
    if not SANITIZED:  # a sanitizer needs more of both
        limits += [("64 KiB of stack", limited(resource.RLIMIT_STACK, 64 * KIB)), ("64 MiB of addresses", limited(resource.RLIMIT_AS, 64 << 20))]
    if os.getuid() == 0:
        out.mkdir()
        for path in (folder, out):
            path.chmod(0o777)
        if subprocess.run([TOMOPROF, "--version"], preexec_fn=as_nobody, stdout=subprocess.DEVNULL).returncode == 0:
            limits.append(("one process", as_nobody))
        else:
            print("  skipped: another user may not read the build folder")
    else:
        limits.append(("one process", limited(resource.RLIMIT_NPROC, 1)))
    for what, limit in limits:
        bare = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=limit)
        for mode in ([], ["--no-analysis"]):
            done = tomoprof("record", *mode, "--out", out, *words, preexec_fn=limit)
            check.that(done.returncode == bare.returncode == 1 and done.stdout == bare.stdout != "", f"{what}: {done}, bare {bare}")
            check.that("tomoprof: " in done.stderr or "tomoprof report " in done.stderr, f"{what}: {done.stderr}")


if __name__ == "__main__":
    main(a_full_quota_ends_the_work_with_its_sentence, the_programs_own_file_limit_is_its_matter, what_is_no_file_is_refused_at_once,
         one_sigterm_ends_every_command, a_recorded_program_runs_whatever_its_limits_are)
