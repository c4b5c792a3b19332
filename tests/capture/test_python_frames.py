"""Python frames as the capture library reads them against what Python itself says, under each Python of this machine.
TP_PYTHONS=/path/python3.14:... adds more."""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROBE = pathlib.Path(os.environ.get("TP_BUILD", os.getcwd())) / "libstack_probe.so"
MINORS = range(9, 15)


def version(python):
    done = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], stdout=subprocess.PIPE, timeout=300)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def pythons():
    """Paths by what is really run, so that no interpreter is tested twice."""
    named = [p for p in os.environ.get("TP_PYTHONS", "").split(":") if p]
    found = [shutil.which("python3.%d" % minor) for minor in MINORS] + [sys.executable, "/usr/bin/python3"]
    found += map(str, sorted(pathlib.Path(os.path.expanduser("~")).glob(".pyenv/versions/3.*/bin/python3")))
    chosen = {}
    for path in named + [p for p in found if p and os.access(p, os.X_OK)]:
        shim = pathlib.Path(path).parent.name == "shims"
        if not shim and (version(path) or (0, 0)) >= (3, 9):
            chosen.setdefault(os.path.realpath(path), path)
    return list(chosen.values())


def main():
    if not PROBE.exists():
        print("skipped: %s was not built" % PROBE)
        return 77
    failed, seen = [], set()
    for python in pythons():
        minor = version(python)[1]
        seen.add(minor)
        done = subprocess.run(
            [python, str(HERE / "stack_case.py"), str(PROBE)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300
        )
        print("--", python, "3.%d" % minor)
        print(done.stdout.decode(errors="replace"))
        if done.returncode:
            failed.append("%s: exit %d" % (python, done.returncode))
    for minor in MINORS:
        if minor not in seen:
            print("3.%d: not tested, there is none on this machine" % minor)
    print("\n".join(failed))
    return 1 if failed else 0 if seen else 77


if __name__ == "__main__":
    sys.exit(main())
