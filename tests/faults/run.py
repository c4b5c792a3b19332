"""Makes faults and compares with the bare run: python3 tests/faults/run.py --count 1000. Prints a table of kind, tries and
differences; exit 1 when there is one. A fault is repeated by what its line says: --seed SEED --only KIND --at N."""

import argparse
import os
import pathlib
import random
import resource
import sys
import tempfile
import time

os.environ.setdefault("TOMOPROF", str(pathlib.Path(__file__).resolve().parents[2] / "build/tomoprof"))
from fault import LIBRARY, Fault, Tools  # noqa: E402
from kinds import KINDS, Skip  # noqa: E402


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--count", type=int, default=100, help="faults, shared by the kinds")
    p.add_argument("--seconds", type=float, default=float("inf"), help="begin no further fault after so many")
    p.add_argument("--seed", type=int, help="default: another one each time, which is printed")
    p.add_argument("--only", choices=[k.__name__ for k in KINDS], help="one kind")
    p.add_argument("--at", type=int, help="with --only: this fault of the kind alone")
    return p.parse_args()


def one(tools, kind, seed, at):
    """What differs in this fault; None: it could not be made, and why was printed."""
    with tempfile.TemporaryDirectory(prefix="tomoprof-fault-") as folder:
        f = Fault(tools, f"{seed} {kind.__name__} {at}", pathlib.Path(folder))
        try:
            kind(f)
        except Skip as why:
            print(f"{kind.__name__}: skipped, {why}", flush=True)
            return None
        return f.differences


def row(tools, kind, seed, numbers, end):
    """Tries, and those with a difference."""
    tries = bad = 0
    for at in numbers:
        if time.monotonic() > end:
            break
        differences = one(tools, kind, seed, at)
        if differences is None:
            return tries, bad
        tries += 1
        bad += bool(differences)
        for text in differences:
            print(f"DIFFERENCE --seed {seed} --only {kind.__name__} --at {at}: {text}", flush=True)
    return tries, bad


def cpu():
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times)


def main():
    o = arguments()
    if not LIBRARY.exists():
        print(f"skipped: {LIBRARY.name} was not built")
        sys.exit(77)
    seed = random.SystemRandom().randrange(1 << 31) if o.seed is None else o.seed
    kinds = [k for k in KINDS if o.only in (None, k.__name__)]
    print(f"seed {seed}", flush=True)
    rows, begin, wall = [], cpu(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tomoprof-faults-") as folder:
        os.chmod(folder, 0o755)
        tools = Tools(pathlib.Path(folder))
        for i, kind in enumerate(kinds):
            tries = o.count // len(kinds) + (i < o.count % len(kinds))
            numbers = range(tries) if o.at is None else [o.at]
            before = cpu()
            rows.append((kind.__name__, *row(tools, kind, seed, numbers, wall + o.seconds), cpu() - before))
    print(f"\n{'kind':<22}{'tries':>6}{'differences':>13}{'CPU s':>8}")
    for name, tries, bad, seconds in rows:
        print(f"{name:<22}{tries:>6}{bad or 'none':>13}{seconds:>8.1f}")
    bad, tries = sum(r[2] for r in rows), sum(r[1] for r in rows)
    print(f"{'all':<22}{tries:>6}{bad or 'none':>13}{cpu() - begin:>8.1f}  ({time.monotonic() - wall:.0f} s, seed {seed})")
    sys.exit(1 if bad or not tries else 0)


if __name__ == "__main__":
    main()
