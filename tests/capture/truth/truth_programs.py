"""Programs with clocks of their own (truth/native, truth/scripts): what each phase took, they write themselves.

A source says on which lines a phase is to be found: `truth: NAME` where its self time belongs (several lines add up), and
`inclusive: NAME` where a call has it below. matrix.py compares both."""

import os

from programs import HERE, PYTHON, Program
from recorded import run

NATIVE, SCRIPTS = HERE / "truth" / "native", HERE / "truth" / "scripts"
FLAGS = ["-O2", "-g", "-pthread", str(NATIVE / "truth.c")]


def built(*commands):
    """prepare() of a program: runs each command in its folder."""

    def prepare(folder):
        for words in commands:
            done = run([w.replace("{", str(folder) + "/").replace("}", "") for w in map(str, words)], cwd=folder,
                       env={**os.environ, "GOCACHE": str(folder / "cache"), "GOFLAGS": "-mod=mod"})
            if done.returncode:
                raise RuntimeError(f"{words[0]}: {done.stderr.decode()[-400:]}")

    return prepare


def native(name, kind, *sources, words=None, compiler="cc", flags=(), link=(), **options):
    """A program of one source, {a.out}; further sources hold phases of what it loads."""
    options.setdefault("prepare", built([compiler, *FLAGS, *flags, NATIVE / sources[0], "-o", "{a.out}", *link]))
    return Program(name, kind, words or ["{a.out}"], needs=(compiler, *options.pop("needs", ())), sources=[NATIVE / s for s in sources], **options)


def script(name, kind, *sources, env=None, **options):
    """A Python program; further sources hold phases of what it calls."""
    sources = [SCRIPTS / s for s in sources]
    return Program(name, kind, [PYTHON, str(sources[0])], sources=sources, env={"PYTHONDONTWRITEBYTECODE": "1", **(env or {})}, **options)


# OpenBLAS's second thread spins for 0.04 s after it was loaded: the process's clock counts that in the phase that runs meanwhile,
# 4 points of a run of 1.5 s, while no line of the phase has it
NO_IDLE_SPIN = {"OPENBLAS_NUM_THREADS": "1"}


def module(name, kind, source, command, *phases, env=None, **options):
    """A script with an extension module, which a shell command makes in its folder; $SUFFIX and $INCLUDE are this Python's."""
    ask = f"eval $({PYTHON} -c \"import sysconfig as s; print('SUFFIX=' + s.get_config_var('EXT_SUFFIX'), 'INCLUDE=' + s.get_path('include'))\"); "
    return script(name, kind, source, *phases, prepare=built(["sh", "-c", ask + command]), env={"PYTHONPATH": ".", **(env or {})}, **options)


MPI = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader", "-np", "2", "{./a.out}"]

