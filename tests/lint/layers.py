"""The plan of the house: which folder may include which, and the order of the sub-folders inside of one.
docs/internals/architecture.md holds the same table with its reasons."""

MAY_INCLUDE = {
    "base": set(),
    "base/json": {"base"},
    "base/timing": {"base", "base/json"},
    "base/page": {"base"},
    "base/jail": {"base"},
    "host/geom": {"base"},
    "host/backend": {"base", "host/geom"},
    "host/cpu": {"base", "host/geom", "host/backend", "base/mark"},
    "host/recon": {"base", "host/geom", "host/backend", "base/mark"},
    "host/store": {"base", "base/json", "base/jail", "host/geom"},
    "base/rootcause": {"base", "base/json", "base/page"},
    "host/load": {"base", "base/jail", "base/json", "base/page", "host/geom", "host/store", "base/rootcause"},
    "host/scan": {"base", "base/jail", "base/json", "host/geom", "host/backend", "host/recon", "host/store", "base/mark"},
    "host/cluster": {"base", "base/jail", "host/geom", "host/backend", "host/recon", "host/store", "host/scan", "base/json", "base/timing", "host/suite", "base/mark"},
    "host/suite": {"base", "base/jail", "base/json", "base/timing", "host/geom", "host/backend", "host/recon", "host/store", "base/mark"},
    "host/api": {"base", "base/jail", "base/json", "host/geom", "host/backend", "host/cpu", "host/recon", "host/store", "host/suite", "host/scan", "cuda", "base/timing", "base/mark"},
    "base/mark": set(),
    "cuda": {"base", "host/geom", "host/backend", "base/mark"},
    "profiler/image": set(),
    "profiler/record": {"base", "profiler/image", "profiler/trace"},
    "profiler/trace": {"base"},
    "profiler/capture": {"profiler/trace", "profiler/image"},
    "profiler/capture_mpi": {"profiler/trace", "profiler/capture"},
    "profiler/outside": {"base", "profiler/trace", "profiler/capture"},
    "profiler/analyze": {"base", "base/json", "profiler/trace"},
    "profiler/findings": {"base", "base/json", "base/page", "base/rootcause", "profiler/trace", "profiler/analyze"},
    "profiler/import": {"base", "base/jail", "base/json", "base/page", "base/rootcause", "profiler/trace", "profiler/analyze", "profiler/findings"},
    "profiler/triage": {"base", "base/json", "base/page", "base/timing", "profiler/trace", "profiler/analyze"},
    "profiler/report": {"base", "base/json", "base/page", "base/timing", "base/rootcause", "profiler/trace", "profiler/analyze", "profiler/findings"},
}
# A program of its own, which measures bit widths on scans.
MAY_INCLUDE["profiler/fpga"] = MAY_INCLUDE["profiler/triage"] | MAY_INCLUDE["host/scan"] | {"profiler/triage", "host/scan"}
# The capture library is loaded into other programs; ours only names its file.
MAY_INCLUDE["cli"] = set(MAY_INCLUDE) - {"profiler/capture", "profiler/capture_mpi", "host/api"}

# Sub-folders of a folder: each may include those before it, and the folder's own files all of them. A header in the folder
# itself is its face, which its sub-folders may include too, for its types: what they call must lie before them (test_circles).
INSIDE = {
    "host/cpu": ["common", "parallel", "cone", "projection", "vcd", "filter", "fourier", "prepare", "median", "volume", "sart"],
    "cuda": ["common", "parallel", "cone", "projection", "vcd", "filter", "fourier", "prepare", "median", "volume"],
    "host/recon": ["common", "slabs", "center"],
    "host/store": ["dicom", "codec", "fetch", "format", "h5", "manifest", "container", "guard", "reader", "engine", "writer", "exchange"],
    "host/suite": ["statistics", "catalogue", "run"],
    "cli": ["common", "reference", "doctor", "runs", "storage", "results", "trial", "live", "commands"],
    "profiler/capture": ["raw", "core/unwind", "core", "recorders/python", "recorders/failure", "recorders/locks", "recorders/heap", "recorders/wait", "recorders/cpu",
                         "recorders/cuda", "recorders/nvtx", "recorders/jit", "recorders/io", "recorders/mpi", "hooks"],
    "profiler/analyze": ["common", "model", "symbols", "state", "attribute", "heap", "io", "locks", "ranks", "gpu", "what_if", "build"],
    "profiler/findings": ["advice"],
    "profiler/import": ["read", "build", "source"],
    "profiler/triage": ["access", "model", "input", "verdict", "output"],
    "profiler/fpga": ["width", "embed", "hls", "verilog"],
    "profiler/report": ["text", "export", "page", "compare"],
}

# Headers of other projects, by the folders that may use them. All other <...> headers are the C library's.
FOREIGN = {
    r"fftw3\.h|kissfft/.*": {"host/cpu"},
    r"omp\.h|immintrin\.h|cpuid\.h": {"host/cpu"},
    r"hdf5.*": {"host/store"},
    r"zlib\.h": {"host/store", "profiler/analyze", "profiler/report", "profiler/import"},
    r"sqlite3\.h": {"profiler/import"},
    r"libdeflate\.h|zstd\.h|blosc\.h|lz4\.h|liburing\.h|curl/curl\.h|turbojpeg\.h|JXRGlue\.h|bzlib\.h|b2nd\.h|blosc2\.h|tiffio\.h|gdcm.*": {"host/store"},
    r"cjson/cJSON\.h": {"base/json", "base/timing", "base/rootcause", "host/api", "host/store", "host/suite", "cli", "profiler/analyze", "profiler/triage", "profiler/report"},
    r"nvtx3/.*": {"base/mark"},
    r"elfutils/.*|dwarf\.h|libelf\.h|gelf\.h": {"profiler/analyze"},
    r"mpi\.h": {"host/cluster"},
    r"tomoprof\.h": {"host/api"},  # as its users have it
    r"cuda.*|cufft.*|nvml\.h": {"cuda"},
}


def folder_of(name):
    """base/err.h -> base, cuda/common/memory.cu -> cuda; None: not in the table"""
    parts = name.split("/")[:-1]
    for length in (2, 1):
        if "/".join(parts[:length]) in MAY_INCLUDE:
            return "/".join(parts[:length])
    return None


def sub_folder_of(name):
    """host/cpu/cone/cone.c -> cone, host/cpu/cpu.c -> ""; None: a sub-folder that is not in the table"""
    below = name[len(folder_of(name)) + 1:].rpartition("/")[0]
    return below if not below or below in INSIDE.get(folder_of(name), ()) else None


def may_call(name, target):
    """Whether the file `name` may call into, or use a variable of, the file `target`."""
    mine, theirs = folder_of(name), folder_of(target)
    if mine != theirs:
        return theirs in MAY_INCLUDE[mine]
    order = INSIDE.get(mine, []) + [""]
    return order.index(sub_folder_of(target)) <= order.index(sub_folder_of(name))


def may_include(name, header):
    """Whether the file `name` may include `header`."""
    face = folder_of(name) == folder_of(header) and sub_folder_of(header) == ""
    return face or may_call(name, header)
