"""Sentences of the libraries name parameters, `bin` or `bin=4`, which the programs spell as options (base/options.h, opt_spell).
So they make sense to callers that aren't command lines. An option appears only in a whole command line."""

import re
import sys

from sources import ROOT, c_files, report

# A command line names its program: the reader pastes it. All else is a parameter.
PROGRAMS = ("tomoprof", "perf", "nsys", "ncu", "srun", "mpirun", "docker", "node", "java", "cuda/sass.py")
COMMAND = r"(?:^|[\s`\"(])(?:%s)(?: [^`;:()]*)? $" % "|".join(map(re.escape, PROGRAMS))
# Files with options that aren't sentences.
EXEMPT = {
    "base/options.c": "prints and parses options, for the programs",
    "base/options.h": "the same",
    "host/suite/run/parent.c": "starts this program again, with options as arguments",
    "profiler/fpga/main.c": "the main of a program of its own",
    "profiler/fpga/fpga.h": "its options",
}
TOPS = ("host", "cuda", "base", "profiler")
LITERAL = r'"((?:\\.|[^"\\\n])*)"'
# Words in back quotes that are no parameters: commands and values.
WORDS = {"record", "run"}


def sentences(text):
    """String literals without comments, those of one sentence joined over lines and PRI macros."""
    text = re.sub(r"/\*.*?\*/|//[^\n\"]*$", " ", text, flags=re.S | re.M)
    for match in re.finditer(LITERAL + r"(?:\s*(?:PRI\w+\s*)?" + LITERAL + r")*(?:\s*PRI\w+)?", text):
        yield "".join(re.findall(LITERAL, match.group(0)))


def options_of(name, sentence):
    return [f"{name}: a library names parameters, `name` or `name=value`, not {m.group(0)}: {sentence[:60]!r}"
            for m in re.finditer(r"(?<![\w-])--[a-z][a-z0-9-]*", sentence) if not re.search(COMMAND, sentence[:m.start()])]


def unknown_parameters(name, sentence, options):
    words = re.findall(r"`([a-z][a-z0-9_]*)(?:=[^`]*)?`", sentence)
    return [f"{name}: `{w}` is not an option of any command: {sentence[:60]!r}" for w in words
            if w.replace("_", "-") not in options and w not in WORDS]


def option_names():
    rows = r'OPTION_[A-Z]+\(\s*"([a-z0-9-]+)"|\.name = "([a-z0-9-]+)",\s*\.(?:letter|kind)'
    return {a or b for path in c_files("cli", "profiler") for a, b in re.findall(rows, path.read_text())}


def self_test():
    assert list(sentences('f("--bin %" PRId64\n  ": too large", x); /* "--x" */')) == ["--bin %: too large"]
    assert options_of("", "give --bin 2") and options_of("", "--bin: 0") and options_of("", "record --rate 9")
    assert not options_of("", "`tomoprof record --rate 9`") and not options_of("", "output of `perf script --ns -F +pid`")
    assert options_of("", "`tomoprof record` with --rate 9")
    assert unknown_parameters("", "`bim=4`: too large", {"bin"}) and not unknown_parameters("", "`center_png`", {"center-png"})


def main():
    self_test()
    options, problems = option_names(), []
    assert len(options) > 100, "the rows of options were not found"
    for path in c_files(*TOPS):
        name = path.relative_to(ROOT).as_posix()
        for sentence in sentences(path.read_text()):
            if name not in EXEMPT:
                problems += options_of(name, sentence)
            if not name.startswith("profiler"):  # it names functions and formats so too
                problems += unknown_parameters(name, sentence, options)
    return report(problems)


if __name__ == "__main__":
    sys.exit(main())
