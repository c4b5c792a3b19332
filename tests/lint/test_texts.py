"""Texts of files and programs reach HTML, SVG, Markdown, CSV and the terminal through one function each: markup_text, markdown_text and markdown_fenced,
csv_text, plain_text (base/page/markup.h, base/text.h). On the terminal, a text is one line by plain_print, so that no name begins a line. A format that puts a %s between markup may hold words of the program's own alone: its file and number
of places are listed here with what they are."""

import re
import sys

from sources import ROOT, TOPS, c_files, report, strip

# The functions themselves, and the screens of `top` and of progress, whose texts pass plain_text before.
FUNCTIONS = ("base/page/", "base/text.h")

RULES = {
    "HTML": (re.compile(r"<[a-z][a-z0-9]*[ >=/]"), re.compile(r"%(\.\*)?s"), "markup_text"),
    "Markdown": (re.compile(r"(^|\\n)(\| |#+ |- )|```"), re.compile(r"%(\.\*)?s|```"), "markdown_text"),
    "CSV": (re.compile(r"%(\.\*)?s,|,%(\.\*)?s"), re.compile("%"), "csv_text"),
    "terminal": (re.compile(r"\\(033|x1b|e)\["), re.compile(r"\["), "plain_text"),
}
WRITERS_OF_CSV = re.compile(r"csv")
# Files that print for people, and their calls that would print a text as it is, line ends included.
WRITERS_OF_LINES = re.compile(r"cli/(?!reference/|storage/volume_page)|host/load/(against_)?text\.c|profiler/report/text/|profiler/report/compare/compare_write\.c")
PRINTS = re.compile(r'(?<!\w)f?printf\((?:[^"()]*,)?\s*("(?:[^"\\\n]|\\.)*"(?:\s+(?:PRI\w+\s+)?"(?:[^"\\\n]|\\.)*")*)')
TEXT = re.compile(r"%[-+ #0]*(\d+|\*)?(\.(\d+|\*)?)?s")

# rule -> file -> (places, what they print)
OWN_WORDS = {
    "HTML": {
        "cli/storage/volume_page_html.c": (5, "names of axes and views"),
        "host/load/against_text.c": (1, "numbers of bytes"),
        "host/load/page.c": (8, "phases, ratings, ways to load, units"),
        "profiler/fpga/width/width_svg.c": (4, "operations, stages, colours"),
        "profiler/report/page/html.c": (1, "names of the page's parts"),
        "profiler/triage/output/triage_svg.c": (6, "operations, kinds of processor, colours"),
    },
    "Markdown": {
        "base/rootcause/rootcause.c": (3, "rules, kinds of time"),
        "host/load/text.c": (3, "rules and their advice, for the terminal"),
        "profiler/report/export/timing_export.c": (3, "names of OpenMetrics' families"),
        "profiler/triage/output/triage_markdown.c": (19, "operations, cards of the table, quantities"),
    },
    "CSV": {},
    "line": {
        "cli/doctor/facts.c": (2, "a name that has passed plain_text, blanks"),
        "cli/main.c": (7, "help, version, and an error, which is one line"),
        "cli/runs/job.c": (1, "the name of a run, in a file"),
        "cli/trial/patch.c": (2, "a patch"),
        "host/load/against_text.c": (1, "numbers of bytes, on a page"),
        "profiler/report/text/text_inside.c": (1, "styles"),
        "profiler/report/text/text_tables.c": (5, "styles"),
        "profiler/report/text/text_wrap.c": (2, "blanks"),
    },
    "terminal": {
        "base/log.c": (2, "progress, whose line has passed plain_text"),
        "cli/live/screen.c": (4, "the screen of top"),
        "cli/live/terminal.c": (11, "keys, and the other screen"),
        "cli/runs/profile.c": (1, "the end of a line of progress"),
    },
}

LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s+(?:PRI\w+\s+)?"(?:[^"\\\n]|\\.)*")*')


def places(name, text):
    """(rule, literal) of each format in a file that would print a text as it is."""
    for literal in LITERALS.findall(strip(text, strings=False)):
        inner = re.sub(r'"\s*(?:PRI\w+\s*)?"', "", literal)[1:-1]
        for rule, (around, value, _) in RULES.items():
            if rule == "CSV" and not WRITERS_OF_CSV.search(name):
                continue
            if around.search(inner) and value.search(inner):
                yield rule, inner
    if WRITERS_OF_LINES.match(name):
        yield from (("line", literal) for literal in PRINTS.findall(strip(text, strings=False)) if TEXT.search(literal))


def by(rule):
    return "plain_print" if rule == "line" else RULES[rule][2]


def problems(files):
    found = {}
    for name, text in files:
        if name.startswith(FUNCTIONS):
            continue
        for rule, literal in places(name, text):
            found.setdefault((rule, name), []).append(literal)
    for (rule, name), literals in sorted(found.items()):
        allowed = OWN_WORDS[rule].get(name, (0, ""))[0]
        if len(literals) > allowed:
            yield f"{name}: {len(literals)} formats of {rule} with a text in them, {allowed} are listed; print it by {by(rule)}: {literals[-1][:80]}"
        elif len(literals) < allowed:
            yield f"{name}: {len(literals)} formats of {rule} with a text in them, {allowed} are listed: lower the number"
    for rule, files_of in OWN_WORDS.items():
        for name in files_of:
            if (rule, name) not in found:
                yield f"{name}: listed under {rule}, but it has none"


def self_check():
    """A violation of each rule is noticed, and what is none is not."""
    bad = {"HTML": 'fprintf(f, "<td>%s", x);', "Markdown": 'fprintf(f, "| %s |\\n", x);', "CSV": 'fprintf(f, "%s,%d\\n", x, 1);',
           "terminal": 'puts("\\033[1m");', "line": 'printf("%-9s\\n", x);'}
    good = 'markup_text(f, x); fprintf(f, "<td>%d", 1); plain_print(f, "%s is small", x); /* "<td>%s" */ fputs("<b>", f);'
    for rule, text in bad.items():
        if not any(rule in problem for problem in problems([("cli/csv.c", text)])):
            yield f"self check: {rule}: {text} is not noticed"
    yield from (f"self check: {problem}" for problem in problems([("cli/csv.c", good)]) if "cli/csv.c" in problem)
    if not any("they are" in p or "lower" in p or "has none" in p for p in problems([])):
        yield "self check: a file that is listed and has none is not noticed"


if __name__ == "__main__":
    sys.exit(report(list(self_check()) + list(problems((str(p.relative_to(ROOT)), p.read_text()) for p in c_files(*TOPS)))))
