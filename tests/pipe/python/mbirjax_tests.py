"""Runs MBIRJAX's own tests with tomoprof.mbirjax in place of mbirjax, on request, and prints the table of docs/internals/mbirjax-tests.md.

    pip download --no-deps --no-binary :all: mbirjax==0.7.3 && tar xzf mbirjax-0.7.3.tar.gz
    TOMOPROF=build/tomoprof python3 tests/pipe/python/mbirjax_tests.py mbirjax-0.7.3/tests [--details]

Needs numpy, jax and pytest. Each file of tests runs in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ALIAS = """
import importlib.abc, sys
import tomoprof.mbirjax
sys.modules["mbirjax"] = tomoprof.mbirjax
import pytest

class Outcomes:
    def __init__(self):
        self.rows = {}
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            last = str(report.longrepr).strip().splitlines()[-1] if report.longrepr else ""
            text = [l[1:].strip() for l in str(report.longrepr or "").splitlines() if l.startswith("E ")]
            self.rows.setdefault(report.nodeid.partition("::")[2], [report.outcome, (text or [last])[0][:160]])
    def pytest_collectreport(self, report):
        if report.outcome == "failed":
            text = [l[1:].strip() for l in str(report.longrepr).splitlines() if l.startswith("E ")]
            self.rows["import"] = ["failed", (text or [str(report.longrepr)])[-1][:160]]

import json
outcomes = Outcomes()
pytest.main([sys.argv[1], "-q", "-p", "no:cacheprovider", "--tb=short"], plugins=[outcomes])
json.dump(outcomes.rows, open(sys.argv[2], "w"))
"""


def outcomes(path):
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        environment = {**os.environ, "HOME": folder, "JAX_PLATFORMS": "cpu"}
        done = subprocess.run([sys.executable, "-c", ALIAS, str(path), str(result)], env=environment, text=True, capture_output=True, timeout=900)
        return json.loads(result.read_text()) if result.exists() else {"all": ["failed", done.stderr.strip()[-160:]]}


def main(folder, details):
    print("| file | passed | failed | skipped |\n|---|---|---|---|")
    failures = []
    for path in sorted(pathlib.Path(folder).glob("test_*.py")):
        rows = outcomes(path)
        counts = [sum(row[0] == kind for row in rows.values()) for kind in ("passed", "failed", "skipped")]
        print(f"| {path.name} | {' | '.join(map(str, counts))} |", flush=True)
        failures += [(path.name, name, text) for name, (outcome, text) in rows.items() if outcome != "passed"]
    for file, name, text in failures if details else ():
        print(f"{file}::{name}: {text}")


if __name__ == "__main__":
    import module  # noqa: F401
    main(sys.argv[1], "--details" in sys.argv)
