"""The plan of the house: which folder may include which, and the order of the sub-folders inside of one.
docs/architecture.md holds the same table with its reasons."""

MAY_INCLUDE = {
    "host/base": set(),
    "host/geom": {"host/base"},
    "host/backend": {"host/base", "host/geom"},
    "host/cpu": {"host/base", "host/geom", "host/backend", "profiler/mark"},
    "host/recon": {"host/base", "host/geom", "host/backend", "profiler/mark"},
    "host/store": {"host/base", "host/geom"},
    "host/suite": {"host/base", "host/geom", "host/backend", "host/recon", "host/store", "profiler/mark"},
    "profiler/mark": set(),
    "cuda": {"host/base", "host/geom", "host/backend", "profiler/mark"},
    "profiler/record": {"host/base"},
    "profiler/trace": {"host/base"},
    "profiler/capture": {"profiler/trace"},
    "profiler/analyze": {"host/base", "profiler/trace"},
    "profiler/triage": {"host/base", "profiler/trace", "profiler/analyze"},
    "profiler/fpga": {"host/base", "profiler/trace", "profiler/analyze", "profiler/triage"},
    "profiler/report": {"host/base", "profiler/trace", "profiler/analyze"},
}
# The capture library is loaded into other programs; ours only names its file.
MAY_INCLUDE["host/cli"] = set(MAY_INCLUDE) - {"profiler/capture"}

# Sub-folders of a folder.
INSIDE = {
    "host/cpu": ["common", "parallel", "cone", "projection", "vcd", "filter", "median"],
    "cuda": ["common", "parallel", "cone", "projection", "vcd", "filter", "median"],
    "host/recon": ["slabs"],
    "host/store": ["format"],
    "host/suite": ["timing", "catalogue", "run", "bench"],
    "host/cli": ["reference", "doctor", "runs", "commands"],
    "profiler/capture": ["raw", "core/unwind", "core", "recorders/python", "recorders/heap", "recorders/wait", "recorders/cpu",
                         "recorders/cuda", "recorders/nvtx", "hooks"],
    "profiler/analyze": ["common", "model", "symbols", "heap", "attribute", "gpu", "build"],
    "profiler/triage": ["access", "model", "input", "verdict", "output"],
    "profiler/fpga": ["width", "hls"],
    "profiler/report": ["text", "export", "compare", "page"],
}

# Headers of other projects, by the folders that may use them. All other <...> headers are the C library's.
FOREIGN = {
    r"fftw3\.h|kissfft/.*": {"host/cpu"},
    r"omp\.h|immintrin\.h|cpuid\.h": {"host/cpu"},
    r"hdf5.*": {"host/store"},
    r"zlib\.h": {"host/store", "profiler/analyze", "profiler/report"},
    r"cjson/cJSON\.h": {"host/store", "host/suite", "host/cli", "profiler/analyze", "profiler/triage", "profiler/report"},
    r"nvtx3/.*": {"profiler/mark"},
    r"elfutils/.*|dwarf\.h|libelf\.h|gelf\.h": {"profiler/analyze"},
    r"cuda.*|cufft.*|nvml\.h": {"cuda"},
}


def folder_of(name):
    """host/base/err.h -> host/base, cuda/common/graph.cu -> cuda; None: not in the table"""
    parts = name.split("/")[:-1]
    for length in (1, 2):
        if "/".join(parts[:length]) in MAY_INCLUDE:
            return "/".join(parts[:length])
    return None


def sub_folder_of(name):
    """host/cpu/cone/cone.c -> cone, host/cpu/cpu.c -> ""; None: a sub-folder that is not in the table"""
    below = name[len(folder_of(name)) + 1:].rpartition("/")[0]
    return below if not below or below in INSIDE.get(folder_of(name), ()) else None


def may_include(name, header):
    """Whether the file `name` may include `header`."""
    mine, theirs = folder_of(name), folder_of(header)
    return mine == theirs or theirs in MAY_INCLUDE[mine]
