"""tomoprof width: its JSON by its schema, its plot, wrong calls."""

import json
import pathlib
import xml.etree.ElementTree as xml

import jsonschema

from tool import DATA, Checks, main, tomoprof  # noqa: F401

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "profiler/fpga/width/width.schema.json").read_text())


def sweep_of_phantom_and_scan(checks, folder):
    run = tomoprof("width", "--size", 16, "--only", "median_filter3d", "--scan", DATA / "tooth.h5", "--out", folder / "w")
    if "HDF5" in run.stderr and run.returncode == 1:
        print("not tried: this build reads no HDF5")
        run = tomoprof("width", "--size", 16, "--only", "median_filter3d", "--out", folder / "w")
    checks.that(run.returncode == 0, run.stderr)
    found = json.loads((folder / "w.json").read_text())
    jsonschema.validate(found, SCHEMA)
    (median,) = found["primitives"]
    checks.that([s["stage"] for s in median["stages"]] == ["sample"], "the median has samples alone")
    checks.that(median["reached"] and all(q["rmse"] <= 1e-3 and q["ssim"] >= 0.999 for q in median["together"]),
                "the bits found keep the quality")
    checks.that(xml.parse(folder / "w.svg").getroot().tag.endswith("svg"), "the plot is SVG")
    again = tomoprof("width", "--size", 16, "--only", "median_filter3d", "--out", folder / "a")
    once_more = tomoprof("width", "--size", 16, "--only", "median_filter3d", "--out", folder / "b")
    checks.that(again.stdout == once_more.stdout and (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes(),
                "the same call gives the same bytes")


def better_quality_takes_more_bits(checks, folder):
    bits = []
    for rmse in (1e-2, 1e-4):
        run = tomoprof("width", "--size", 16, "--only", "median_filter3d", "--rmse", rmse, "--ssim", 0.9, "--out", folder / "w")
        checks.that(run.returncode == 0, run.stderr)
        bits.append(json.loads((folder / "w.json").read_text())["primitives"][0]["stages"][0]["bits"])
    checks.that(bits[1] - bits[0] in (6, 7), f"{bits}: a hundredth of the error takes log2(100) bits more")


def wrong_calls(checks, folder):
    for words, code, text in ((["--only", "nonsense"], 2, "no such primitive"), (["--hls", folder], 2, "--only"),
                              (["--size", 4], 2, "size"), (["--scan", folder / "none.h5"], 2, "none.h5"),
                              (["--size", 16, "--only", "median_filter3d", "--out", folder / "no" / "w"], 1, "no/w")):
        run = tomoprof("width", *words)
        checks.that(run.returncode == code and text in run.stderr, f"{words}: {run.returncode} {run.stderr}")


if __name__ == "__main__":
    raise SystemExit(main(sweep_of_phantom_and_scan, better_quality_takes_more_bits, wrong_calls))
