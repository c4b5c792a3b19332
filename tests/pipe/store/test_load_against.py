"""`load` of a part and of several files: channels and scenes by name, smaller versions, a copy that pays, the card of a data set, the disk."""

import json
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from test_load import loaded
from tool import DATA, main, tomoprof

CHANNELS = DATA / "store/czi/channels.czi"


def channels(check, folder):
    """Two scenes, two channels, two tiles each: a channel is half of the tiles."""
    for words, array, name in ((("--channel", 1), "scene0", "1"), (("--channel", "GFP & more"), "scene0", "GFP & more"),
                               (("--channel", "DAPI", "--scene", 1), "scene1", "DAPI"), (("--channel", 0, "--array", "scene1"), "scene1", "0")):
        said = loaded(check, folder, CHANNELS, *words)
        check.that(said["file"]["array"] == array and said["file"]["channel"] == name, f"{words}: {said['file']}")
        check.that(said["file"]["chunks"] == said["chunks_read"] == 2 and sum(said["chunks"]["decoded"]) == 2 * 8 * 12 * 2, f"{words}: {said['chunks']}")
    few = loaded(check, folder, CHANNELS, "--channel", 1, "--tiles", 1)
    full = few["estimate_full_s"]
    check.that(few["chunks_read"] == 1 and few["file"]["chunks"] == 2 and full["low"] <= full["mid"] <= full["high"], f"{few['chunks_read']} {full}")
    check.that(loaded(check, folder, CHANNELS)["file"]["channel"] is None, "all channels")
    told = json.loads(tomoprof("info", "--json", CHANNELS).stdout)["arrays"]["scene1"]
    check.that(told["channels"] == "DAPI, GFP & more" and told["axes"] == "c, y, x", f"{told}")


