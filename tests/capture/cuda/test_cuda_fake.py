"""The GPU's side of a trace against the truth of a emulated GPU, whose CUPTI misbehaves in every way it is asked to."""

import collections
import pathlib
import resource
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fakes"))
import fake_gpu  # noqa: E402
from recorded import command, main, need_library, profile, run  # noqa: E402
from tool import DATA  # noqa: E402
from fake_gpu import CAPTURED, Trace, files, truth  # noqa: E402

NAMES = {"_Z7projectPfPKfi", "_Z11backprojectPfPKfi"}
PART_CUDA = 5
JIT = 0x1000000


def recorded(check, folder, *args, status=0, **options):
    """The one trace of a run of the app."""
    got = fake_gpu.run(folder, *args, **options)
    check.that(got == status, f"{args} {options.get('fake', '')}: exit status {got} instead of {status}")
    found = files(folder)
    if not check.that(len(found) == 1, f"{args}: trace files {found}"):
        return None
    return Trace(found[0])


def works(trace):
    return [(w, r) for w in ("kernel", "copy", "set") for r in getattr(trace, w)]


def gpu_losses(trace):
    return {k: v for k, v in trace.lost.items() if k.startswith("gpu_") or k == "records"}


def the_truth_is_there(check, folder, trace, tag):
    """Every piece of work: exact duration, bytes, name, place, and a call that a stack belongs to."""
    expected = collections.Counter()
    for row in truth(folder):
        if row["what"] in ("kernel", "copy", "set", "decompress"):
            row["what"] = row["what"].replace("decompress", "copy")
            expected[row["what"], row["correlation"], row["ns"], row["bytes"], row["name"], row["device"], row["stream"]] += 1
    calls = trace.apis()
    found = collections.Counter()
    for what, r in works(trace):
        if r.graph:
            continue
        name = trace.strings[r.name] if what == "kernel" else ""
        size = 0 if what == "kernel" else r.bytes
        found[what, r.correlation, r.end - r.start, size, name, r.device, r.stream] += 1
        call = calls.get(r.correlation)
        check.that(call and call.stack and call.start <= call.end, f"{tag}: {what} {r.correlation} has no call with a stack")
        check.that(what == "kernel" or (call and (call.bytes == r.bytes or r.kind == 11)), f"{tag}: {what} of {size} bytes, the call says {call}")
    check.that(found == expected, f"{tag}: {found - expected} is not {expected - found}")
    check.that(not gpu_losses(trace), f"{tag}: lost {trace.lost}")
    check.that("cuda.silent" not in trace.notes, f"{tag}: {trace.notes}")


def lines_are_the_callers(check, folder, trace):
    lines = trace.lines({a.stack for a in trace.api if a.stack})
    if lines is None:
        print("part skipped: no addr2line (Debian: binutils)")
        return
    calls = trace.apis()
    checked = 0
    for row in truth(folder):
        if row["what"] != "graph" and row["correlation"] in calls:
            line = lines.get(calls[row["correlation"]].stack)
            checked += check.that(line == row["line"], f"{row}: the stack says line {line}")
    check.that(checked >= 30, f"lines of {checked} pieces of work")


def every_kind_of_work_is_recorded(check, folder):
    trace = recorded(check, folder, "all")
    the_truth_is_there(check, folder, trace, "all")
    lines_are_the_callers(check, folder, trace)
    check.that(trace.meta.get("cupti.clock") == "monotonic", f"{trace.meta}")
    check.that({d.id for d in trace.device} == {0, 1} and all(d.sms == 20 and d.major == 8 for d in trace.device), f"{trace.device}")
    check.that({(c.id, c.device) for c in trace.context} == {(1, 0), (2, 1)}, f"{trace.context}")
    check.that(len(trace.stream) == 3 and len(trace.sync) == 3, f"{trace.stream} {trace.sync}")
    check.that({(c.kind, c.source, c.target) for c in trace.copy} == {(1, 1, 3), (2, 3, 1), (8, 3, 3), (10, 3, 3), (11, 3, 3)}, f"{trace.copy}")
    unpacked = [(c.bytes, c.copies, c.asynchronous) for c in trace.copy if c.kind == 11]
    check.that(unpacked == [(700, 3, 1)], f"work of the decompression engine: {unpacked}")
    check.that(all(k.executed == 65536 for k in trace.kernel), "the carve-out of shared memory")
    allocated = [m for m in trace.memory if m.operation == 1]
    check.that({m.bytes for m in allocated} == {1 << 20, 4096}, f"{trace.memory}")
    check.that({m.operation for m in trace.memory} == {1, 2, 3} and any(m.pool and m.reserved for m in allocated), f"{trace.memory}")
    check.that(all(k.local == 9 and k.registers == 32 and k.gx in (128, 1) for k in trace.kernel), "fields of kernels")
    check.that(trace.cost and max(c.ns for c in trace.cost if c.part == PART_CUDA) > 0, "no cost of our own")


