"""Runs MBIRJAX's own tests with tomoprof.mbirjax in place of mbirjax, on request, and prints the table of docs/internals/mbirjax-tests.md.

    TOMOPROF=build/tomoprof python3 tests/pipe/python/mbirjax_tests.py [FOLDER ...] [--details]

Without a folder it fetches MBIRJAX's source package by pip into a folder that it removes. Needs numpy, jax and pytest. Each file of tests
runs in a process of its own. Exit 1: a test failed that REASONS does not explain."""

import argparse
import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGE = "mbirjax==0.7.3"
# Why a test that did not pass is not applicable: its file, its name, the error, the reason. A failure of numbers is in no row.
REASONS = (
    ("", "", r"No module named 'mbirjax\.projectors'|cannot import name '_pallas_kernels'|no attribute 'projectors'", "internals of MBIRJAX's kernels and their tiles"),
    ("", "", r"No module named 'mbirjax\.mace4d'", "imports private functions of the module that MACE4DModel is in"),
    ("test_preprocessing", "", r"mbirjax\.preprocess\.(nsi|zeiss|zeiss_tct|pymbir)\.\w+ is not in tomoprof", "readers of NSI, Zeiss and pymbir files; `tomoprof recon` reads Zeiss files"),
    ("test_preprocessing", "test_parallel_auto_crop_roundtrip", "parallel beams need one each", "twice as many slices as detector rows: MBIRJAX makes the model, and its projection fails"),
    ("test_recon_restart", "", "no attribute 'recon_placement'", "calls private methods of the model, and names the JAX device of the result"),
    ("test_view_params", "test_no_recompile_on_value_change", "no attribute 'projector_functions'", "counts entries of JAX's compilation cache"),
    ("test_device_config", "", "no attribute 'shard_devices'|computes on one device|DeprecationWarning not triggered", "lists of JAX devices and the deprecated use_gpu"),
)

ALIAS = """
import sys
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
            self.rows.setdefault(report.nodeid.partition("::")[2], [report.outcome, (text or [last])[0][:300]])
    def pytest_collectreport(self, report):
        if report.outcome == "failed":
            text = [l[1:].strip() for l in str(report.longrepr).splitlines() if l.startswith("E ")]
            self.rows["import"] = ["failed", (text or [str(report.longrepr)])[-1][:300]]

import json
outcomes = Outcomes()
pytest.main([sys.argv[1], "-q", "-p", "no:cacheprovider", "--tb=short"], plugins=[outcomes])
json.dump(outcomes.rows, open(sys.argv[2], "w"))
"""


def outcomes(path):
    """{test: (outcome, error)}. A file that cannot be imported counts by its tests."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        environment = {**os.environ, "HOME": folder, "JAX_PLATFORMS": "cpu"}
        done = subprocess.run([sys.executable, "-c", ALIAS, str(path), str(result)], env=environment, text=True, capture_output=True, timeout=900, cwd=folder)
        rows = json.loads(result.read_text()) if result.exists() else {"import": ["failed", done.stderr.strip()[-300:]]}
    if "import" in rows:
        names = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
        rows = {name: rows["import"] for name in names or ["import"]}
    return rows


def reason_of(file, test, error):
    """Why this test is not applicable; None where it failed."""
    return next((reason for in_file, in_test, pattern, reason in REASONS
                 if in_file in file and in_test in test and re.search(pattern, error)), None)


def row(path, details):
    """Prints the row of a file. Returns how many of its tests failed without a reason."""
    passed, failed, apart = 0, [], {}
    for test, (outcome, error) in outcomes(path).items():
        reason = "skipped by itself: " + error if outcome == "skipped" else reason_of(path.stem, test, error)
        if outcome == "passed":
            passed += 1
        elif reason is None:
            failed.append(f"{path.stem}::{test}: {error}")
        else:
            apart[reason] = apart.get(reason, 0) + 1
        if outcome != "passed" and details:
            print(f"    {path.stem}::{test}: {error}", file=sys.stderr)
    reasons = "; ".join(f"{reason} ({count})" if len(apart) > 1 else reason for reason, count in apart.items())
    print(f"| {path.stem} | {passed} | {len(failed)} | {sum(apart.values())} | {reasons} |", flush=True)
    print("".join(f"FAILED: {line}\n" for line in failed), end="", file=sys.stderr)
    return len(failed)


def fetched(folder):
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", folder, PACKAGE]
    subprocess.run(pip, check=True, timeout=900)
    archive = next(pathlib.Path(folder).glob("*.tar.gz"))
    subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)
    return next(pathlib.Path(folder).glob("mbirjax-*/tests"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--details", action="store_true", help="prints the error of each test that did not pass")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tomoprof-mbirjax-") as folder:
        folders = asked.folders or [fetched(folder)]
        print("| file | passed | failed | not applicable | reason |\n|---|---|---|---|---|", flush=True)
        return 1 if sum(row(path, asked.details) for one in folders for path in sorted(one.glob("test_*.py"))) else 0


if __name__ == "__main__":
    import module  # noqa: F401
    sys.exit(main())
