"""Names: every source opens with what it is for, a struct's name means one thing in the whole program, words that only we
understood do not come back, static functions carry their noun, and a folder holds what a reader can take in."""

import collections
import re
import sys

from layers import folder_of
from sources import ROOT, TOPS, c_files, report, strip

FOLDER_CAP = 25  # files of one theme; a larger folder gets sub-folders

# Words of our own that stood for a standard term of the field.
TERMS = {
    "feet": "footprints", "peek": "safe read", "births": "thread hooks", "shield": "EINTR restart",
    "tally": "counter", "tallies": "counters", "holding": "live heap", "ledger": "memory plan", "descent": "VCD iteration",
    "roof": "peak", "roofs": "peaks", "handoff": "HLS export", "joins": "correlate", "spot": "sample context", "spots": "sample contexts",
    "dearest": "most expensive", "standin": "emulator",
}
# In a flame graph a function stands without its file: of a room's static functions this share may have a name of one word, and this
# share a name that another file has too. A room of a few functions may have one of each.
ONE_WORD, SHARED = 0.05, 0.10
# Says nothing about what a function does, or is not the field's word.
VAGUE = {"give", "gives", "gave", "look", "looks", "looked", "tell", "tells", "told", "say", "says", "said", "kept", "apart", "settle",
         "settles", "settled"}
PUBLIC = {"roof_share": "a key of timing.json"}

# Defined in more than one place, because each place is the same thing for another back end or build.
TWINS = {
    "projector": "each back end's own, opaque in backend.h",
    "symbol_file": "symbols_dw.c with elfutils, symbols_elf.c without",
}


# Files that comments may name: of other projects, and what tomoprof-fpga writes.
ELSEWHERE = {"nvToolsExt.h", "dlfcn.h", "widths.h", "tomoprof.h"}
ANY = re.compile(r"NAME|KIND|FAMILY")


def check_scripts(texts):
    """The page's scripts are modules: what one calls of another it imports, what it imports it uses, and a binding that others import
    never changes, because the build copies it (embed.cmake)."""
    problems, exports = [], {}
    for script, text in texts.items():
        problems += [f"{script}: exports a {kind}, which the build cannot link" for kind in re.findall(r"^export (let|var|class|default|\{)", text, re.M)]
        for name in re.findall(r"^export (?:async )?(?:function|const) (\w+)", text, re.M):
            exports.setdefault(name, set()).add(script)
    problems += [f"{name}: exported by {' and '.join(sorted(files))}" for name, files in exports.items() if len(files) > 1]
    for script, text in texts.items():
        heads = re.findall(r"^import \{ (.*) \} from", text, re.M)
        imported = {name for head in heads for name in head.split(", ")}
        body = re.sub(r"^import .*$|//.*$", "", text, flags=re.M)
        problems += [f"{script}: imports {name}, which it does not use" for name in sorted(imported) if not re.search(rf"(?:(?<![\w.])|(?<=\.\.\.)){name}\b", body)]
        bound = set(re.findall(r"(?:function|const|let) (\w+)", body)) | set(re.findall(r"[,{(\[] ?(\w+)(?= ?[,)\]}=])", body))
        problems += [f"{script}: calls {name} of {min(exports[name])} without importing it" for name in sorted(set(re.findall(r"(?<![\w.$-])(\w+)\(", body)))
                     if name in exports and name not in imported | bound]
    return problems


def check_first_line(name, text):
    return [] if re.match(r"/\*|//", text) else [f"{name}:1: opens without a comment that says what the file is for"]


def check_terms(name, text):
    problems, code = [], strip(text)
    for word in sorted(set(re.findall(r"\b[a-zA-Z]\w*\b", code)) - set(PUBLIC)):
        for part in set(word.lower().split("_")) & set(TERMS):
            problems.append(f"{name}: {word}: {part} is a word of our own, the field says {TERMS[part]}")
    stem = name.rpartition("/")[2].partition(".")[0]
    problems += [f"{name}: {part} is a word of our own, the field says {TERMS[part]}" for part in set(stem.split("_")) & set(TERMS)]
    return problems


def comments(text):
    return re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S)


def check_mentions(name, text, files):
    """Files that comments name must be there; NAME and KIND stand for any, and generated ones are known."""
    problems = []
    for comment in comments(text):
        for mention in re.findall(r"(?<![\w.*<])[\w/]*\b[a-z]\w{2,}\.(?:cuh|cu|c|h)\b(?![\w(])", comment):
            if not ANY.search(mention) and mention.rpartition("/")[2] not in files | ELSEWHERE:
                problems.append(f"{name}: a comment names {mention}, which is not there")
    return problems


def structs(text):
    """The names of the structs that a source defines."""
    return set(re.findall(r"^(?:static |typedef )?(?:const )?struct (\w+)\s*\{", strip(text), re.M))


def check_structs(owners):
    """`owners`: {struct: files that define it}"""
    return [f"struct {name}: defined in {' and '.join(sorted(files))}; give one of them a prefix"
            for name, files in sorted(owners.items()) if len(files) > 1 and name not in TWINS]


ATTRIBUTE = r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|__launch_bounds__\s*\([^()]*\)"
DEFINITION = re.compile(r"^(?!typedef\b)[A-Za-z_](?:" + ATTRIBUTE + r"|[^;={}()#])*?(?<![A-Za-z0-9_])(?!__\w+__\b|_Atomic\b)([A-Za-z_]\w*)\([^;{}]*\)\s*\{",
                        re.M)


