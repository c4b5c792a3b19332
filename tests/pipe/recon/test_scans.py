"""recon --in of every format of scans: the same volume from the same counts, and the attenuation that is known."""

import json
import pathlib
import re
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import scans
from tool import DATA, have, main, relative, tomoprof

SCANS = DATA / "scan"


def recon(check, folder, *args, code=0):
    out = folder / "v.npy"
    out.unlink(missing_ok=True)
    r = tomoprof("recon", *args, "--out", out)
    check.that(r.returncode == code, f"recon {args}: exit {r.returncode}: {r.stderr}")
    return (np.load(out) if out.exists() else None), r.stderr


def same_volume(check, folder):
    """Each format against .npy arrays, and those against the disc."""
    center = ["--center", scans.CENTER]
    reference, _ = recon(check, folder, *scans.arrays(folder), *center)
    middle = (scans.CHANNELS - 1) / 2
    y, x = np.mgrid[:scans.CHANNELS, :scans.CHANNELS] - middle
    inside = [((x - sx * scans.DISC_X)**2 + (y - sy * scans.DISC_Y)**2) < (scans.RADIUS - 2)**2 for sx in (1, -1) for sy in (1, -1)]
    inside += [((y - sx * scans.DISC_X)**2 + (x - sy * scans.DISC_Y)**2) < (scans.RADIUS - 2)**2 for sx in (1, -1) for sy in (1, -1)]
    means = [reference[m].mean() for m in inside]
    check.that(abs(max(means) / scans.MU - 1) < 0.03, f"means of the disc: {means}, it is {scans.MU}")
    span = ["--angles", f"0:{180 - 180 / scans.VIEWS}"]
    cases = {"stack": ["--in", scans.stacks(folder), *span], "txrm": ["--in", SCANS / "parallel.txrm"]}
    if have("hdf5"):
        cases |= {"exchange": ["--in", SCANS / "exchange.h5"], "nxtomo": ["--in", SCANS / "nxtomo.nx"]}
    for name, case in cases.items():
        volume, said = recon(check, folder, *case, *center)
        difference = relative(volume, reference)
        check.that(difference < 1e-5, f"{name} differs from the arrays by {difference}: {said}")
        part, _ = recon(check, folder, *case, *center, "--rows", "1:4")
        check.that(relative(part, reference[:, :, 1:4]) < 1e-5, f"{name}: --rows")


def binned(check, folder):
    """--bin 2 is the reconstruction of means of 2 x 2 counts; the axis, in channels of the detector, stays."""
    args = scans.arrays(folder)
    half = lambda x: x[:, :4].reshape(len(x), 2, 2, -1, 2).mean((2, 4)).astype(np.float32)
    for name in ("counts", "flats", "darks"):
        np.save(folder / f"half_{name}.npy", half(np.load(folder / f"{name}.npy")))
    volume, _ = recon(check, folder, *args, "--rows", "0:4", "--bin", "2", "--center", scans.CENTER)
    small = [folder / ("half_" + a.name) if hasattr(a, "suffix") and a.suffix == ".npy" else a for a in args]
    reference, _ = recon(check, folder, *small, "--center", (scans.CENTER + 0.5) / 2 - 0.5)
    check.that(volume.shape == (20, 20, 2), f"shape {volume.shape}")
    check.that(relative(volume, reference / 2) < 1e-5, "--bin 2 is not the reconstruction of means")  # per pixel of the detector
    found, said = recon(check, folder, *args, "--bin", "2")
    check.that("(found)" in said, said)
    _, said = recon(check, folder, *args, "--bin", "41", code=2)
    check.that("--bin 41: there are 5 rows of 40 channels" in said, said)


