"""The shell scripts and the images' commands pass shellcheck, and Git writes their lines as a shell reads them, also on Windows."""

import re
import shutil
import subprocess
import sys

from sources import ROOT

sys.path.insert(0, str(ROOT / "tests/container"))
import stage  # noqa: E402

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


def copied():
    """The image's toolkit has the files that cuda/toolkit.sh reads."""
    script = "\n".join(stage.script_of(stage.read_stages(), "toolkit"))
    read = set(re.findall(r"\$here/(\w[\w.]*)", (ROOT / "cuda/toolkit.sh").read_text())) | {"toolkit.sh"}
    wrong = [name for name in sorted(read) if f"/source/cuda/{name} " not in script]
    for name in wrong:
        print(f"docker/Dockerfile: its stage build copies no cuda/{name}, which cuda/toolkit.sh reads")
    if not re.search(r"^sh -c .*cuda/toolkit\.sh 12\b", script, re.M):
        print("docker/Dockerfile: its stage toolkit does not run cuda/toolkit.sh 12")
        return 1
    return len(wrong)


def images(tool, least):
    """What the stages run, as tests/container/stage.py does."""
    stages = stage.read_stages()
    commands = [f"# {name}\n{shell}" for name, (_, rows) in stages.items() for row in rows if (shell := stage.shell_of(*row))]
    done = [subprocess.run([tool, *least, "--shell=sh", "--exclude=SC2154,SC2086", "-"], input=command, text=True, timeout=300).returncode for command in commands]
    return any(done) or not commands


def main():
    if endings() or copied():
        return 1
    tool = shutil.which("shellcheck")
    if not tool:
        print("skipped: shellcheck is not installed")
        return 77
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=300).stdout
    least = [] if f"version: {VERSION}" in said else ["--severity=warning"]
    wrong = images(tool, least)
    return subprocess.run([tool, *least, *SCRIPTS], cwd=ROOT, timeout=300).returncode or wrong


if __name__ == "__main__":
    sys.exit(main())
