"""Words of each page now and at an earlier commit, as a table: python3 tests/words.py COMMIT

Blocks of code are not counted. A page that moved is found by its name."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def words(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return len(re.findall(r"\w[\w'./-]*", "\n".join(x for x in text.splitlines() if not x.startswith("    "))))


def git(*args):
    return subprocess.run(["git", "-C", str(ROOT), *args], check=True, capture_output=True, text=True).stdout


def pages_at(commit):
    names = [n for n in git("ls-tree", "-r", "--name-only", commit, "README.md", "docs").splitlines() if n.endswith(".md")]
    return {name: words(git("show", f"{commit}:{name}")) for name in names}


def kind(name):
    return "internals" if name.startswith("docs/internals/") else "for users"


def main(commit):
    now = {str(p.relative_to(ROOT)): words(p.read_text()) for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
    before = pages_at(commit)
    moved = {}  # new name -> old name
    for name in now:
        same = [o for o in before if o == name] or [o for o in before if pathlib.Path(o).name == pathlib.Path(name).name and o not in now]
        moved.update({name: o for o in same[:1]})
    gone = [o for o in before if o not in moved.values()]
    print("| page | words before | words now |", "|---|---|---|", sep="\n")
    for group in ("for users", "internals"):
        rows = [(n, before.get(moved.get(n)), now[n]) for n in now if kind(n) == group] + [(o, before[o], None) for o in gone if kind(o) == group]
        for name, then, at in rows:
            print(f"| {name} | {'' if then is None else f'{then:,}'} | {'' if at is None else f'{at:,}'} |")
        print(f"| **{group}** | **{sum(r[1] or 0 for r in rows):,}** | **{sum(r[2] or 0 for r in rows):,}** |")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]) if len(sys.argv) == 2 else __doc__)
