"""The shell scripts pass shellcheck."""

import shutil
import subprocess
import sys

from sources import ROOT

SCRIPTS = ["start.sh", ".ci/run", "cuda/toolkit.sh", "docker/entry.sh", "docker/nsys.sh", "docker/sbom.sh",
           "tests/container/fresh.sh", "tests/gpu/check.sh", "tests/gpu/pack.sh"]


def main():
    tool = shutil.which("shellcheck")
    if not tool:
        print("skipped: shellcheck is not installed")
        return 77
    return subprocess.run([tool, *SCRIPTS], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
