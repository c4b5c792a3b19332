"""The programs of the bench, one a row: what it is, its files and the packages or compiler that they need; then

    clock     weighs its phases: own (wall time without waiting for a CPU) where a thread computes and waits itself, thread or process
              (CPU time) where others work for it, wall where nothing else is possible
    lead      the phases that may lead, where it is not the longest
    says      regular expression that the first sentence must match; `advises`: that, the first answer and its advice together
    never     regular expression that the first sentence may not match
    beside    a program that runs beside it, unrecorded"""

import pathlib

ANSWERS = pathlib.Path(__file__).resolve().parent
NATIVE = ANSWERS.parent / "truth" / "native"
MODULES = {"scikit-image": "skimage", "scikit-learn": "sklearn", "itk-rtk": "itk", "cython": "Cython"}  # a package's module, where it has another name


class Row:
    def __init__(self, program, clock, lead, says, advises, never, beside):
        self.program, self.clock, self.lead, self.says = program, clock, lead, says
        self.advises, self.never, self.beside = advises, never, beside


def made(name, files, words, commands, *, clock="own", lead=None, says=None, advises=None, never=None, beside=None, **options):
    from programs import Program
    from truth_programs import built

    sources = [ANSWERS / file for file in files.split()]
    program = Program(name, "", words, sources=sources, prepare=built(["cp", *sources, "."], *commands), **options)
    return Row(program, clock, lead, says, advises, never, beside and sources[0].with_name(beside))


def catalogue(python):
    def script(name, files, pip="", *, words=(), commands=(), **options):
        packages, file = pip.split(), pathlib.Path(files.split()[0]).name
        return made(name, files, [python, *words, file], commands, pip=packages, modules=[MODULES.get(p, p) for p in packages], **options)

    def native(name, file, compiler, *words, **options):
        """Its own clocks are an object without lines."""
        clocks = ["cc", "-O2", "-g0", "-c", NATIVE / "truth.c", "-o", "truth.o"]
        build = [compiler, pathlib.Path(file).name, *words, "-o", "a.out"]
        return made(name, file, ["{a.out}"], [clocks, build], needs=(compiler, "cc"), **options)

    c = ["-O2", f"-I{NATIVE}", "truth.o", "-pthread"]
    cython = ["sh", "-c", f"{python} -m cython fast.pyx && cc -O2 -g -shared -fPIC fast.c -o fast.so "
              f"-I$({python} -c \"print(__import__('sysconfig').get_path('include'))\")"]
    return [
        script("tarfile as a stream", "python/tar_stream.py"),
        script("hashlib of a large file", "python/big_hash.py"),
        script("sqlite3 WAL, readers and a writer", "python/wal.py"),
        script("pytest", "python/test_slow.py", "pytest", words=["-m", "pytest", "-q", "-p", "no:cacheprovider"]),

        native("C without -g", "native/plain.c", "cc", "-g0", *c, "-lm"),
        native("Rust with -g", "native/words.rs", "rustc", "-O", "-g", "-C", "link-arg=truth.o"),
        native("pthread barrier, one is slow", "native/barrier.c", "cc", "-g", *c, lead=["work", "barrier"]),
        native("OpenMP tasks", "native/omp_tasks.c", "cc", "-g", *c, "-fopenmp", clock="thread"),
        native("C++, 16 threads, one queue", "native/pool.cpp", "g++", "-g", *c, clock="thread"),
        script("Cython module", "native/cython_run.py native/fast.pyx", "cython", commands=[cython], needs=["cc"]),

        script("script that sleeps, then works", "waits/sleeps.py"),
        script("two workers that sleep", "waits/two_sleep.py"),
        script("requests, slow server", "waits/slow_get.py", "requests", beside="slow_server.py"),

        script("joblib, two processes", "processes/joblib_cells.py", "joblib", clock="thread"),
        script("shared memory, one waits", "processes/shared_blocks.py", lead=["make"]),

        script("RTK, FDK script", "libraries/rtkfdk.py", "itk-rtk", clock="process"),
        script("scikit-image, `iradon`", "libraries/skradon.py", "scikit-image"),
        script("imports and work", "libraries/imports.py", "numba scikit-image"),
        script("Flask server, a client beside it", "libraries/flask_app.py", "flask", clock="thread", beside="flask_client.py"),
        script("dask graph on threads", "libraries/dask_graph.py", "dask numpy", clock="thread"),
        script("numba, first call", "libraries/numba_first.py", "numba"),
        script("numexpr and NumPy", "libraries/numexpr_eval.py", "numexpr", clock="process"),
    ]
