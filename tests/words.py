"""Words of each page at earlier commits and now, as a table: python3 tests/words.py COMMIT...

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


def then(now, before):
    """Words at a commit of each page that is there now, and of those that are gone."""
    found = {}  # new name -> old name
    for name in now:
        same = [o for o in before if o == name] or [o for o in before if pathlib.Path(o).name == pathlib.Path(name).name and o not in now]
        found.update({name: o for o in same[:1]})
    return {name: before[old] for name, old in found.items()} | {old: before[old] for old in before if old not in found.values()}


def main(*commits):
    now = {str(p.relative_to(ROOT)): words(p.read_text()) for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}
    columns = [*(then(now, pages_at(commit)) for commit in commits), now]
    names = [*now, *sorted({name for column in columns for name in column} - set(now))]
    print("| page | " + "".join(f"at {commit} | " for commit in commits) + "now |", "|---" * (len(columns) + 1) + "|", sep="\n")
    for group in ("for users", "internals"):
        rows = [name for name in names if kind(name) == group]
        for name in rows:
            print(f"| {name} | " + " | ".join(f"{c[name]:,}" if name in c else "" for c in columns) + " |")
        print(f"| **{group}** | " + " | ".join(f"**{sum(c.get(name, 0) for name in rows):,}**" for c in columns) + " |")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
