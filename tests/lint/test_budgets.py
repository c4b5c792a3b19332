"""Sizes: files and functions that a reader can hold in mind."""

import statistics
import sys

from sources import ROOT, TOPS, c_files, report

C_MEDIAN, C_CAP = 220, 500
H_MEDIAN, H_CAP = 50, 120
FUNCTION_P90, FUNCTION_CAP = 50, 100

# Above the cap of their kind, with the reason.
LARGER = {
    "host/backend/backend.h": (285, "the whole seam between algorithms and machines, read as one"),
    "profiler/analyze/model/model_fields.h": (480, "profile.json read as one: structs, writer, reader and schema come from it"),
    "host/load/loading_fields.h": (215, "loading.json read as one, as the row before"),
    "host/backend/prepare_math.h": (245, "arithmetic of single samples, compiled into the kernels of both back ends"),
    "profiler/trace/format.h": (150, "the file format, read as one"),
    "profiler/analyze/state/run.h": (270, "what the analysis adds up, read as one"),
    "profiler/trace/records_gpu.h": (150, "the file format, read as one"),
    "profiler/trace/records_host.h": (190, "the file format, read as one"),
    "profiler/trace/records_io.h": (150, "the file format, read as one"),
    "cuda/common/gather.cuh": (210, "templates of kernels, which can stand nowhere but in a header"),
    "cuda/common/spread.cuh": (190, "templates of kernels"),
    "cuda/common/projection.cuh": (185, "what seven files of projections share"),
    "host/cpu/common/vec.h": (170, "short inline functions, which can stand nowhere but in a header"),
}


def functions(text):
    """(line, lines) of every function: .clang-format puts the braces of functions, and of nothing else, alone in
    the first column."""
    found, start = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            found.append((start, number - start - 1))
            start = None
    return found


def percentile(values, share):
    """The smallest value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def check_files(sizes, suffix, median, cap):
    """Problems, and one line that sums up."""
    problems = []
    of_kind = {name: n for name, n in sizes.items() if name.endswith(suffix)}
    for name, n in of_kind.items():
        limit = LARGER.get(name, (cap, ""))[0]
        if n > limit:
            problems.append(f"{name}: {n} lines, the cap is {limit}")
    middle = statistics.median(of_kind.values())
    summary = f"{suffix[0]} {suffix[1]}: {len(of_kind)} files, median {middle:g} lines, largest {max(of_kind.values())}"
    if middle > median:
        problems.append(f"{suffix[0]}: the median is {middle:g} lines, the budget is {median}")
    return problems, summary


def check_functions(lengths):
    """Problems, and one line that sums up."""
    problems = [
        f"{name}:{line}: a function of {n} lines, the cap is {FUNCTION_CAP}"
        for name, line, n in lengths
        if n > FUNCTION_CAP
    ]
    p90 = percentile([n for _, _, n in lengths], 90)
    summary = f"functions: {len(lengths)}, 90 % within {p90} lines, longest {max(n for _, _, n in lengths)}"
    if p90 > FUNCTION_P90:
        problems.append(f"functions: 90 % are within {p90} lines, the budget is {FUNCTION_P90}")
    return problems, summary


def self_test():
    sample = "int f(void)\n{\n" + "    g();\n" * 101 + "}\nstruct s {\n    int a;\n};\n"
    problems = []
    if functions(sample) != [(2, 101)]:
        problems.append("the lint test does not count functions")
    if percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 90) != 9:
        problems.append("the lint test's percentile is wrong")
    if not check_files({"x.c": 501}, (".c", ".cu"), 1000, 500)[0] or not check_files({"x.c": 400}, (".c", ".cu"), 220, 500)[0]:
        problems.append("the lint test does not see a large file")
    if not check_functions([("x.c", 1, 101)])[0] or not check_functions([("x.c", 1, 60)])[0]:
        problems.append("the lint test does not see a long function")
    return problems


def main():
    problems = self_test()
    sizes, lengths = {}, []
    for path in c_files(*TOPS):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        sizes[name] = text.count("\n")
        lengths += [(name, line, n) for line, n in functions(text)]
    problems += [f"{name}: exempt from the cap, but not there or small enough" for name in LARGER
                 if sizes.get(name, 0) <= (H_CAP if name.endswith((".h", ".cuh")) else C_CAP)]
    for found, summary in (
        check_files(sizes, (".c", ".cu"), C_MEDIAN, C_CAP),
        check_files(sizes, (".h", ".cuh"), H_MEDIAN, H_CAP),
        check_functions(lengths),
    ):
        problems += found
        print(summary)
    return report(problems)


if __name__ == "__main__":
    sys.exit(main())
