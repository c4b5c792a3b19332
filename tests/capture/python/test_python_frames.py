"""Python frames as the capture library reads them against what Python itself says, under each Python of this machine.
TP_PYTHONS=/path/python3.14:... adds more."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from pythons import MINORS, pythons, version

HERE = pathlib.Path(__file__).resolve().parent
AWAITS = range(9, 14)  # coroutines are read of these
PROBE = pathlib.Path(os.environ.get("TP_BUILD", os.getcwd())) / "libstack_probe.so"


def main():
    if not PROBE.exists():
        print("skipped: %s was not built" % PROBE)
        return 77
    failed, seen = [], set()
    for python in pythons():
        minor = version(python)[1]
        seen.add(minor)
        for case in ("stack_case.py",) + ("awaits_case.py",) * (minor in AWAITS):
            done = subprocess.run([python, str(HERE / case), str(PROBE)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
            print("--", python, "3.%d" % minor, case)
            print(done.stdout.decode(errors="replace"))
            if done.returncode:
                failed.append("%s %s: exit %d" % (python, case, done.returncode))
    for minor in MINORS:
        if minor not in seen:
            print("3.%d: not tested, there is none on this machine" % minor)
    print("\n".join(failed))
    return 1 if failed else 0 if seen else 77


if __name__ == "__main__":
    sys.exit(main())