def rare_records_are_read(check, folder):
    for layout in (12, 13, 14):
        trace = recorded(check, folder / str(layout), "kill", 50, fake=f"layout={layout},unified=1", status=-9)
        kinds = {o.kind: o.end - o.start for o in trace.overhead}
        check.that(kinds == {5 << 16: 400, JIT | 1 << 8 | 3: 3000}, f"layout {layout}: overheads {kinds}")
        check.that("cuda.unified_memory" not in trace.notes, f"{trace.notes}")
        check.that(len(trace.fault) == 1 and all(f.value == 65536 and f.end - f.start == 70 and f.target == 1 for f in trace.fault), f"{trace.fault}")


def data_of_a_full_command_buffer_is_freed(check, folder):
    trace = recorded(check, folder, "many", 100, fake="full=1", MALLOC_CHECK_="3")
    check.that({o.kind for o in trace.overhead if o.kind < JIT} == {6 << 16} and len(trace.kernel) == 100, f"{trace.overhead}")


def graphs_know_where_they_were_built(check, folder):
    trace = recorded(check, folder, "all")
    calls, nodes = trace.apis(), {n.node: n for n in trace.node}
    ours = [k for k in trace.kernel if k.graph]
    check.that(len(ours) == 6 and {trace.strings[k.name] for k in ours} == NAMES, f"{ours}")
    captured = [a for a in trace.api if a.flags & CAPTURED]
    check.that(len(captured) == 2 and len({a.stack for a in captured}) == 2, f"captured calls {captured}")
    for k in ours:
        node = nodes.get(k.node)
        built = nodes.get(node.original) if node and node.cloned else None
        check.that(built and built.stack in {a.stack for a in captured}, f"{k}: no place where it was built")
        check.that(trace.strings[calls[k.correlation].name] == "cudaGraphLaunch", f"{k}: launched by {calls[k.correlation]}")


def graphs_are_recorded_whole_when_asked(check, folder):
    trace = recorded(check, folder / "whole", "all", fake="device_graph=1", TOMOPROF_CAPTURE_GRAPHS="1")
    launched = [row for row in truth(folder / "whole") if row["what"] == "graph"]
    calls = trace.apis()
    found = [k for k in trace.kernel if k.graph and k.correlation]
    check.that([(k.correlation, k.end, k.launch_type) for k in found] == [(r["correlation"], r["end"], 0x100) for r in launched], f"{found}")
    check.that(all(k.end - k.start >= r["ns"] + 1000 for k, r in zip(found, launched)), f"a graph is not as long as its nodes: {found} {launched}")
    check.that(len({trace.strings[k.name] for k in found}) == 1 and trace.strings[found[0].name].startswith("CUDA graph "), f"{found}")
    check.that(all(trace.strings[calls[k.correlation].name] == "cudaGraphLaunch" and calls[k.correlation].stack for k in found), f"{found}")
    ours = [trace.strings[k.name] for k in trace.kernel if k.graph and not k.correlation]
    graph = found[0].graph
    check.that(ours == [f"CUDA graph {graph + 100}, launched by graph {graph}"] * 3, f"graphs that the device launched: {ours}")
    check.that(not any(k.node for k in trace.kernel) and "cuda.graphs" in trace.notes and not gpu_losses(trace), f"{trace.notes} {trace.lost}")
    trace = recorded(check, folder / "old", "all", fake="cuptiActivityEnable=21", TOMOPROF_CAPTURE_GRAPHS="1")
    check.that("graphs are recorded by their nodes" in trace.notes.get("cuda.call", "") and "cuda.graphs" not in trace.notes, f"{trace.notes}")


