"""All of the machine is read-only but one folder, and the user has no name and no home, as in a container that is started with --read-only --user:
every command works, or says in one sentence what it cannot write."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "faults"))
import fuse
from tool import DATA, TOMOPROF, have, main, tomoprof

NAMELESS = 12345
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096


def before(place):
    """What the process does before it becomes tomoprof; `place`: all that it may write to, None: nothing."""
    def enter():
        fuse.own_mounts()
        if place:
            fuse.called(fuse.LIBC.mount(str(place).encode(), str(place).encode(), None, MS_BIND, None), "a mount")
        for point in [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]:
            if point not in (str(place), "/dev/shm") and not point.startswith(("/proc", "/sys", "/dev")):
                fuse.LIBC.mount(b"none", point.encode(), None, MS_REMOUNT | MS_BIND | MS_RDONLY, None)
        os.setgroups([])
        os.setresgid(NAMELESS, NAMELESS, NAMELESS)
        os.setresuid(NAMELESS, NAMELESS, NAMELESS)
        os.chdir("/")
    return enter


def call(place, *words):
    env = {"HOME": "/nowhere", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "TMPDIR": str(place or "/nowhere")}
    return tomoprof(*words, env=env, preexec_fn=before(place))


def one_folder(check, folder):
    place = folder / "place"
    place.mkdir()
    os.chown(place, NAMELESS, NAMELESS)
    folder.chmod(0o755)
    done = subprocess.run(["touch", folder / "never"], preexec_fn=before(place), stderr=subprocess.PIPE, text=True)
    check.that(done.returncode != 0 and not (folder / "never").exists(), "the machine is not read-only")
    program = ["sh", "-c", "head -c 300000000 /dev/zero | sha256sum"]
    calls = [["--version"], ["doctor"], ["info", DATA / "store/nifti/i2.nii"], ["convert", DATA / "store/nifti/i2.nii", place / "v.npy"],
             ["load", DATA / "store/tiff/u2_pages.tif", "--out", place / "runs"], ["simulate", "--size", 16, "--out", place / "s"],
             ["record", "--out", place / "runs", "--", *program], ["list"], ["report", "--text", place / "runs/latest"],
             ["export", "--to", "speedscope", place / "runs/latest"], ["import", DATA / "import/pyspy.folded", "--out", place / "runs"],
             ["run", "--ops", "median_filter3d", "--sizes", "16", "--out", place / "runs"], ["apply", "median_filter3d", "-i", place / "s_volume.npy", "-o", place / "m.npy"]]
    if have("hdf5"):
        calls += [["recon", "--in", place / "s.h5", "--out", place / "v.nii"], ["info", DATA / "scan/exchange.h5"]]
    for words in calls:
        done = call(place, *words)
        check.that(done.returncode == 0, f"{words[0]}: {done.returncode} {done.stdout[-300:]} {done.stderr}")
        check.that("Read-only" not in done.stderr and "ermission denied" not in done.stderr, f"{words[0]}: {done.stderr}")


def nothing(check, folder):
    """No folder at all: what needs none works, the rest is one sentence."""
    folder.chmod(0o755)
    for words, code in ((["--version"], 0), (["info", DATA / "store/nifti/i2.nii"], 0), (["doctor"], 0), (["convert", DATA / "store/nifti/i2.nii", folder / "v.npy"], 1),
                        (["load", DATA / "store/nifti/i2.nii", "--out", folder / "runs"], 1), (["simulate", "--size", 16, "--out", folder / "s"], 1),
                        (["record", "--out", folder / "runs", "--", "true"], 1), (["record", "--", "true"], 1)):
        done = call(None, *words)
        said = [line for line in done.stderr.splitlines() if line.startswith("tomoprof: ")]
        check.that(done.returncode == code and len(said) == code and (not code or "Read-only file system" in said[0] or "ermission denied" in said[0]),
                   f"{words[0]}: {done.returncode} {done.stderr}")


if __name__ == "__main__":
    if os.geteuid():
        print("skipped: only root can make the machine read-only for a process")
        sys.exit(77)
    if subprocess.run([TOMOPROF, "--version"], preexec_fn=lambda: os.setresuid(NAMELESS, NAMELESS, NAMELESS), stdout=subprocess.DEVNULL).returncode:
        print("skipped: another user may not read the build folder")
        sys.exit(77)
    try:
        subprocess.run(["true"], preexec_fn=before(None), check=True)
    except subprocess.SubprocessError as why:
        print(f"skipped: {why}")
        sys.exit(77)
    main(one_folder, nothing)
