"""NVTX ranges of a program reach the trace with their texts, and another tool that was injected before still gets them."""

import collections
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fakes"))
import fake_gpu  # noqa: E402
from recorded import loadable, main, need_library  # noqa: E402
from fake_gpu import FAKES, LIBRARY, Trace, files  # noqa: E402

PUSH, POP, START, STOP, MARK = range(5)
U64, I64, F64 = 1, 2, 3
APP = FAKES / "nvtx_app"


def recorded(check, folder, program=APP, **more):
    folder.mkdir(exist_ok=True)
    options = dict(CUDA_INJECTION64_PATH="-", NVTX_INJECTION64_PATH=LIBRARY) | more
    done = subprocess.run([str(program), "all"], env=fake_gpu.environment(folder, **options), timeout=300)
    check.that(done.returncode == 0, f"exit status {done.returncode}")
    return Trace(files(folder)[0])


def events(trace, domain=""):
    """(what, text, record) of a domain on the main thread, by time"""
    found = [r for r in trace.range if trace.strings[r.domain] == domain and r.tid == trace.pid]
    return [(r.op, trace.strings[r.message], r) for r in sorted(found, key=lambda r: r.time)]


def texts(trace, domain=""):
    return [(op, text) for op, text, _ in events(trace, domain)]


def the_default_domain(check, trace):
    wanted = [(PUSH, "outer"), (PUSH, "wide é中😀"), (POP, ""), (POP, ""), (MARK, "mark"), (START, "span"),
              (START, "other span"), (STOP, ""), (STOP, "")]
    check.that(texts(trace) == wanted, f"{texts(trace)}")
    started = [r.handle for op, _, r in events(trace) if op == START]
    check.that(started == [r.handle for op, _, r in events(trace) if op == STOP] and len(set(started)) == 2, f"handles {started}")


def ranges_of_every_kind_are_recorded(check, folder):
    trace = recorded(check, folder)
    the_default_domain(check, trace)
    solver = events(trace, "solver")
    step = [(PUSH, "step"), (POP, "")]
    wanted = [(PUSH, "project"), *step, *step, *step, (POP, ""), (MARK, "moment"), (START, "asynchronous"), (STOP, "")]
    check.that([e[:2] for e in solver] == wanted, f"{solver}")
    first, second, moment = solver[0][2], solver[1][2], solver[8][2]
    check.that((first.category, first.color, first.payload_kind) == (7, 0xFF123456, F64), f"{first}")
    check.that(struct.unpack("<d", struct.pack("<Q", first.payload))[0] == 0.25, f"{first}")
    check.that((second.payload_kind, second.payload) == (I64, 2**64 - 5), f"{second}")
    check.that((moment.payload_kind, moment.payload) == (U64, 1 << 63), f"{moment}")
    check.that(texts(trace, "locks") == [(START, "queue"), (STOP, "queue"), (MARK, "queue")], f"{texts(trace, 'locks')}")
    check.that(texts(trace, "payloads") == [(PUSH, ""), (POP, "")], f"{texts(trace, 'payloads')}")
    turns = collections.Counter((r.tid, r.op) for r in trace.range if r.tid != trace.pid)
    check.that(len(turns) == 8 and set(turns.values()) == {1000}, f"ranges of the threads {turns}")


def places_and_names_are_recorded(check, folder):
    trace = recorded(check, folder)
    pushed = [r for r in trace.range if r.op in (PUSH, START, MARK)]
    check.that(pushed and all(r.stack for r in pushed), "a range without a stack")
    source = {n: text for n, text in enumerate((pathlib.Path(__file__).parents[2] / "fakes/nvtx_app.c").read_text().splitlines(), 1)}
    lines = trace.lines({r.stack for r in pushed if r.tid == trace.pid}, "nvtx_app")
    if lines is None:
        print("part skipped: no addr2line (Debian: binutils)")
    else:
        for r in pushed:
            if trace.strings[r.message] in ("outer", "mark", "moment"):
                check.that("nvtx" in source.get(lines.get(r.stack), ""), f"{trace.strings[r.message]}: line {lines.get(r.stack)}")
    check.that("copies" in trace.meta.get(f"nvtx.category.{0:016x}.7", ""), f"{trace.meta}")
    check.that("kernels" in [v for k, v in trace.meta.items() if k.endswith(".9")], f"{trace.meta}")
    check.that(trace.meta.get("nvtx.device.0") == "left card", f"{trace.meta}")
    check.that("master" in trace.thread_names.get(trace.pid, ()), f"{trace.thread_names}")


def streams_are_named(check, folder):
    preload = f"{loadable(LIBRARY)}:{loadable(FAKES / 'fake_gpu.so')}"
    trace = recorded(check, folder, LD_PRELOAD=preload, CUDA_INJECTION64_PATH=LIBRARY)
    named = [s for s in trace.stream if trace.strings[s.name] == "left stream"]
    check.that(len(named) == 1 and named[0].id in {s.id for s in trace.stream if not s.name}, f"{trace.stream}")
    check.that(texts(trace)[0] == (PUSH, "outer") and trace.context, "ranges before cuInit, and the GPU after it")


def an_earlier_tool_gets_everything_too(check, folder):
    log = folder / "log"
    trace = recorded(check, folder, TOMOPROF_CAPTURE_NVTX_CHAIN=FAKES / "nvtx_tool.so", NVTX_TOOL_LOG=log)
    the_default_domain(check, trace)
    said = [row for row in log.read_text().splitlines() if "turn" not in row]
    check.that(said[:3] == ["push outer", "pop", "pop"], f"{said[:5]}")
    check.that("start span" in said and "end 777" in said, f"{said}")
    check.that("string step in its domain" in said, f"{said}")
    check.that("project in its domain" in said and said.count("its string in its domain") == 3, f"{said}")
    check.that([t for _, t in texts(trace, "solver")].count("step") == 3, f"{texts(trace, 'solver')}")
    plain = folder / "gone"
    trace = recorded(check, plain, TOMOPROF_CAPTURE_NVTX_CHAIN="/no/tool.so")
    the_default_domain(check, trace)


def without_the_mode_nothing_is_recorded(check, folder):
    trace = recorded(check, folder, TOMOPROF_CAPTURE_MODES="cpu,cuda")
    check.that(not trace.range, f"{len(trace.range)} ranges")


need_library()
if not APP.exists():
    print("skipped: no NVTX headers on this machine when it was built")
    sys.exit(77)
main(ranges_of_every_kind_are_recorded, places_and_names_are_recorded, streams_are_named, an_earlier_tool_gets_everything_too,
     without_the_mode_nothing_is_recorded)
