"""tomoprof-fpga: widths as JSON by its schema and as a plot, kernels, cores, help, wrong calls; tomoprof width, its older name."""

import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, main, tomoprof

FPGA = pathlib.Path(__file__).resolve().parents[3] / "profiler/fpga"
SCHEMA = json.loads((FPGA / "width/width.schema.json").read_text())
PROGRAM = pathlib.Path(TOMOPROF).with_name("tomoprof-fpga")


def fpga(*args, **options):
    return subprocess.run([PROGRAM, *map(str, args)], text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300, **options)


def sweep_of_phantom_and_scan(checks, folder):
    run = fpga("widths", "--size", 16, "--only", "median_filter3d", "--scan", DATA / "tooth.h5", "--out", folder / "w")
    if "HDF5" in run.stderr and run.returncode == 1:
        print("not tried: this build reads no HDF5")
        run = fpga("widths", "--size", 16, "--only", "median_filter3d", "--out", folder / "w")
    checks.that(run.returncode == 0, run.stderr)
    found = json.loads((folder / "w.json").read_text())
    jsonschema.validate(found, SCHEMA)
    (median,) = found["primitives"]
    checks.that([s["stage"] for s in median["stages"]] == ["sample"], "the median has samples alone")
    checks.that(median["reached"] and all(q["rmse"] <= 1e-3 and q["ssim"] >= 0.999 for q in median["together"]),
                "the bits found keep the quality")
    checks.that(xml.parse(folder / "w.svg").getroot().tag.endswith("svg"), "the plot is SVG")
    again = fpga("widths", "--size", 16, "--only", "median_filter3d", "--out", folder / "a")
    once_more = fpga("widths", "--size", 16, "--only", "median_filter3d", "--out", folder / "b")
    checks.that(again.stdout == once_more.stdout and (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes(),
                "the same call gives the same bytes")


def better_quality_takes_more_bits(checks, folder):
    bits = []
    for rmse in (1e-2, 1e-4):
        run = fpga("widths", "--size", 16, "--only", "median_filter3d", "--rmse", rmse, "--ssim", 0.9, "--out", folder / "w")
        checks.that(run.returncode == 0, run.stderr)
        bits.append(json.loads((folder / "w.json").read_text())["primitives"][0]["stages"][0]["bits"])
    checks.that(bits[1] - bits[0] in (6, 7), f"{bits}: a hundredth of the error takes log2(100) bits more")


def older_name(checks, folder):
    """tomoprof width: the same lines and files, not in --help; --hls writes what hls writes."""
    words = ["--size", 16, "--only", "median_filter3d", "--out"]
    new, old = fpga("widths", *words, folder / "new"), tomoprof("width", *words, folder / "old")
    checks.that(new.returncode == old.returncode == 0 and new.stdout == old.stdout, f"{new} {old}")
    for suffix in (".json", ".svg"):
        checks.that((folder / f"new{suffix}").read_bytes() == (folder / f"old{suffix}").read_bytes(), f"{suffix} differs")
    new = fpga("hls", "flat_field_and_log", folder / "hls", "--size", 16)
    old = tomoprof("width", "--size", 16, "--only", "flat_field_and_log", "--hls", folder / "older")
    checks.that(new.returncode == old.returncode == 0, f"{new} {old}")
    for path in (p for p in (folder / "hls").rglob("*") if p.is_file()):
        checks.that(path.read_bytes() == (folder / "older" / path.relative_to(folder / "hls")).read_bytes(), f"{path.name} differs")
    checks.that("  width " not in tomoprof("--help").stdout and tomoprof("width", "--help").returncode == 0, "width is hidden")
    for words, text in ((["--hls", folder], "--only"), (["--only", "nonsense", "--hls", folder], "no such primitive"), (["x"], "unexpected word")):
        run = tomoprof("width", *words)
        checks.that(run.returncode == 2 and text in run.stderr, f"{words}: {run.returncode} {run.stderr}")


def cores(checks, folder):
    run = fpga("verilog", folder / "made/cores")
    written = {path.name: path.read_bytes() for path in (folder / "made/cores").iterdir()}
    checks.that(run.returncode == 0 and written == {p.name: p.read_bytes() for p in (FPGA / "verilog/cores").glob("*.v")}, f"{run} {written.keys()}")
    checks.that(all(name in run.stderr for name in written), f"the files are named: {run.stderr}")


def help_texts(checks, folder):
    overview = fpga("--help")
    checks.that(overview.returncode == 0 and fpga("help").stdout == overview.stdout, f"{overview}")
    checks.that(fpga("--version").stdout.startswith("tomoprof-fpga "), "--version")
    for command in ("widths", "hls", "verilog"):
        text = fpga(command, "--help").stdout
        for word in ("Usage: tomoprof-fpga " + command, "Example", "Options:", "Exit codes:", "--help"):
            checks.that(word in text, f"{command} --help lacks {word!r}")
        checks.that(f"  {command} " in overview.stdout, f"--help lacks {command}")
        checks.that(all(len(line) <= 100 for line in text.splitlines()), f"{command} --help is wider than 100 columns")


def wrong_calls(checks, folder):
    for words, code, text in (([], 2, "no command given"), (["width"], 2, "did you mean `tomoprof-fpga widths`?"), (["xyzzy"], 2, "unknown command"),
                              (["widths", "--only", "nonsense"], 2, "no such primitive"), (["widths", "word"], 2, "unexpected word"),
                              (["widths", "--size", 4], 2, "size"), (["widths", "--scan", folder / "none.h5"], 2, "none.h5"),
                              (["widths", "--size", 16, "--only", "median_filter3d", "--out", folder / "no" / "w"], 1, "no/w"),
                              (["hls", "median_filter3d"], 2, "hls needs PRIMITIVE FOLDER"), (["hls", "nonsense", folder], 2, "no kernel template"),
                              (["verilog"], 2, "verilog needs FOLDER"), (["verilog", "/proc/never/cores"], 1, "cannot make the folder")):
        run = fpga(*words)
        checks.that(run.returncode == code and text in run.stderr and run.stderr.count("tomoprof-fpga: ") == 1, f"{words}: {run.returncode} {run.stderr}")
        checks.that(code == 1 or run.stdout == "", f"{words}: wrote to stdout")


if __name__ == "__main__":
    raise SystemExit(main(sweep_of_phantom_and_scan, better_quality_takes_more_bits, older_name, cores, help_texts, wrong_calls))
