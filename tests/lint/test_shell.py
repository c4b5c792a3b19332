"""The shell scripts pass shellcheck, and Git writes their lines as a shell reads them, also on Windows."""

import shutil
import subprocess
import sys

from sources import ROOT

VERSION = "0.9"  # Debian 12's; others have other remarks, their warnings count
SCRIPTS = ["start.sh", "tests/run.sh", ".ci/run", "cuda/set_up.sh", "cuda/toolkit.sh", "docker/run.sh", "docker/entry.sh", "docker/nsys.sh", "docker/nsight.sh", "docker/sbom.sh",
           "packaging/arm/test.sh", "tests/container/fresh.sh", "tests/container/systems.sh", "tests/loop.sh", "tests/gpu/check.sh", "tests/gpu/pack.sh"]


def endings():
    """The files that a container or a shell reads, of which Git for Windows would make CRLF."""
    names = [*SCRIPTS, "docker/Dockerfile", "compose.yaml", "cuda/requirements.txt"]
    done = subprocess.run(["git", "check-attr", "-z", "eol", "--", *names], cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode:
        print(f"line endings not checked: {done.stderr.strip()}")
        return 0
    words = done.stdout.split("\0")
    wrong = [name for name, eol in zip(words[::3], words[2::3]) if eol != "lf"]
    for name in wrong:
        print(f"{name}: .gitattributes does not say eol=lf, so Git for Windows gives it CRLF")
    return len(wrong)


def main():
    if endings():
        return 1
    tool = shutil.which("shellcheck")
    if not tool:
        print("skipped: shellcheck is not installed")
        return 77
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=300).stdout
    least = [] if f"version: {VERSION}" in said else ["--severity=warning"]
    return subprocess.run([tool, *least, *SCRIPTS], cwd=ROOT, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main())
