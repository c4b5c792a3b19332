"""`info --histogram` against numpy.histogram, and the page of `recon --page`: its numbers, its pictures, no script and no network."""

import base64
import gzip
import json
import pathlib
import re
import struct
import sys

import numpy as np

from test_practice import similarity
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, tomoprof, write_json


def histogram(check, path, *words):
    r = tomoprof("info", "--histogram", "--json", *words, path)
    return json.loads(r.stdout) if check.that(r.returncode == 0, f"{path.name} {words}: {r.stderr}") else None


def counts(check, folder):
    """Exactly NumPy's counts and edges, of floats and integers, with NaN and infinities counted apart."""
    draw = np.random.default_rng(7)
    edges = np.linspace(-1, 3, 65)
    arrays = {"normal": draw.standard_normal((40, 30, 20)).astype("<f4"), "on edges": draw.choice(edges, 5000), "double": draw.standard_normal(3000) * 1e300,
              "bytes": draw.integers(0, 255, (17, 30), dtype=np.uint8), "negative": draw.integers(-30000, 30000, 4001).astype("<i2"), "two": np.float32([2, 5]),
              "constant": np.full((5, 4, 3), 7.25, "<f4"), "zero": np.zeros(9, "<f4"), "one": np.float32([-3]), "tiny": np.float32([1, 1 + 2**-23, 1 + 2**-22])}
    for name, x in arrays.items():
        np.save(folder / "x.npy", x)
        for bins in (None, 1, 7, 1000):
            h = histogram(check, folder / "x.npy", *(() if bins is None else ("--bins", bins)))
            found, at = np.histogram(x.astype(float), 64 if bins is None else bins)
            if h:
                check.that(h["counts"] == found.tolist() and h["edges"] == at.tolist(), f"{name}, {bins} bins: {h['counts'][:9]}, NumPy has {found[:9]}")
                check.that((h["nan"], h["minus_infinity"], h["plus_infinity"], h["finite"]) == (0, 0, 0, x.size), f"{name}: {h}")
    x = arrays["normal"].copy()
    x.flat[:7] = np.nan
    x.flat[[50, 70]] = np.inf
    x.flat[[90, 95, 99]] = -np.inf
    np.save(folder / "x.npy", x)
    h, found = histogram(check, folder / "x.npy"), np.histogram(x[np.isfinite(x)].astype(float), 64)[0]
    check.that(h and h["counts"] == found.tolist() and (h["nan"], h["minus_infinity"], h["plus_infinity"]) == (7, 3, 2), f"not finite: {h}")
    check.that(h and sum(h["counts"]) == h["finite"] == x.size - 12, f"finite: {h}")
    for name, x, words in (("nothing finite", np.float32([np.nan, np.inf]), (0, 1)), ("constant, large", np.float32([1e30]), None)):
        np.save(folder / "x.npy", x)
        h = histogram(check, folder / "x.npy", "--bins", 4)
        ends = (h["edges"][0], h["edges"][-1]) if h else None
        check.that(h and (ends == words if words else ends[0] < 1e30 < ends[1]), f"{name}: {h}")
        check.that(h and sum(h["counts"]) == np.isfinite(x).sum(), f"{name}: {h}")
    r = tomoprof("info", "--histogram", "--bins", 4, folder / "x.npy")
    check.that(r.returncode == 0 and "plus infinity" in r.stdout and len(r.stdout.splitlines()) > 14, f"for people: {r.stdout}")
    np.save(folder / "x.npy", np.zeros(3, complex))
    for words, said in ((("--histogram", folder / "x.npy"), "real numbers"), (("--bins", 3, folder / "x.npy"), "--histogram"),
                        (("--histogram", "--bins", 0, folder / "x.npy"), "--bins")):
        r = tomoprof("info", *words)
        check.that(r.returncode == 2 and said in r.stderr, f"{words}: {r.returncode} {r.stderr}")


def scaled(check, folder):
    """Slope and intercept of a NIfTI file, and blocks of gzip."""
    x = np.arange(24, dtype="<i2")
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 3, 4, 3, 2, 1, 1, 1, 1)
    struct.pack_into("<2h", head, 70, 4, 16)
    struct.pack_into("<8f", head, 76, 1, 1, 1, 1, 0, 0, 0, 0)
    struct.pack_into("<3f", head, 108, 352, 0.5, -3)
    head[344:348] = b"n+1\0"
    (folder / "x.nii").write_bytes(bytes(head) + x.tobytes())
    (folder / "x.nii.gz").write_bytes(gzip.compress(bytes(head) + x.tobytes()))
    for name in ("x.nii", "x.nii.gz"):
        h, (found, at) = histogram(check, folder / name, "--bins", 5), np.histogram(x * 0.5 - 3, 5)
        check.that(h and h["counts"] == found.tolist() and h["edges"] == at.tolist(), f"{name}: {h}")


