"""python/tomoprof reads runs into tables, and shows the report. (tests/container/fresh.sh and `pip install .` pack it.)"""

import importlib.util
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, tomoprof

SOURCE = pathlib.Path(__file__).resolve().parents[3] / "python/tomoprof/__init__.py"
spec = importlib.util.spec_from_file_location("tomoprof_module", SOURCE)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

SCRIPT = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end:\n    sum(range(300000))\n"


def raised(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    return None


def a_recording(check, folder):
    (folder / "busy.py").write_text(SCRIPT)
    done = tomoprof("record", "--", "python3", "busy.py", cwd=folder)
    check.that(done.returncode == 0, f"record: {done.stderr}")
    run = module.read(folder / "tomoprof-runs/latest")
    check.that(run.folder == module.read(folder / "tomoprof-runs").folder == module.read(run.folder).folder, "names of one run")
    latest = folder / "tomoprof-runs/latest"
    for text in (run.folder.name + "\n", "../tomoprof-runs/" + run.folder.name, ".."):  # a file, where links cannot be made
        latest.unlink()
        latest.write_text(text)
        if "/" in text or text == "..":
            check.that("does not name a run" in (raised(ValueError, lambda: module.read(latest)) or ""), f"latest holds {text}")
        else:
            check.that(module.read(latest).folder == module.read(folder / "tomoprof-runs").folder == run.folder, "latest as a file")
    busy = [row for row in run.lines if row["file"].endswith("busy.py")]
    best = max(busy, key=lambda row: row["cpu_user"] or 0)
    check.that(best["line"] in (3, 4) and best["cpu_user"] > 0.1, f"the hottest line is {best}")
    check.that(all(not isinstance(v, dict) for row in run.lines for v in row.values()), "rows are not flat")
    check.that(set(run.lines[0]) == set(run.lines[-1]), "rows differ in their columns")
    total = json.loads((run.folder / "profile.json").read_text())["totals"]["cpu"]["user"]
    check.that(run.profile["totals"]["cpu"]["user"] == total and run.timing is None, "profile is profile.json")
    check.that(run.measurements == [] and run.table("kernels") == [], "what was not recorded is not empty")
    check.that("no such table" in (raised(KeyError, lambda: run.table("nonsense")) or ""), "an unknown table")
    shown = run._repr_html_()
    check.that(shown.startswith("<iframe srcdoc=") and "<script" not in shown and "&lt;script" in shown, "the page in a frame")
    try:
        import pandas
    except ImportError:
        print("  not tested with pandas: it is not installed")
        return
    frame = pandas.DataFrame(run.lines)
    check.that(frame["cpu_user"].dtype.kind == "f" and len(frame) == len(run.lines), f"{frame.dtypes}")


def a_suite(check, folder):
    done = tomoprof("run", "--sizes", "16", "--ops", "parallel_fbp_recon", "--no-trace", cwd=folder)
    check.that(done.returncode == 0, f"run: {done.stderr}")
    run = module.read(folder / "tomoprof-runs/latest")
    check.that([r["operation"] for r in run.measurements] == ["parallel_fbp_recon"] * 3, f"{run.measurements}")
    check.that(run.lines == [] and run.statistics[0]["volume_size"] == 16, f"{run.statistics}")
    check.that("no profile.json" in (raised(FileNotFoundError, lambda: module.read(folder)) or ""), "a folder without a run")


main(a_recording, a_suite)