def kernels_say_how_long_they_were_queued(check, folder):
    trace = recorded(check, folder, "all")
    expected = {row["correlation"]: row["delay"] for row in truth(folder) if row["what"] == "kernel"}
    found = {k.correlation: k.start - k.queued for k in trace.kernel if not k.graph}
    check.that(found == expected and len(found) == 22, f"{found} instead of {expected}")
    check.that(all(k.submitted - k.queued == 500 for k in trace.kernel), "when kernels were submitted")
    trace = recorded(check, folder / "refused", "all", fake="cuptiActivityEnableLatencyTimestamps=1")
    check.that("queued is unknown" in trace.notes.get("cuda.call", "") and not any(k.queued for k in trace.kernel), f"{trace.notes}")


def hardware_times_kernels_when_asked(check, folder):
    """Blackwell's: CUPTI takes it once CUDA is initialised, and tells no latency then. The fake marks such kernels by their carve-out."""
    trace = recorded(check, folder, "all", TOMOPROF_CAPTURE_HW_TRACE="1")
    check.that({k.executed for k in trace.kernel} == {32768} and not any(k.queued for k in trace.kernel), f"{trace.kernel[:2]} {trace.notes}")
    trace = recorded(check, folder / "refused", "all", fake="cuptiActivityEnableHWTrace=27", TOMOPROF_CAPTURE_HW_TRACE="1")
    check.that("timed as on other GPUs" in trace.notes.get("cuda.call", "") and len(trace.kernel) == 28, f"{trace.notes}")


def records_of_any_length_are_read(check, folder):
    for layout in (11, 12, 13, 14):
        trace = recorded(check, folder / str(layout), "all", fake=f"layout={layout}")
        the_truth_is_there(check, folder / str(layout), trace, f"layout {layout}")
        local, clusters = {k.local for k in trace.kernel}, {(k.cx, k.cy, k.cz) for k in trace.kernel}
        check.that(local == ({7} if layout == 11 else {9}) and clusters == {(0, 0, 0)}, f"layout {layout}: {local} {clusters}")


def the_order_and_thread_of_delivery_do_not_matter(check, folder):
    for fake in ("shuffle=1", "deliver=1", "shuffle=1,deliver=1,layout=14"):
        trace = recorded(check, folder / fake, "all", fake=fake)
        the_truth_is_there(check, folder / fake, trace, fake)


