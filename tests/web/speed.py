"""Times how report pages open and follow a drag, from the trace of a headless Chromium. On request:

    TOMOPROF=build/tomoprof python3 tests/web/speed.py [--runs N] RUN_OR_PAGE...

Prints the times of each page and judges none: they are those of this machine, as loaded as it is.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from test_report import BROWSERS, HERE, modules, skip, starts


def page_of(path):
    return path / "report.html" if path.is_dir() else path


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("pages", nargs="+", type=pathlib.Path, metavar="RUN_OR_PAGE")
    words.add_argument("--runs", type=int, default=5)
    given = words.parse_args()
    browser = next((path for path in map(shutil.which, BROWSERS) if path and starts(path)), None)
    if not browser or not shutil.which("node"):
        skip("no browser or no node")
    pages = [page_of(path).resolve() for path in given.pages]
    for page in pages:
        if not page.is_file():
            sys.exit(f"{page}: not a page of a run. Make it with `tomoprof report {page.parent}`.")
    with tempfile.TemporaryDirectory(prefix="tomoprof-speed-") as folder:
        job = pathlib.Path(folder) / "job.json"
        job.write_text(json.dumps({"browser": browser, "modules": str(modules()), "pages": [str(page) for page in pages], "runs": given.runs}))
        sys.exit(subprocess.run(["node", HERE / "speed.mjs", job]).returncode)


if __name__ == "__main__":
    main()
