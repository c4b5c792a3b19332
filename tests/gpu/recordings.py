"""Records our own CUDA suite at a small size and keeps what fits: recordings.py PROGRAM FOLDER OUT.tar.xz SETTINGS.json.
OUT holds profile.json, record.json and the trace, or the first two where the trace is too large to be kept. Exit 1 when
the recording missed the GPU's work."""

import json
import pathlib
import subprocess
import sys
import tarfile

MOST = 2_000_000  # bytes of the archive


def pack(out, run, names):
    with tarfile.open(out, "w:xz") as archive:
        for name in names:
            if (run / name).exists():
                archive.add(run / name, arcname=name)
    return out.stat().st_size


def main():
    program, folder, out, settings = sys.argv[1:]
    settings, folder, out = json.loads(pathlib.Path(settings).read_text()), pathlib.Path(folder), pathlib.Path(out)
    recorded = [program, "run", "--backend", "cuda", "--sizes", settings["record_size"], "--runs", 2, "--no-trace", "--ops",
                settings["record_operations"], "--out", folder / "suite"]
    done = subprocess.run([str(word) for word in [program, "record", "--out", folder / "record", "--", *recorded]],
                          capture_output=True, text=True)
    print(done.stdout + done.stderr)
    if done.returncode:
        return 1
    run = next((folder / "record").glob("*/record.json")).parent
    size, kept = pack(out, run, ["profile.json", "record.json", "trace"]), "whole"
    if size > MOST:
        size, kept = pack(out, run, ["profile.json", "record.json"]), f"without the trace, with it {size} bytes"
    profile = json.loads((run / "profile.json").read_text())
    totals = profile["totals"]
    print(f"{totals['kernels']} kernels, {totals['launches']} launches, GPU busy {totals['gpu_busy_s']} s; {size} bytes ({kept})")
    if not totals["kernels"] and not settings["emulated"]:
        reasons = [item["text"] for item in profile["quality"]["items"]]
        print("no kernel was recorded: " + (" ".join(reasons) or "the profile does not say why"))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