def cone(check, folder):
    """Distances, pixel and axis of a TXRM file: a ball of known attenuation and size."""
    volume, said = recon(check, folder, "--in", SCANS / "cone.txrm")
    n, rows, r = scans.CONE["channels"], scans.CONE["rows"], scans.CONE["radius"]
    check.that(volume.shape == (n, n, rows) and "channel 10.00 (from the file)" in said, f"{volume.shape}: {said}")
    y, x, z = np.mgrid[:n, :n, :rows] - np.array([(n - 1) / 2, (n - 1) / 2, (rows - 1) / 2])[:, None, None, None]
    distance = np.sqrt(x * x + y * y + z * z)
    inside, outside = volume[distance < r - 1.5].mean(), volume[(distance > r + 1.5) & (abs(z) < r)].mean()
    check.that(abs(inside / scans.MU - 1) < 0.05 and abs(outside) < 0.1 * scans.MU, f"inside {inside}, outside {outside}, it is {scans.MU}")
    for first, last in ((2, 10), (3, 12), (0, 5)):
        part, said = recon(check, folder, "--in", SCANS / "cone.txrm", "--rows", f"{first}:{last}")
        check.that(part.shape == (n, n, last - first), f"{part.shape}")
        told = re.search(r"(\d+) of the (\d+) slices, from (\d+) on, need no other rows", said)
        check.that(bool(told) and int(told[2]) == last - first, said)
        count, at = int(told[1]), int(told[3])
        check.that(count > 0, said)
        same = relative(part[:, :, at:at + count], volume[:, :, first + at:first + at + count])
        check.that(same < 1e-5, f"rows {first}:{last}: slices {at} to {at + count} differ by {same}")
        beyond = [k for k in range(last - first) if not at <= k < at + count]
        worst = max(relative(part[:, :, k], volume[:, :, first + k]) for k in beyond)
        check.that(worst > 1e-3, f"rows {first}:{last}: slices {beyond} differ by {worst} only: they need no other rows either")
    binned_, said = recon(check, folder, "--in", SCANS / "cone.txrm", "--rows", "1:12", "--bin", 2)
    whole_, _ = recon(check, folder, "--in", SCANS / "cone.txrm", "--rows", "1:11", "--bin", 2)
    check.that(binned_.shape == (n // 2, n // 2, 5) and relative(binned_, whole_) == 0, "the odd row is left out")
    info = json.loads(tomoprof("info", "--json", SCANS / "cone.txrm").stdout)
    check.that(info["beam"] == "cone" and abs(info["source_to_axis"] - 0.15) < 1e-6 and info["flats"] == 1, f"{info}")


def angles_of_files(check, folder):
    """Radians in NXtomo, degrees elsewhere, counter-clockwise in TXRM."""
    names = ["parallel.txrm"] + (["nxtomo.nx", "exchange.h5"] if have("hdf5") else [])
    for name in names:
        info = json.loads(tomoprof("info", "--json", SCANS / name).stdout)
        check.that(abs(info["theta_first"]) < 1e-4 and abs(info["theta_last"] - scans.angles()[-1]) < 1e-4, f"{name}: {info}")
        check.that(info["shape"] == [scans.VIEWS, scans.ROWS, scans.CHANNELS] and info["flats"] == 4, f"{name}: {info}")


def wrong_calls(check, folder):
    args = scans.arrays(folder)
    np.save(folder / "narrow.npy", scans.flats()[:, :, :-1])
    (folder / "few.txt").write_text("0 1 2")
    (folder / "words.txt").write_text("0 1 zwei")
    swap = lambda option, value: [value if i and args[i - 1] == option else a for i, a in enumerate(args)]
    for call, phrase, code in (
            (args[:2], "counts need --flats FILE", 2), (swap("--flats", folder / "narrow.npy"), "frames of 5 x 39, the views 5 x 40", 2),
            (swap("--angles", folder / "few.txt"), "has 3 angles; the scan has 48 views", 2),
            (swap("--angles", folder / "words.txt"), '"zwei" is not an angle', 2),
            (["--in", DATA / "store/txrm/u2.txrm"], "has no flat fields: give them with --flats FILE", 2)):
        _, said = recon(check, folder, *call, code=code)
        check.that(phrase in said and said.strip().splitlines()[-1].find(phrase) >= 0, f"{call}: {said!r}, not {phrase!r}")


if __name__ == "__main__":
    main(same_volume, binned, cone, angles_of_files, wrong_calls)
