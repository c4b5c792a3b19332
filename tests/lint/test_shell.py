"""The shell scripts pass shellcheck."""

import shutil
import subprocess
import sys

from sources import ROOT

VERSION = "0.9"  # Debian 12's; others have other remarks, their warnings count
SCRIPTS = ["start.sh", "tests/run.sh", ".ci/run", "cuda/set_up.sh", "cuda/toolkit.sh", "docker/run.sh", "docker/entry.sh", "docker/nsys.sh", "docker/nsight.sh", "docker/sbom.sh",
           "packaging/arm/test.sh", "tests/container/fresh.sh", "tests/loop.sh", "tests/gpu/check.sh", "tests/gpu/pack.sh"]


def main():
    tool = shutil.which("shellcheck")
    if not tool:
        print("skipped: shellcheck is not installed")
        return 77
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=300).stdout
    least = [] if f"version: {VERSION}" in said else ["--severity=warning"]
    return subprocess.run([tool, *least, *SCRIPTS], cwd=ROOT, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main())