def what_is_lost_is_counted(check, folder):
    trace = recorded(check, folder / "a", "many", 1000, fake="zero=5,drop=3,unknown=7")
    expected = {"gpu_zero": 200, "gpu_dropped": 3, "gpu_unknown": 1001 // 7}  # a synchronisation too
    check.that(gpu_losses(trace) == expected, f"{trace.lost} instead of {expected}")
    check.that(len(trace.kernel) == 1000 and sum(k.start == 0 for k in trace.kernel) == 200, "kernels without times")


def buffers_run_out_without_silence(check, folder):
    for kept in (60, 100, 300):
        trace = recorded(check, folder / str(kept), "many", 5000, fake=f"buffers={kept}")
        dropped = trace.lost.get("gpu_dropped", 0)
        records = sum(len(getattr(trace, k)) for k in "kernel sync device context stream overhead".split())
        check.that(records + dropped == 5006, f"{kept} kept: {records} records, {dropped} dropped")
        check.that((dropped > 0) == (kept == 300) == ("gpu_buffers" in trace.lost), f"{kept} kept: {trace.lost}")


def many_kernels_take_bounded_memory(check, folder):
    sizes = []
    for count in (20000, 1000000):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        check.that(fake_gpu.run(folder / str(count), "many", count, timeout=600) == 0, f"{count} kernels")
        sizes.append((before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
        found = Trace(files(folder / str(count))[0], only=())
        check.that(found.counts[33] == count and found.counts[32] == count + 2, f"{count} kernels: {found.counts}, {found.lost}")
    grown = sizes[1][1] - sizes[0][1]
    check.that(grown < 40 * 1024, f"{grown} KiB more for 50 times the kernels")


def threads_record_at_once(check, folder):
    trace = recorded(check, folder, "threads", 48)
    check.that(len(trace.kernel) == 48 * 500 and not gpu_losses(trace), f"{len(trace.kernel)} kernels, {trace.lost}")
    calls = trace.apis()
    check.that(all(k.correlation in calls for k in trace.kernel), "kernels without a call")
    check.that(len({a.tid for a in trace.api}) == 49, "threads of the calls")


def correlation_ids_wrap(check, folder):
    trace = recorded(check, folder, "many", 100, fake="correlation=4294967200")
    calls = trace.apis()
    check.that(len(trace.kernel) == 100 and all(k.correlation in calls for k in trace.kernel), "kernels without a call")
    check.that(max(k.correlation for k in trace.kernel) > 1 << 31 and min(k.correlation for k in trace.kernel) < 1000, "no wrap")


def names_survive_their_module(check, folder):
    trace = recorded(check, folder, "reload", 50, fake="free_names=1")
    calls = trace.apis()
    named = [trace.strings[k.name or calls[k.correlation].symbol] for k in trace.kernel]
    check.that(named == ["_Z7projectPfPKfi"] * 50, f"{collections.Counter(named)}")
    check.that(all(trace.strings[a.symbol] == "_Z7projectPfPKfi" for a in trace.api if a.api_class == 1), "names of launches")


def clocks_are_told(check, folder):
    trace = recorded(check, folder / "own", "many", 300, fake="clock=1")
    check.that(trace.meta.get("cupti.clock") == "cupti" and "cuda.clock" in trace.notes, f"{trace.meta} {trace.notes}")
    pairs = [c for c in trace.clock if c.cupti]
    check.that(len(pairs) >= 2 and all(abs(c.cupti - c.realtime) < 10**8 for c in pairs), f"{trace.clock}")
    for jump in (10**9, -(10**9)):
        trace = recorded(check, folder / str(jump), "kill", 300, fake=f"clock=1,jump={jump}", status=-9)
        offsets = [c.cupti - c.realtime for c in trace.clock if c.cupti]
        check.that(min(map(abs, offsets)) < 10**8, f"jump {jump}: {offsets}")
        check.that(len(trace.kernel) == 300, f"jump {jump}: {len(trace.kernel)} kernels")
    trace = recorded(check, folder / "early", "many", 300, fake="early=50000")
    calls = trace.apis()
    early = [k for k in trace.kernel if k.start < calls[k.correlation].start]
    check.that(len(early) > 0, "no kernel begins before its call, though CUPTI said so")


def refusals_are_told_and_the_target_goes_on(check, folder):
    calls = {
        "cuptiGetVersion": "cuda.version",
        "cuptiEnableCallback": "cuda.callback",
        "cuptiEnableDomain": "cuda.call",
        "cuptiSetThreadIdType": "cuda.call",
        "cuptiActivityRegisterCallbacks": "cuda.call",
        "cuptiActivityEnable": "cuda.call",
        "cuptiActivityGetNextRecord": "cuda.call",
        "cuptiActivityFlushAll": "cuda.call",
        "cuptiSubscribe": "cuda.subscribe",
    }
    for call, key in calls.items():
        for code in (15, 35, 999):
            fake = f"{call}={code}".replace("CODE", str(code))
            trace = recorded(check, folder / f"{call}{code}", "all", fake=fake)
            note = trace.notes.get(key, "")
            good = str(code) in note and note[-1] not in ": ," if key != "cuda.version" else "12.0" in note
            check.that(good, f"{fake}: {trace.notes}")
    for call in ("cuptiGetTimestamp", "cuptiActivityGetNumDroppedRecords", "cuptiSubscribe_v2"):
        trace = recorded(check, folder / call, "all", fake=f"{call}=999")
        the_truth_is_there(check, folder / call, trace, f"without {call}")


def another_tool_is_named(check, folder):
    trace = recorded(check, folder / "cupti", "all", fake="other=1")
    check.that("Other Profiler" in trace.notes.get("cuda.other_tool", "") and not trace.api, f"{trace.notes}")
    trace = recorded(check, folder / "v1", "all", fake="cuptiSubscribe=39,cuptiSubscribe_v2=39")
    check.that("another profiler" in trace.notes.get("cuda.other_tool", ""), f"{trace.notes}")
    trace = recorded(check, folder / "injected", "all", CUDA_INJECTION64_PATH="/no/other-tool.so")
    check.that("other-tool.so" in trace.notes.get("cuda.other_tool", "") and not trace.api, f"{trace.notes}")


def old_and_missing_cupti_are_told(check, folder):
    trace = recorded(check, folder / "old", "all", fake="version=17")
    check.that("12.0" in trace.notes.get("cuda.version", "") and not trace.kernel, f"{trace.notes}")
    trace = recorded(check, folder / "first13", "all", fake="version=130000")
    check.that("update 1" in trace.notes.get("cuda.version", "") and trace.kernel, f"{trace.notes}")
    trace = recorded(check, folder / "none", "all", TOMOPROF_CAPTURE_CUPTI="/no/libcupti.so", CUDA_PATH="-", CUDA_HOME="-")
    told = {"cuda.library", "cuda.subscribe"} & set(trace.notes)  # a real CUPTI may be installed: it finds no driver
    check.that(told and not trace.kernel, f"{trace.notes}")


def cupti_is_found_where_toolkits_and_wheels_have_it(check, folder):
    places = {
        "toolkit/extras/CUPTI/lib64/libcupti.so.13": {"CUDA_PATH": folder / "toolkit"},
        "home/lib64/libcupti.so.12": {"CUDA_HOME": folder / "home", "CUDA_PATH": "/no/toolkit"},
        "cu13/lib/libcupti.so.13": {"runtime": folder / "cu13/lib/libcudart.so.13"},
        "nvidia/cuda_cupti/lib/libcupti.so.12": {"runtime": folder / "nvidia/cuda_runtime/lib/libcudart.so.12"},
        "site-packages/nvidia/cu13/lib/libcupti.so.13": {"runtime": folder / "site-packages/cupy/core.so"},
    }
    for number, (place, env) in enumerate(places.items()):
        if "runtime" in env and " " in str(folder):
            print(f"  skipped: {place}: no library is preloaded from a path with a blank")
            continue
        (folder / place).parent.mkdir(parents=True)
        shutil.copy(fake_gpu.FAKES / "fake_cupti.so", folder / place)
        if "runtime" in env:  # any library of that name, loaded
            runtime = env.pop("runtime")
            runtime.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(fake_gpu.FAKES / "nvtx_tool.so", runtime)
            env["LD_PRELOAD"] = f"{fake_gpu.loadable(fake_gpu.LIBRARY)}:{runtime}"
        env = {"TOMOPROF_CAPTURE_CUPTI": "-", "CUDA_PATH": "-", "CUDA_HOME": "-"} | env
        trace = recorded(check, folder / str(number), "all", **env)
        path = pathlib.Path(trace.meta.get("cupti.path", "/"))
        check.that(path.resolve() == (folder / place).resolve() and trace.kernel, f"{place}: {path}")


def the_driver_decides_which_cupti(check, folder):
    """Of three in one toolkit: that of CUDA 12.8 is the first that knows Blackwell, and needs a driver of 12.8."""
    (folder / "here").mkdir()
    (folder / "here/libcuda.so.1").symlink_to(fake_gpu.FAKES / "fake_gpu.so")
    (folder / "toolkit/lib64").mkdir(parents=True)
    for name in ("libcupti.so.13", "libcupti.so.12", "libcupti-12.8.so.12"):
        shutil.copy(fake_gpu.FAKES / "fake_cupti.so", folder / "toolkit/lib64" / name)
    for serves, taken in ((12040, "libcupti.so.12"), (12080, "libcupti-12.8.so.12"), (12090, "libcupti-12.8.so.12"), (13000, "libcupti.so.13")):
        trace = recorded(check, folder / str(serves), "all", fake=f"serves={serves}", TOMOPROF_CAPTURE_CUPTI="-", CUDA_HOME="-",
                         CUDA_PATH=folder / "toolkit", LD_LIBRARY_PATH=folder / "here")
        check.that(pathlib.Path(trace.meta.get("cupti.path", "/")).name == taken and trace.kernel, f"a driver of {serves}: {trace.meta}")


def a_flush_that_hangs_hangs_nothing(check, folder):
    trace = recorded(check, folder, "many", 100, fake="hang=1")
    check.that("cuda.flush" in trace.notes and len(trace.api) == 102, f"{trace.notes}, {len(trace.api)} calls")


def ends_of_all_kinds_keep_the_records(check, folder):
    trace = recorded(check, folder / "quick", "_exit", 50, status=3)
    check.that(len(trace.kernel) == 50, f"_exit: {len(trace.kernel)} kernels")
    trace = recorded(check, folder / "kill", "kill", 50, status=-9)
    check.that(len(trace.kernel) == 50 and trace.end == 0, f"SIGKILL: {len(trace.kernel)} kernels, end {trace.end}")


def a_program_that_becomes_another_keeps_its_records(check, folder):
    check.that(fake_gpu.run(folder, "exec", 50) == 0, "exec")
    kernels = sorted(len(Trace(f).kernel) for f in files(folder))
    check.that(kernels[-1] == 50 and sum(kernels) == 50, f"exec: kernels {kernels}")


def the_injection_alone_is_enough(check, folder):
    trace = recorded(check, folder, "all", LD_PRELOAD="-")
    the_truth_is_there(check, folder, trace, "without LD_PRELOAD")


def our_thread_does_not_keep_a_process_alive(check, folder):
    trace = recorded(check, folder, "main_ends", timeout=300)
    check.that(len(trace.kernel) == 50, f"{len(trace.kernel)} kernels")


def forks_keep_apart(check, folder):
    check.that(fake_gpu.run(folder / "after", "fork", 50) == 0, "fork after cuInit")
    traces = [Trace(f) for f in files(folder / "after")]
    parent = max(traces, key=lambda t: len(t.kernel))
    check.that(len(parent.kernel) == 100 and len(parent.api) == 102, f"parent: {len(parent.kernel)} kernels")
    check.that(not any(t.kernel or t.api for t in traces if t is not parent), "the child wrote its parent's work")
    check.that(fake_gpu.run(folder / "before", "fork_first", 50) == 0, "fork before cuInit")
    kernels = sorted(len(Trace(f).kernel) for f in files(folder / "before"))
    check.that(kernels == [50, 50], f"a fork before cuInit: kernels {kernels}")


def device_code_is_saved_once(check, folder):
    cubin = DATA / "cubins/sm_90.cubin"
    trace = recorded(check, folder, "reload", 3, FAKE_CUBIN=cubin)
    saved = list(folder.glob("cubin-*.bin"))
    check.that(len(saved) == 1 and saved[0].read_bytes() == cubin.read_bytes(), f"saved {saved}")
    check.that({(c.hash, c.bytes, c.saved) for c in trace.cubin} == {(int(saved[0].stem[6:], 16), cubin.stat().st_size, 1)}, f"{trace.cubin}")
    check.that(not [p for p in folder.iterdir() if p.name.startswith("cubin") and p not in saved], "left over files")
    code = bytearray(cubin.read_bytes())  # a version that differs in one byte: CUPTI's CRC of samples would be the same
    code[len(code) // 3 | 1] ^= 1
    other = folder / "other.cubin"
    other.write_bytes(code)
    for image in (cubin, other):
        check.that(fake_gpu.run(folder / "versions", "reload", 1, FAKE_CUBIN=image) == 0, f"reload of {image}")
    check.that({p.read_bytes() for p in (folder / "versions").glob("cubin-*.bin")} == {cubin.read_bytes(), bytes(code)}, "not each version was saved")
    trace = recorded(check, folder / "plain", "reload", 1, FAKE_CUBIN=DATA / "cubins/plain.cubin")
    check.that({c.saved for c in trace.cubin} == {0}, "code without lines was saved")


def time_lands_on_the_line_that_launched(check, folder):
    """Through `tomoprof record` and its analysis: GPU time of each source line, to the nanosecond."""
    env = fake_gpu.environment(folder)
    for name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "TOMOPROF_CAPTURE_DIR"):
        del env[name]
    done = run(command(folder / "runs", "--", fake_gpu.APP, "all"), env=env)
    check.that(done.returncode == 0, f"{done}")
    found = collections.Counter()
    made = profile(folder / "runs")
    for path, file in made["files"].items():
        for line in file["lines"]:
            if line["gpu_self_s"]:
                found[pathlib.PurePath(path).name, line["line"]] += round(line["gpu_self_s"] * 1e9)
    wanted, graphs = collections.Counter(), set()
    for row in truth(folder):
        wanted["app.c", row["line"]] += row["ns"]
        graphs |= {("app.c", row["line"])} if row["what"] == "graph" else set()
    wanted += collections.Counter()  # without what took no time
    for line in graphs:  # six kernels, of which the truth has three
        check.that(found.get(line, 0) > wanted.pop(line), f"graph launches {found}")
        found.pop(line, None)
    check.that(found == wanted, f"{found - wanted} instead of {wanted - found}")
    text = run([fake_gpu.BUILD / "tomoprof", "report", "--text", folder / "runs/latest"]).stdout.decode()
    table = text.split(" queue us  occ %  kernel\n")[-1].splitlines()[:2]
    delays = {f"{1e6 * k['queue_delay_s']:.1f}" for k in made["kernels"]}
    check.that({row[39:48].strip() for row in table} == delays, f"{table} {delays}")
    details_are_in_the_profile(check, made, truth(folder))


def details_are_in_the_profile(check, made, rows):
    """Queue delay by kernel, the carve-out of shared memory, the decompression engine's work."""
    launches = collections.Counter(k["name"] for k in made["kernels"] for _ in range(k["time"]["n"]))
    check.that(sum(launches.values()) == 28, f"{launches}")
    delays = sum(k["queue_delay_s"] * k["time"]["n"] for k in made["kernels"])
    least = sum(row["delay"] for row in rows if row["what"] == "kernel") * 1e-9  # the six of graphs were queued too
    check.that(delays >= least and all(abs(k["submit_delay_s"] - 500e-9) < 1e-12 for k in made["kernels"]), f"{delays} s, at least {least} s")
    check.that({v["carveout_bytes"] for k in made["kernels"] for v in k["variants"]} == {65536}, f"{made['kernels']}")
    check.that([(t["bytes"], t["time"]["n"]) for t in made["transfers"] if t["direction"] == "decompress"] == [(700, 1)], f"{made['transfers']}")


def whole_graphs_through_the_command(check, folder):
    env = fake_gpu.environment(folder)
    for name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "TOMOPROF_CAPTURE_DIR"):
        del env[name]
    done = run(command(folder / "runs", "--graphs", "whole", "--", fake_gpu.APP, "all"), env=env)
    check.that(done.returncode == 0, f"{done}")
    made = profile(folder / "runs")
    row = [k for k in made["kernels"] if k["name"].startswith("CUDA graph ")]
    check.that(len(row) == 1 and row[0]["time"]["n"] == 3 and not row[0]["variants"] and row[0]["queue_delay_s"] is None, f"{row}")
    graph = {r["line"] for r in truth(folder) if r["what"] == "graph"}
    check.that({p["line"] for p in row[0]["launched_at"]} == graph, f"{row[0]['launched_at']}")
    check.that(any("recorded whole" in item["text"] for item in made["quality"]["items"]), "the profile does not say that graphs are whole")
    done = run(command(folder / "runs", "--graphs", "some", "--", fake_gpu.APP, "all"), env=env)
    check.that(done.returncode == 2 and b"--graphs some: must be one of nodes|whole" in done.stderr, f"{done}")


need_library()
main(time_lands_on_the_line_that_launched, graphs_are_recorded_whole_when_asked, kernels_say_how_long_they_were_queued, hardware_times_kernels_when_asked,
     whole_graphs_through_the_command, every_kind_of_work_is_recorded, rare_records_are_read, data_of_a_full_command_buffer_is_freed, graphs_know_where_they_were_built, records_of_any_length_are_read,
     the_order_and_thread_of_delivery_do_not_matter, what_is_lost_is_counted, buffers_run_out_without_silence,
     many_kernels_take_bounded_memory, threads_record_at_once, correlation_ids_wrap, names_survive_their_module, clocks_are_told,
     refusals_are_told_and_the_target_goes_on, another_tool_is_named, old_and_missing_cupti_are_told,
     cupti_is_found_where_toolkits_and_wheels_have_it, the_driver_decides_which_cupti, a_flush_that_hangs_hangs_nothing, ends_of_all_kinds_keep_the_records, a_program_that_becomes_another_keeps_its_records,
     the_injection_alone_is_enough, our_thread_does_not_keep_a_process_alive, forks_keep_apart, device_code_is_saved_once)
