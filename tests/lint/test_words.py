"""Texts that people read keep to the project's words: no banned ones, help and comments that begin with a verb, short sentences in the docs."""

import re
import subprocess
import sys

from sources import ROOT, TOPS, c_files, report
from verbs import VERBS

# What to write instead stands beside each.
BANNED = {
    r"\b(is|are) no (?!longer|more)[a-z]": "is not",
    r"\b(dear|dearer|dearest|costliest)\b": "hotspot, expensive",
    r"\bof ours\b": "the name of the thing",
    r"\bkin\b": "the names",
    r"\bSays\b": "what is done: Checks, Shows, Estimates",
    r"\b[Hh]as its sentence\b": "is reported",
    r"\bcharge[sd]?\b(?= (to|by|only|what|here)\b)": "attribute",
    r"\bpretended\b": "emulated",
    r"\bwhoever\b": "who that is",
}
ASSETS = ROOT / "profiler" / "report" / "page" / "assets"
VERB = re.compile(r"[A-Z][a-z]+s\b")  # Profiles a program.
MOST = 25  # words of a sentence; code in backticks is one word
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r'''"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'|(/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*)''', re.S)
NOT_FIRST = re.compile(r"(What|One|Of|Whether|Which|Who|Whose|Where)\b")
FUNCTION = re.compile(r"\s*\n[A-Za-z_][\w \t\n*,]*\b\w+\([^=]*?\)\s*(?:[;{]|__attribute)", re.S)  # follows a comment


def banned(where, text):
    return [f"{where}: {m.group(0)!r}: write {better}" for word, better in BANNED.items() for m in re.finditer(word, text)]


def of_sources():
    """Strings and comments of C; a string that is broken over lines is one text."""
    for path in c_files(*TOPS):
        whole = re.sub(r'"\s*\n\s*"', "", path.read_text())
        yield from banned(path.relative_to(ROOT), "\n".join(STRING.findall(whole) + re.findall(r"/\*.*?\*/|//[^\n]*", whole, re.S)))
    for path in [*sorted(ASSETS.glob("*.js")), *sorted(ASSETS.glob("*.html")), *(ROOT / p for p in ("start.sh", "start.ps1", "tests/run.sh", "cuda/set_up.sh", "docker/run.sh"))]:
        yield from banned(path.relative_to(ROOT), path.read_text())


def comment_problems(where, text):
    """A comment does not begin with a noun clause, and that of a function has a verb in its first sentence."""
    for m in COMMENT.finditer(text):
        if m.group(1):
            words = " ".join(re.sub(r"^\s*(\*|//+) ?", "", re.sub(r"^/\*+|\*/$", "", m.group(1)), flags=re.M).split())
            first = re.match(r".*?(?:[.!?](?=\s)|$)", words).group(0)
            if NOT_FIRST.match(words):
                yield f"{where}: a comment begins with a verb or is a sentence, not: {first}"
            elif (words.endswith(".") and re.match(r"[A-Z][a-z]*\b", first) and "=" not in first and len(first.split()) >= 3
                  and not text[text.rfind("\n", 0, m.start()) + 1:m.start()].strip() and FUNCTION.match(text, m.end(), m.end() + 400)
                  and not VERBS.intersection(re.findall(r"[a-z']+", re.sub(r"`[^`]*`", "", first.lower())))):
                yield f"{where}: no verb that tests/lint/verbs.py lists: {first}"


def of_comments():
    for path in c_files(*TOPS, "tests"):
        yield from comment_problems(path.relative_to(ROOT), path.read_text())


def sentences(page):
    """Of the prose: code, tables, heads and pictures are left out."""
    prose = re.sub(r"```.*?```|<!--.*?-->", "", page, flags=re.S)
    prose = "\n".join(line for line in prose.split("\n") if not line.startswith(("    ", "|", "#", "<", "!")))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", paragraph))
        yield from re.split(r"(?<=[.!?:;])\s+", " ".join(text.split()))


def of_pages():
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/howto").glob("*.md"))]:
        page = path.read_text()
        yield from banned(path.relative_to(ROOT), page)
        for sentence in sentences(page):
            if len(sentence.split()) > MOST:
                yield f"{path.relative_to(ROOT)}: {len(sentence.split())} words: {sentence}"


def of_help():
    """Each command's summary begins with what it does."""
    for path in c_files("cli", "profiler/fpga"):
        for summary in re.findall(r'\.summary = "([^"]*)"', path.read_text()):
            if not VERB.match(summary):
                yield f"{path.relative_to(ROOT)}: a summary begins with a verb (Profiles a program.), not: {summary}"


def planted():
    """The check finds what it is for."""
    found = banned("x", "a.npy is no file") + banned("x", "It is charged to the caller") + banned("x", "is no longer")
    long = [s for s in sentences("One. " + "word " * 26 + "end.\n\n    " + "code " * 40) if len(s.split()) > MOST]
    comments = [*comment_problems("x", "/* Of a list. */\n/* The median of all. */\nint middle(int n);\n/* Returns it. */\nint it(void);\n")]
    return [] if (len(found), len(long), len(comments)) == (2, 1, 2) else [f"planted mistakes were not found: {found} {long} {comments}"]


sys.exit(report([*planted(), *of_sources(), *of_comments(), *of_pages(), *of_help()]))