TRUTHS = [
    script("ASTRA", "C++ on the CPU behind Cython", "astra_cpu.py", modules=["astra"], pip=["astra-toolbox"], env=NO_IDLE_SPIN),
    script("RTK", "C++ on ITK's own threads behind SWIG", "rtk_fdk.py", modules=["itk"], pip=["itk-rtk"]),
    script("scikit-image", "Cython and SciPy under Python", "skimage_radon.py", modules=["skimage"], pip=["scikit-image"]),
    script("numba", "LLVM's JIT, sequential and parallel", "numba_jit.py", modules=["numba"], pip=["numba"]),
    module("pybind11", "C++ with lines, called and calling back", "pybind_call.py",
           f"g++ -O2 -g -shared -fPIC $({PYTHON} -m pybind11 --includes) {NATIVE}/projector.cpp -o projector$SUFFIX", NATIVE / "projector.cpp",
           needs=["g++"], modules=["pybind11", "numpy"], pip=["pybind11", "numpy"], env=NO_IDLE_SPIN),
    script("ONNX runtime", "convolution and matrix product on its threads", "onnx_run.py", modules=["onnxruntime", "onnx"], pip=["onnxruntime", "onnx"]),
    native("Rust", "threads, HashMap, inlined iterators", "threads.rs", compiler="rustc", needs=["cc"], clock="thread", apt=["rustc"],
           prepare=built(["cc", "-O2", "-g", "-c", NATIVE / "truth.c", "-o", "{truth.o}"],
                         ["rustc", "-O", "-g", NATIVE / "threads.rs", "-C", "link-arg={truth.o}", "-o", "{a.out}"])),
    native("Go", "cgo, goroutines, its own stacks and signals", "cgo.go", compiler="go", needs=["cc"], apt=["golang-go"],
           prepare=built(["sh", "-c", f"cp {NATIVE}/cgo.go {NATIVE}/truth.c {NATIVE}/truth.h {NATIVE}/spin.h . && go mod init truth && go build -o a.out"])),
    native("Fortran", "gfortran with OpenMP", "openmp.f90", compiler="gfortran", apt=["gfortran"], env={"OMP_NUM_THREADS": "2"},
           prepare=built(["gfortran", *FLAGS, "-fopenmp", NATIVE / "openmp.f90", "-o", "{a.out}"])),
    script("Flask", "a thread for each request", "flask_serve.py", "jobs.py", modules=["flask"], pip=["flask"], clock="thread", volatile=True),
    script("uvicorn", "an event loop and a pool of threads", "uvicorn_serve.py", "jobs.py", modules=["uvicorn"], pip=["uvicorn"], clock="thread"),
    native("mpirun", "two ranks, one waits busily", "ranks.c", compiler="mpicc", words=MPI, needs=["mpirun"], apt=["openmpi-bin", "libopenmpi-dev"],
           volatile=True),
    native("dlclose", "two plug-ins in turn at one address", "plugins.c", "plug_a.c", "plug_b.c",
           prepare=built(*[["cc", "-O2", "-g", "-shared", "-fPIC", NATIVE / f"plug_{x}.c", "-o", f"{{plug_{x}.so}}"] for x in "ab"],
                         ["cc", *FLAGS, NATIVE / "plugins.c", "-o", "{a.out}", "-ldl"])),
    native("deep recursion", "3,000 calls in C", "recursion.c"),
    script("deep Python", "900 calls in Python", "recursion.py"),
    script("rounds", "10 ms of three kinds of work in turn", "rounds.py"),
    script("rounds that rest", "the same, 1 ms of sleep before each", "rounds.py", env={"ROUNDS_REST": "0.001"}),
    native("malloc storm", "110 million blocks", "mallocs.c"),
    native("memcpy storm", "300 million copies", "copies.c"),
    # Ten that nobody here had tried before.
    script("process pools", "multiprocessing by fork and by spawn", "pools.py"),
    script("asyncio", "tasks, threads and an executor of processes", "loops.py", clock="thread"),
    module("Cython", "lines of a .pyx; qsort that calls back into Python", "cython_call.py",
           f"cp {SCRIPTS}/smooth.pyx . && {PYTHON} -m cython --line-directives smooth.pyx && cc -O2 -g -shared -fPIC -I$INCLUDE smooth.c -o smooth$SUFFIX", "smooth.pyx",
           needs=["cc"], modules=["Cython"], pip=["cython"]),
    native("exec chain", "vfork, posix_spawn, exec of itself", "chain.c", end=4),
    native("C++ exceptions", "exceptions, coroutines, inlined templates", "exceptions.cpp", compiler="g++", end=9,
           prepare=built(["cc", "-O2", "-g", "-c", NATIVE / "truth.c", "-o", "{truth.o}"],
                         ["g++", "-std=c++20", "-O2", "-g", NATIVE / "exceptions.cpp", "{truth.o}", "-o", "{a.out}", "-pthread"])),
    native("own stacks", "swapcontext, longjmp, an alternate signal stack", "contexts.c", flags=["-fno-omit-frame-pointer"]),
    script("greenlets", "switched stacks under Python, nested generators", "greens.py", modules=["greenlet"], pip=["greenlet"]),
    script("data frames", "polars in Rust, pandas", "frames.py", modules=["polars", "pandas"], pip=["polars", "pandas"]),
    native("short threads", "4,000 threads of half a millisecond", "short_threads.c", clock="thread"),
    native("daemon", "closes all descriptors, forks twice", "daemon.c", end=5, results=["result"]),
    native("system calls", "page faults, files, a pipe", "faults.c"),
    native("gprof", "built with -pg, its own SIGPROF", "profiled.c", flags=["-pg"]),
    Program("node with names", "a JIT that writes a jitdump", ["node", "--perf-prof", str(SCRIPTS / "jit.js")], sources=[SCRIPTS / "jit.js"],
            apt=["nodejs"]),
    native("static tree", "a shell's children: dynamic, static, musl", "alone.c", needs=["musl-gcc"], apt=["musl-tools"],
           words=["sh", "-c", "./dynamic dynamic && ./static static && ./musl musl"],
           prepare=built(*[[*words, "-O2", "-g", NATIVE / "truth.c", NATIVE / "alone.c", "-o", f"{{{name}}}"]
                           for name, words in (("dynamic", ["cc"]), ("static", ["cc", "-static"]), ("musl", ["musl-gcc"]))])),
]