def scalings(check, folder):
    """Level 1 of the file is what its writer made of it; a factor without a level is the mean of blocks."""
    store = DATA / "store/zarr/ome.zarr"
    said = loaded(check, folder, store, "--array", 0, "--scaling", "2,3")
    two, three = said["scalings"]
    check.that((two["factor"], two["level"], three["factor"], three["level"]) == (2, "1", 3, None), f"{said['scalings']}")
    call = [tomoprof("convert", store, folder / f"{n}.npy", "--array", n) for n in "01"]
    check.that(all(c.returncode == 0 for c in call), call[0].stderr)
    full, half = (np.load(folder / f"{n}.npy").astype(float) for n in "01")
    check.that(two["shape"] == list(half.shape) and three["shape"] == [5, 13, 14], f"{two['shape']}, {three['shape']} of {full.shape}")
    at = [np.minimum(np.arange(n) // (1 if n == m else 2), m - 1) for n, m in zip(full.shape, half.shape)]
    error = math.sqrt(((full - half[np.ix_(*at)]) ** 2).mean())
    check.that(abs(two["rmse"] / error - 1) < 1e-6 and abs(two["psnr_db"] - 20 * math.log10(np.ptp(full) / error)) < 1e-6, f"{two}, {error}")
    means = full.copy()
    for i in range(0, full.shape[1], 3):
        for j in range(0, full.shape[2], 3):
            means[:, i:i + 3, j:j + 3] = full[:, i:i + 3, j:j + 3].mean(axis=(1, 2), keepdims=True)
    error = math.sqrt(((full - means) ** 2).mean())
    check.that(abs(three["rmse"] / error - 1) < 1e-5, f"{three}, {error}")
    for row in said["scalings"]:
        check.that(row["seconds"] > 0 and abs(row["speedup"] * row["seconds"] / row["full_s"] - 1) < 1e-9, f"{row}")
    np.save(folder / "flat.npy", np.full((4, 8), 3, np.uint8))
    flat = loaded(check, folder, folder / "flat.npy", "--scaling", 4)["scalings"][0]
    check.that(flat["rmse"] == 0 and flat["psnr_db"] is None and flat["shape"] == [1, 2], f"{flat}")


def copy(check, folder):
    """Noise in gzip against the same uncompressed: the copy is faster, and the number of reads follows from the times."""
    np.save(folder / "x.npy", np.random.default_rng(5).integers(0, 4000, (32, 256, 256), dtype=np.uint16))
    check.that(tomoprof("convert", folder / "x.npy", folder / "x.zarr", "--codec", "gzip:6").returncode == 0, "the file")
    said = loaded(check, folder, folder / "x.zarr", "--copy", folder / "copy.npy")["copy"]
    check.that((np.load(folder / "copy.npy") == np.load(folder / "x.npy")).all(), "the copy holds the array")
    saved = said["original_s"] - said["read_s"]
    check.that(saved > 0 and said["reads"] == math.ceil(said["made_s"] / saved) and said["made_s"] > 0, f"{said}")
    slower = loaded(check, folder, folder / "copy.npy", "--copy", folder / "back.nii.gz")["copy"]
    check.that(slower["reads"] is None and slower["read_s"] > slower["original_s"], f"{slower}")
    table = tomoprof("load", folder / "x.zarr", "--copy", folder / "again.npy", "--out", folder / "out").stdout
    check.that("It pays after " in table, table)


def sets(check, folder):
    """Nine files: one of another shape, one of another type, one that is damaged."""
    for i in range(8):
        np.save(folder / f"scan{i}.npy", np.zeros((6, 40, 30 + 90 * (i == 3)), "f4" if i == 5 else "u2"))
    (folder / "scan8.npy").write_bytes(b"\x93NUMPY")
    said = loaded(check, folder, f"{folder}/scan?.npy")
    card, members = said["set"], {pathlib.Path(m["path"]).name: m for m in said["members"]}
    check.that((card["files"], card["failed"], len(members)) == (9, 1, 9), f"{card}")
    check.that([(k["files"], k["shape"], k["dtype"]) for k in card["kinds"]][0] == (6, [6, 40, 30], "uint16") and len(card["kinds"]) == 3, f"{card['kinds']}")
    check.that("another shape" in members["scan3.npy"]["outlier"] and "4 times the median stored bytes" in members["scan3.npy"]["outlier"], f"{members['scan3.npy']}")
    check.that("another type" in members["scan5.npy"]["outlier"] and "scan8.npy" in members["scan8.npy"]["failure"], f"{members['scan5.npy']}")
    good = [m for m in members.values() if not m["failure"]]
    check.that(card["bytes"] == sum(m["bytes"] for m in good) and abs(card["seconds"] - sum(m["seconds"] for m in good)) < 1e-12, f"{card}")
    check.that(card["median"] in {m["path"] for m in good} and members["scan8.npy"]["seconds"] is None, f"{card['median']}")
    table = tomoprof("load", *sorted(folder.glob("scan?.npy")), "--out", folder / "out").stdout
    check.that("Data set: 9 files" in table and "     6 of 6 x 40 x 30 uint16" in table and "Cannot be read:\n" in table, table)


def disk(check, folder):
    """Requests are counted, or there is a reason; ratings of the disk come only where it was read."""
    np.save(folder / "x.npy", np.zeros((8, 512, 512), np.uint16))
    cold, warm = (loaded(check, folder, folder / "x.npy", "--cache", c) for c in ("cold", "warm"))
    for said in (cold, warm):
        d = said["disk"]
        check.that((d["reason"] is None) == (d["name"] is not None) == (d["requests"] is not None), f"{d}")
        check.that(d["requests"] is None or (d["requests_per_s"] >= 0 and 0 <= d["busy_share"] <= 1 and (d["wait_s"] is None) == (d["requests"] == 0)), f"{d}")
        rated = "disk busy" in {r["name"] for r in said["ratings"]}
        check.that(rated == (d["requests"] is not None and d["requests"] > 0 and d["bytes"] >= sum(said["chunks"]["stored"]) // 2), f"{d}, {said['ratings']}")


def refused(check, folder):
    (folder / "a").write_text("hello")
    npy = DATA / "store/npy/f4.npy"
    for words, args in (("--channel 2: scene0 has the channels 0 to 1: DAPI, GFP & more", (CHANNELS, "--channel", 2)),
                        ("--channel nope: ", (CHANNELS, "--channel", "nope")), ("has no channels", (npy, "--channel", 0)),
                        ("has no array scene9; it has scene0, scene1", (CHANNELS, "--scene", 9)), ("give one of them", (CHANNELS, "--scene", 0, "--array", "scene0")),
                        ("--scaling 1: give factors of at least 2", (npy, "--scaling", 1)), ("leave --tiles", (npy, "--scaling", 2, "--tiles", 1)),
                        ("--copy: give one file; 2 are given", (npy, CHANNELS, "--copy", folder / "c.npy")), ("no file fits this pattern", (f"{folder}/no*",)),
                        ("none of 2 files can be read; the first: ", (folder / "a", folder / "a")), ("the name must end in", (npy, "--copy", folder / "c.xyz"))):
        done = tomoprof("load", *args, "--out", folder / "out")
        check.that(done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, f"{args}: {done.returncode} {done.stderr}")
    check.that(not (folder / "c.npy").exists(), "nothing was written")


if __name__ == "__main__":
    main(channels, scalings, copy, sets, disk, refused)
