"""The programs of the bench, one a row: what it is, its files and the packages or compiler that they need; then

    clock     weighs its phases: own (wall time without waiting for a CPU) where a thread computes and waits itself, thread or process
              (CPU time) where others work for it, wall where nothing else is possible
    lead      the phases that may lead, where it is not the longest; []: the sentence need not name a line
    every     the phases that must all be named
    says      regular expression that the first sentence must match, without places and source text
    advises   one that the first sentence, the first answer and its advice must match together
    never     one that these may not match
    beside    a program that runs beside it, unrecorded
    root      only root may run it"""

import os
import pathlib
import re
import signal

ANSWERS = pathlib.Path(__file__).resolve().parent
NATIVE = ANSWERS.parent / "truth" / "native"
MODULES = {"scikit-image": "skimage", "scikit-learn": "sklearn", "itk-rtk": "itk", "cython": "Cython"}  # a package's module, where it has another name

IMPORTS, LOCK, WAITS = "^(Start-up|Import)", "lock|mutex", "wait|sleep"


class Row:
    def __init__(self, program, clock, lead, every, says, advises, never, beside):
        self.program, self.clock, self.lead, self.every = program, clock, lead, every
        self.says, self.advises, self.never, self.beside = says, advises, never, beside


def made(name, files, words, commands, *, clock="own", lead=None, every=(), says=None, advises=None, never=None, beside=None, root=False,
         **options):
    from programs import Program
    from truth_programs import built

    sources = [ANSWERS / file for file in files.split()]

    def prepare(folder):
        """Copies the sources without their marks, so that the analysis cannot read these."""
        for path in sources:
            (folder / path.name).write_text(re.sub(r"(#|//|/\*) truth: \w+( \*/)?", "", path.read_text()))
        built(*commands)(folder)

    program = Program(name, "", words, sources=sources, prepare=prepare, **options)
    if root and os.geteuid():
        program.absent = lambda: "only root may run it"
    return Row(program, clock, lead, every, says, advises, never, beside and sources[0].with_name(beside))


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
        script("tarfile as a stream", "python/tar_stream.py", never="inflat"),
        script("hashlib of a large file", "python/big_hash.py", never="TLS|encrypt"),
        script("sqlite3 WAL, readers and a writer", "python/wal.py"),
        script("pytest", "python/test_slow.py", "pytest", words=["-m", "pytest", "-q", "-p", "no:cacheprovider"]),
        script("own loop between imports and NumPy", "python/own_loop.py", "numpy scipy", lead=["weigh"], never=IMPORTS),
        script("two equal calls in main()", "python/equal_calls.py", every=["rows", "columns"]),
        script("one function, called twice", "python/called_twice.py"),
        script("flat: twelve lines, imports of a tenth", "python/flat_lines.py", lead=["own"], never=IMPORTS),
        script("exceptions in a loop", "python/exceptions.py"),
        script("regular expression that backtracks", "python/regex.py"),
        script("text that grows at its front", "python/strings.py"),
        script("nested Python loops over an array", "python/nested_loops.py", "numpy", advises="NumPy|numba|compiled"),
        script("logging in a loop", "python/log_lines.py"),
        script("fails after its work", "python/fails.py", end=1, lead=["store"], says="exited with 1|AttributeError"),
        script("killed after its work", "python/killed.py", end=-signal.SIGKILL, lead=[], says="SIGKILL"),

        native("C without -g", "native/plain.c", "cc", "-g0", *c, "-lm"),
        native("Rust with -g", "native/words.rs", "rustc", "-O", "-g", "-C", "link-arg=truth.o"),
        native("pthread barrier, one is slow", "native/barrier.c", "cc", "-g", *c, lead=["work", "barrier"]),
        native("OpenMP tasks", "native/omp_tasks.c", "cc", "-g", *c, "-fopenmp", clock="thread"),
        native("C++, 16 threads, one queue", "native/pool.cpp", "g++", "-g", *c, clock="thread"),
        script("Cython module", "native/cython_run.py native/fast.pyx", "cython", commands=[cython], needs=["cc"]),
        native("segmentation fault after its work", "native/segfault.c", "cc", "-g", *c, end=-signal.SIGSEGV, lead=[], says="SIGSEGV|[Ss]egmentation"),
        native("C, four threads behind a mutex, a helper locks", "native/lock_helper.c", "cc", "-g", *c, lead=["critical"], says=LOCK, never="more threads"),
        native("OpenMP, 32 threads", "native/oversubscribed.c", "cc", "-g", *c, "-fopenmp", clock="process", advises=r"\b32 threads|many threads|oversubscri|than (cores|CPUs)"),

        script("script that sleeps, then works", "waits/sleeps.py"),
        script("two workers that sleep", "waits/two_sleep.py", lead=["sleep"]),
        script("requests, slow server", "waits/slow_get.py", "requests", beside="slow_server.py"),
        script("server that is far away", "waits/far_blocks.py", beside="far_server.py", says=WAITS),
        script("command that sleeps", "waits/child_sleeps.py", says="waits for `sleep`"),
        script("command that computes", "waits/child_works.py", says="waits for `gzip`"),
        script("flag that is polled without sleep", "waits/poll_flag.py"),
        script("file that is polled", "waits/poll_file.py", says=WAITS),
        script("nap after each piece of work", "waits/sleep_loop.py", says=WAITS),
        script("signal.pause", "waits/pause.py", says=WAITS),
        script("gevent, greenlets that sleep", "waits/greenlets.py", "gevent", says=WAITS),
        script("four threads of Python", "waits/gil.py", clock="thread", advises="GIL"),
        script("queue, slow consumer", "waits/slow_consumer.py", lead=["compress"], clock="thread"),
        script("queue, slow producer", "waits/slow_producer.py", lead=["decode"], clock="thread"),
        script("lock around decoding", "waits/read_under_lock.py", lead=["decode"], says=LOCK, never="more threads"),

        script("pipe of a command, line by line", "processes/pipe_out.py", lead=["shuffle"], says="waits for `sort`"),
        native("pipe of a command, popen", "processes/pipe_out.c", "cc", "-g", *c, lead=["compress"], says="waits for `gzip`"),
        script("joblib, two processes", "processes/joblib_cells.py", "joblib", clock="thread"),
        script("shared memory, one waits", "processes/shared_blocks.py", lead=["make"]),
        script("pool, one long task", "processes/pool_skew.py", clock="thread"),
        script("loader process, slower than training", "processes/loader.py", clock="thread", lead=["load"]),
        script("pool that returns long lists", "processes/pool_return.py", lead=["map"], advises="pickl.*send less"),
        script("joblib, a library's function", "processes/joblib_svd.py", never="sleep"),
        script("fork of a large process", "processes/fork_large.py"),
        script("400 short commands", "processes/many_commands.py"),

        script("RTK, FDK script", "libraries/rtkfdk.py", "itk-rtk", clock="process"),
        script("scikit-image, `iradon`", "libraries/skradon.py", "scikit-image"),
        script("imports and work", "libraries/imports.py", "numba scikit-image"),
        script("Flask server, a client beside it", "libraries/flask_app.py", "flask", clock="thread", beside="flask_client.py"),
        script("dask graph on threads", "libraries/dask_graph.py", "dask numpy", clock="thread"),
        script("numba, first call", "libraries/numba_first.py", "numba", advises="ompil"),
        script("numexpr and NumPy", "libraries/numexpr_eval.py", "numexpr", clock="process"),
        script("lazy import in a function", "libraries/lazy_import.py", "pandas scipy", says="import", never="Start-up"),
        script("JAX, compiles for each shape", "libraries/jax_jit.py", "jax", clock="process", advises="ompil"),
        script("torch.compile, first call", "libraries/torch_first.py", "torch", clock="process", lead=["compile"], advises="ompil"),
        script("MBIRJAX, small reconstruction", "libraries/mbirjax_recon.py", "mbirjax", clock="process", lead=["project", "recon"], advises="ompil"),
        script("fresh arrays", "libraries/fresh_arrays.py", "numpy", advises="page fault"),
        script("casts to float64", "libraries/casts.py", "numpy", advises="astype|float64|conver"),
        script("reads of 4 KiB", "libraries/small_reads.py", advises="small|4096|4 KiB|larger"),
        script("file that is read again", "libraries/reread.py", "numpy", advises="again|times|once"),
        script("gzip blocks", "libraries/inflate.py", "numpy", advises="inflat|compress"),
        script("h5py across chunks", "libraries/h5_columns.py", "h5py numpy", advises="chunk"),

        script("pandas apply, row by row", "arrays/pandas_apply.py", "pandas", advises="pandas|columns"),
        script("pandas, CSV written and read", "arrays/write_csv.py", "pandas numpy", never="[Pp]arsing", says="writing CSV|as text"),
        script("pandas concat in a loop", "arrays/frame_concat.py", "pandas", advises="in a list|once (after|at)"),
        script("np.append in a loop", "arrays/np_append.py", "numpy", advises="in a list|once (after|at)"),
        script("list to array in a loop", "arrays/list_array.py", "numpy", advises="element|in a list"),
        script("copies between layouts", "arrays/layouts.py", "numpy", advises="copying|layout"),
        script("scipy.ndimage, median filter", "arrays/median_filter.py", "scipy"),
        script("FFT of rows", "arrays/fft_rows.py", "scipy", advises="FFT"),
        script("matrix product in a wheel's BLAS", "arrays/product.py", "numpy", clock="process", advises="BLAS|[Mm]atrix product"),
        script("list that keeps all frames", "arrays/growing_list.py", "numpy", advises="page fault|memory"),
        script("garbage collector, cyclic objects", "arrays/cycles.py", lead=["collect", "build"], advises="garbage"),

        script("zarr, small chunks", "storage/zarr_chunks.py", "zarr", advises="larger chunks"),
        script("zarr, threads of a pool", "storage/zarr_threads.py", "zarr", advises="larger chunks"),
        script("nibabel, compressed volume", "storage/nifti_gz.py", "nibabel", advises="inflat"),
        script("CSV in Python", "storage/csv_floats.py", advises="[Pp]arsing|convert"),
        script("JSON lines", "storage/json_lines.py", advises="JSON"),
        script("sqlite3, a commit for each row", "storage/commits.py", advises="many items|SQL|transaction", never="Read ahead"),
        native("fsync after each write", "storage/fsyncs.c", "cc", "-g", *c, never="Read ahead"),
        script("memory-mapped file, cold", "storage/mapped.py", "numpy"),
        script("Zstandard frames", "storage/unpack.py", "numcodecs", advises="ecompress"),

        script("h5py across chunks, in a thread", "storage/h5_thread.py", "h5py numpy", advises="chunk"),
        script("fsspec, blocks over HTTP", "storage/fsspec_blocks.py", "fsspec aiohttp", beside="block_server.py"),
        native("first write to mapped pages", "storage/first_touch.c", "cc", "-g", *c, advises="page fault"),
        script("shelve, loads of one record", "storage/shelf.py", advises="pickl"),
        script("tarfile, many small members", "storage/tar_members.py"),

        script("pool with a task for each item", "processes/pool_items.py", advises="chunksize", never="Read ahead"),
        script("scikit-learn folds in joblib", "processes/sklearn_folds.py", "scikit-learn joblib", clock="thread"),
        script("DataLoader, slow `__getitem__`", "processes/dataset.py", "torch", clock="thread", lead=["item"]),

        script("main sleeps, a worker computes", "waits/one_worker.py", never="sleep"),
        script("asyncio, one slow await", "waits/slow_await.py"),
        script("asyncio, a call that blocks", "waits/blocking_call.py"),
        script("aiohttp, slow server", "waits/aio_client.py", "aiohttp", beside="slow_server.py", says=WAITS),
        script("DNS, slow name server", "waits/names.py", beside="slow_names.py", root=True, advises="name server"),

        native("C++, lock_guard in a method", "threads/guard.cpp", "g++", "-g", *c, lead=["add"], says=LOCK, never="more threads"),
        native("semaphore as a scoped lock", "threads/scoped.c", "cc", "-g", *c, lead=["lookup"], says=LOCK, never="more threads"),
        native("read-write lock, helpers take it", "threads/rwlock.c", "cc", "-g", *c, lead=["update"], never="more threads"),
        script("lock in a context manager", "threads/locked_context.py", lead=["critical"], says=LOCK, never="more threads"),
        script("lock around a sleep", "threads/lock_sleep.py", lead=["ask"], says=LOCK, never="more threads"),
        native("mutex around a wait", "threads/lock_io.c", "cc", "-g", *c, lead=["ask"], says=LOCK, never="more threads"),
        script("event loop beside threads that compute", "threads/executor_loop.py", clock="thread", advises="GIL", never="epoll|select"),
        script("condition, slow producer", "threads/condition.py", lead=["decode"]),
        script("BLAS in a side thread", "threads/side_product.py", "numpy", clock="process", advises="BLAS|[Mm]atrix product"),
        script("main polls its child", "threads/polls_child.py", never="sleep"),
        script("main naps, three threads decompress", "threads/naps.py", lead=["block"], never="sleep"),

        native("false sharing", "native/sharing.c", "cc", "-g", *c, clock="thread", never="more threads"),
        native("C++ std::async", "native/futures.cpp", "g++", "-g", *c, clock="thread"),
        native("C++, words in std::map", "native/word_map.cpp", "g++", "-g", *c, says="ordered maps"),
        native("Rust, inner loop", "native/steps.rs", "rustc", "-O", "-g", "-C", "link-arg=truth.o"),
        made("Node, regular expression", "native/words.js", ["node", "words.js"], [], clock="process", lead=[], says="node", advises="--perf-"),
        made("Node that writes its names", "native/words.js", ["node", "--perf-prof", "words.js"], [], clock="process"),
        made("shell, many short processes", "native/recipes.sh", ["bash", "recipes.sh"], [], needs=["mawk"], clock="process", lead=[], says="mawk"),

        script("forty functions of 2 %", "python/flat.py", never=IMPORTS + r"|main\(\)|\([2-9]\d %\)|takes [2-9]\d %"),
        script("a third of a second", "python/brief.py"),
        script("imports alone", "python/only_imports.py", "scikit-learn"),

        script("JAX, block_until_ready", "libraries/jax_wait.py", "jax"),
    ]