def functions(text):
    """(name, whether it is static) of every function that a source defines."""
    return [(m[1], m[0].startswith("static")) for m in DEFINITION.finditer(strip(text))]


def check_words(name, text):
    """Functions, structs and files without words that say nothing."""
    found = {f for f, _ in functions(text)} | structs(text) | {name.rpartition("/")[2].partition(".")[0]}
    return [f"{name}: {f}: {' and '.join(sorted(words))} says nothing; name what is done, or the thing" for f in sorted(found)
            if (words := set(f.split("_")) & VAGUE)]


def check_statics(statics):
    """`statics`: {name: files that define it}. Problems, and a line that sums up."""
    rooms = collections.defaultdict(lambda: [0, [], []])
    for name, files in statics.items():
        for file in files:
            room = rooms[folder_of(file)]
            room[0] += 1
            room[1] += [name] if "_" not in name else []
            room[2] += [name] if len(set(files)) > 1 else []
    problems = []
    for room, (count, one, shared) in sorted(rooms.items()):
        for names, share, what in ((one, ONE_WORD, "have names of one word"), (shared, SHARED, "share their name with another file")):
            if len(names) > max(1, share * count):
                problems.append(f"{room}: {len(names)} of {count} static functions {what}, {100 * share:g} % may: {', '.join(sorted(set(names))[:12])}")
    total = sum(room[0] for room in rooms.values()) or 1
    one, shared = (sum(len(room[i]) for room in rooms.values()) for i in (1, 2))
    return problems, f"{total} static functions: {100 * one / total:.1f} % of one word, {100 * shared / total:.1f} % shared"


def check_folders(names):
    counts = collections.Counter(name.rpartition("/")[0] for name in names)
    return [f"{folder}: {n} files, the cap is {FOLDER_CAP}: sub-folders by theme" for folder, n in counts.items() if n > FOLDER_CAP]


def self_test():
    sample = "static __attribute__((noinline)) int find(int a)\n{\n}\nenum err czi_fill(void)\n{\n}\nstatic int x = f(1);\n"
    many = {f"a_{i}": ["base/a.c"] for i in range(20)}
    bad = [
        functions(sample) == [("find", True), ("czi_fill", False)],
        check_words("base/x.c", "void let_tell(void)\n{\n}\n"),
        check_words("base/kept.c", ""),
        check_statics(many | {"find": ["base/a.c"], "run": ["base/a.c"]})[0],
        check_statics(many | {name: ["base/a.c", "base/b.c"] for name in ("x_a", "x_b")})[0],
        check_first_line("base/x.c", "#include <stdio.h>\n"),
        check_terms("base/x.c", "int find_feet(void);\n"),
        check_terms("base/peek.c", ""),
        check_structs({"job": {"a.c", "b.c"}}),
        check_mentions("base/x.c", "/* as gone.c says */", {"x.c"}),
        check_folders([f"base/{i}.c" for i in range(FOLDER_CAP + 1)]),
        check_scripts({"a.js": "export function f() {\n}\n", "b.js": "f();\n"}),
        check_scripts({"a.js": "export function f() {\n}\n", "b.js": 'import { f } from "./a.js";\n'}),
        check_scripts({"a.js": "export function f() {\n}\n", "b.js": "export const f = 1;\n"}),
        check_scripts({"a.js": "export let f = 1;\n"}),
    ]
    good = [
        check_words("base/x.c", "/* told */ static int czi_fill(int kept)\n{\n}\n"),
        check_statics(many | {"find": ["base/a.c"]} | {"x_a": ["base/a.c", "base/b.c"]})[0],
        check_mentions("x.c", 'f("gone.c"); /* as sums.c and cmd_NAME.c say */', {"sums.c"}),
        check_first_line("x.c", "/* Sums. */\n"),
        check_terms("x.c", "/* feet */ double roof_share;"),
        check_structs({"job": {"a.c"}}),
        check_scripts({"a.js": "export function f() {\n}\n", "b.js": 'import { f } from "./a.js";\nfunction g() {\n  f();\n}\n'}),
    ]
    return [f"the lint test does not see violation {i}" for i, found in enumerate(bad) if not found] + sum(good, [])


def main():
    problems, owners, names, statics = self_test(), collections.defaultdict(set), [], collections.defaultdict(list)
    files = {p.name for top in (*TOPS, "tests", "docs") for p in (ROOT / top).rglob("*.*")}
    for path in c_files(*TOPS):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        names.append(name)
        problems += check_first_line(name, text) + check_terms(name, text) + check_mentions(name, text, files)
        problems += check_words(name, text)
        for struct in structs(text):
            owners[struct].add(name)
        for function, is_static in functions(text):
            if is_static:
                statics[function].append(name)
    # Of tests all that is read: sources, and the data with the goldens. The corpus of the fuzzers is as they leave it.
    kinds = (".c", ".h", ".cpp", ".py", ".sh", ".mjs")
    names += [str(p.relative_to(ROOT)) for p in (ROOT / "tests").rglob("*")
              if p.is_file() and (p.suffix in kinds or p.is_relative_to(ROOT / "tests/data"))]
    problems += check_scripts({p.name: p.read_text() for p in sorted((ROOT / "profiler/report/page/assets").rglob("*.js"))})
    problems += check_structs(owners) + check_folders(names)
    found, summary = check_statics(statics)
    problems += found
    print(summary)
    problems += [f"struct {name}: excepted, but defined once or not at all" for name in TWINS if len(owners[name]) < 2]
    return report(problems)


if __name__ == "__main__":
    sys.exit(main())