def read_page(check, path):
    text = path.read_text()
    outside = re.sub(r'<script type="application/json" id=data>.*?</script>', "", text, flags=re.S)
    check.that("<script" not in outside and "http" not in outside.replace("http-equiv", ""), f"{path.name}: scripts or addresses")
    for picture in re.findall(r'src="data:image/png;base64,([^"]*)"', text):
        check.that(base64.b64decode(picture, validate=True)[:8] == b"\x89PNG\r\n\x1a\n", f"{path.name}: a picture is not PNG")
    return text, json.loads(re.search(r"id=data>(.*?)</script>", text, re.S)[1])


def page(check, folder):
    """Each number of the page from the volume itself; .npy and .nii.gz give the same."""
    n, views, slices = 24, 30, 12
    angles = np.linspace(0, np.pi, views, endpoint=False)
    draw = np.random.default_rng(3)
    np.save(folder / "y.npy", (draw.random((views, slices, n)) + 1).astype(np.float32))
    np.save(folder / "r.npy", draw.random((n, n, slices)).astype(np.float32))
    g = write_json(folder / "g.json", {"geometry": "parallel", "sinogram_shape": [views, slices, n], "angles": angles.tolist()})
    words = ("recon", "--geometry", g, "--in", folder / "y.npy")
    r = tomoprof(*words, "--out", folder / "x<b>&.npy", "--reference", folder / "r.npy", "--page", folder / "p.html")
    if not check.that(r.returncode == 0 and "15 sections" in r.stderr, f"--page: {r.stderr}"):
        return
    text, data = read_page(check, folder / "p.html")
    x, y = np.load(folder / "x<b>&.npy").astype(float), np.load(folder / "r.npy").astype(float)
    span = float(np.ptp(y))
    check.that("x<b>" not in text and "x&lt;b&gt;&amp;.npy" in text, "the file's name is markup")
    check.that(text.count("<img ") == 15 + 9, f"{text.count('<img ')} pictures")
    check.that(abs(data["psnr"] - 10 * np.log10(span**2 / ((x - y) ** 2).mean())) < 1e-9, f"PSNR {data['psnr']}")
    check.that(abs(data["ssim"] - np.mean([similarity(x[..., k], y[..., k], span) for k in range(slices)])) < 1e-9, f"SSIM {data['ssim']}")
    check.that([s["index"] for s in data["sections"]] == [1, 3, 6, 8, 10] + 2 * [2, 7, 12, 16, 21], f"{data['sections']}")
    for s in data["sections"]:
        axis = {"slice": 2, "row": 0, "column": 1}[s["axis"]]
        a, b = np.take(x, s["index"], axis), np.take(y, s["index"], axis)
        psnr = 10 * np.log10(span**2 / ((a - b) ** 2).mean())
        check.that(abs(s["psnr"] - psnr) < 1e-9 and abs(s["ssim"] - similarity(a, b, span)) < 1e-9, f"{s}: {psnr} {similarity(a, b, span)}")
    found, at = np.histogram(x, 128)
    check.that(data["counts"] == found.tolist() and data["edges"] == at.tolist(), f"histogram {data['counts'][:5]}")
    r = tomoprof(*words, "--out", folder / "x.nii.gz", "--page", folder / "q.html")
    if check.that(r.returncode == 0, f"--page of .nii.gz: {r.stderr}"):
        other, plain = read_page(check, folder / "q.html")
        pictures = [re.findall(r'src="([^"]*)"', one)[:15] for one in (text, other)]
        check.that(pictures[0] == pictures[1] and len(pictures[0]) == 15, "other pictures from .nii.gz")
        check.that(plain["counts"] == data["counts"] and plain["psnr"] is None and "PSNR" not in other, "a page without a reference")
    r = tomoprof(*words, "--out", folder / "x.npy", "--page", folder / "p.htm")
    check.that(r.returncode == 2 and ".html" in r.stderr, f"--page p.htm: {r.returncode} {r.stderr}")


if __name__ == "__main__":
    main(counts, scaled, page)
