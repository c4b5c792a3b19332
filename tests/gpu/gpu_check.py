"""The check of somebody's own GPU, in at most 10 minutes: sizes that fit its memory and the host's, every step of check.py,
one small archive without names or paths, and one sentence at the end.

    gpu_check.py BUILD FOLDER [SETTINGS]       leaves FOLDER/tomoprof-gpu-check.tar.gz

TOMOPROF_GPU_CHECK=emulator: the same on the emulator of BUILD's tests, with the small sizes of emulated.py."""

import getpass
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402
import emulated  # noqa: E402
import settings as settings_of  # noqa: E402

ARCHIVE = "tomoprof-gpu-check.tar.gz"
# Arrays of float32 of the shape of the sinogram and of the volume, at the peak of MBIR, the largest of the operations.
DEVICE_SINOGRAMS, DEVICE_VOLUMES = 5, 5
HOST_SINOGRAMS, HOST_VOLUMES = 4, 4
# What a row of check.json proves, by the beginning of its name.
PROOFS = (("operators_", "operators equal to float64 twins and MBIRJAX's arrays"), ("fingerprints", "published fingerprints"),
          ("same_bits", "equal bits in every run"), ("load_device", "arrays on the device equal to their files"), ("same_slabs", "slabs equal to the whole"), ("same_as_cpu", "results of the CPU"),
          ("sanitizer_", "NVIDIA's sanitizers"), ("capture", "recordings against known programs"), ("timing_", "times beside the prediction"),
          ("peer_", "other programs on the same arrays"))


def need(cell, sinograms, volumes):
    """Bytes."""
    views, rows, channels = map(int, cell.split("x"))
    return 4 * (sinograms * views * rows * channels + volumes * channels * channels * rows)


def host_memory():
    text = pathlib.Path("/proc/meminfo").read_text()
    return 1024 * int(re.search(r"MemAvailable:\s+(\d+)", text)[1])


def fitted(s, device, host):
    """(settings whose sizes fit both memories, what was left out)"""
    def fits(cell):
        return (device is None or need(cell, DEVICE_SINOGRAMS, DEVICE_VOLUMES) <= 0.9 * device) and \
            need(cell, HOST_SINOGRAMS, HOST_VOLUMES) <= 0.8 * host
    kept = {key: [cell for cell in s[key] if fits(cell)] for key in ("cells", "peer_cells", "reference_cells")}
    if not all(fits(cell) for cell in s["cliff"]):
        smaller = kept["cells"][:1] or s["cells"][:1]
        kept["cliff"] = smaller * 2
    return s | kept, [cell for cell in s["cells"] if not fits(cell)]


def private():
    """Words of this machine and its user that no file may hold."""
    words = {socket.gethostname(), getpass.getuser(), str(pathlib.Path.home())} | {os.environ.get(k, "") for k in ("SUDO_USER", "LOGNAME")}
    return sorted((w for w in words if len(w) > 3 and w not in ("root", "localhost", "user", "/root")), key=len, reverse=True)


def clean(folder):
    """Removes them from what is text; what is packed already was recorded from tomoprof's own programs."""
    for path in folder.iterdir():
        if path.suffix in (".json", ".txt"):
            text = path.read_text(errors="replace")
            for word in private():
                text = text.replace(word, "_")
            path.write_text(text)


def pack(folder):
    """Beside, then renamed; without the owner's name and with the same time for all."""
    part = folder / (ARCHIVE + ".tmp")
    with tarfile.open(part, "w:gz") as archive:
        for path in sorted(folder.iterdir()):
            if path != part and path.name != ARCHIVE:
                info = archive.gettarinfo(path, arcname=f"tomoprof-gpu-check/{path.name}")
                info.uid = info.gid = 0
                info.uname = info.gname = ""
                with open(path, "rb") as file:
                    archive.addfile(info, file)
    part.replace(folder / ARCHIVE)
    return folder / ARCHIVE


def sentence(found, left_out, archive):
    """What was proved, what was not, and where to send it."""
    rows = found["steps"]
    proved = [text for start, text in PROOFS if (of := [r for r in rows if r["name"].startswith(start)])
              and any(r["status"] == "passed" for r in of) and not any(r["status"] == "failed" for r in of)]
    failed = [r["name"] for r in rows if r["status"] == "failed"]
    skipped = sum(r["status"] == "skipped" for r in rows)
    device = found["machine"]["device"].split(",")[0]
    text = f"On the {device} {len(rows) - len(failed) - skipped} of {len(rows)} steps passed"
    text += f", which proves: {'; '.join(proved)}." if proved else "."
    if failed:
        text += f" Failed: {', '.join(failed)}."
    if skipped:
        text += f" Skipped: {skipped}, with reasons in check.json."
    if left_out:
        text += f" Too large for the memory here: {', '.join(left_out)}."
    if found["machine"]["emulated"]:
        return f"{text} {archive} is of the emulator and says nothing about a GPU; it holds no names and no paths."
    return f"{text} Please attach {archive} to a report on the project's page, whatever the result: it holds no names and no paths."


def checked(build, out, s):
    """Runs the check of a build folder; the exit code."""
    try:
        done = subprocess.run([build / "tomoprof", "doctor", "--json"], env=check.environment_of(build), capture_output=True, text=True, timeout=120)
        cuda = json.loads(done.stdout)["back_ends"]["cuda"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        print(f"{build}/tomoprof doctor does not answer: {error}", file=sys.stderr)
        return 1
    if not cuda["usable"]:
        print(f"No GPU could be checked: {cuda['reason']}")
        return 77
    s, left_out = fitted(s, check.memory_of(cuda["device"]), host_memory())
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tomoprof-check-", dir=check.roomy()) as name:
        work = pathlib.Path(name)
        (work / "logs").mkdir()
        (work / "files").mkdir()
        code = check.run(build, work / "files", work, s)
        clean(work / "files")
        found = json.loads((work / "files/check.json").read_text())
        archive = pack(work / "files")
        shutil.copy(archive, out / (ARCHIVE + ".tmp"))
    (out / (ARCHIVE + ".tmp")).replace(out / ARCHIVE)
    print(sentence(found, left_out, out / ARCHIVE) if found["machine"] else f"The check could not begin: {found['steps'][-1]['reason']}")
    return code


def main():
    on = os.environ.get("TOMOPROF_GPU_CHECK", "")
    if len(sys.argv) not in (3, 4) or on not in ("", "emulator"):
        print(__doc__, file=sys.stderr)
        return 2
    build, out = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    try:
        s = settings_of.load(sys.argv[3] if len(sys.argv) == 4 else None, emulated.SETTINGS if on else None)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if not on:
        return checked(build, out, s)
    with tempfile.TemporaryDirectory(prefix="tomoprof-emulated-") as name:
        return checked(emulated.build_of(build, pathlib.Path(name) / "build", s["tests"]), out, s)


if __name__ == "__main__":
    sys.exit(main())
