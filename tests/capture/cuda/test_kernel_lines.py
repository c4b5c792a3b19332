"""Samples inside kernels, on the emulated GPU with known samples: from CUPTI's structures to lines, reasons and findings."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fakes"))
import fake_gpu  # noqa: E402
from recorded import command, main, need_library, newest, profile, run  # noqa: E402
from tool import DATA  # noqa: E402
from fake_gpu import Trace, files  # noqa: E402

# FUNCTION OFFSET REASON N in tests/data/cubins/sm_90.cubin: the lines are nvdisasm's (--print-line-info-inline); the reasons are
# those of tests/fakes/sampling.c.
SAMPLED = {  # (kernel, offset, reason, samples of a launch): (line, function inlined there, lines that it was inlined into, key of the reason)
    ("_Z7projectPfPKfi", 0x1F0, 0, 6): (15, "sample(float const*, int, float)", [25], "memory"),
    ("_Z7projectPfPKfi", 0x3A0, 0, 4): (15, "sample(float const*, int, float)", [26], "memory"),
    ("_Z7projectPfPKfi", 0x1D0, 4, 2): (5, "weight(float, float)", [15, 25], "issues"),
    ("_Z7projectPfPKfi", 0x430, 2, 7): (26, None, [], "memory_queue"),
    ("_Z7projectPfPKfi", 0x430, 7, 1): (26, None, [], "other"),
    ("_Z11backprojectPfPKfi", 0x150, 3, 10): (37, None, [], "shared_queue"),
    ("_Z11backprojectPfPKfi", 0x160, 1, 5): (37, None, [], "shared"),
    ("_Z11backprojectPfPKfi", 0x120, 0, 3): (33, None, [], "memory"),
    ("_Z11backprojectPfPKfi", 0x180, 6, 2): (38, None, [], "barrier"),
}


def recorded(check, folder, *args, status=0, **options):
    """The one trace of a run of the app."""
    got = fake_gpu.run(folder, *args, **options)
    check.that(got == status, f"{args} {options.get('fake', '')}: exit status {got} instead of {status}")
    return Trace(files(folder)[0])


def sampled(folder, name="samples.txt", rows=SAMPLED):
    """The variables of a program whose kernels are sampled so."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{k} {offset} {reason} {n}\n" for k, offset, reason, n in rows))
    return {"FAKE_SAMPLES": folder / name, "FAKE_CUBIN": DATA / "cubins/sm_90.cubin", "TOMOPROF_CAPTURE_KERNEL_LINES": "1"}


def samples_of(trace):
    """{(kernel, offset, reason's number): samples}"""
    found = collections.Counter()
    for s, stalls in trace.samples:
        for reason, n in stalls:
            found[trace.strings[s.name], s.offset, reason] += n
    return found


def kernels_are_sampled_inside(check, folder):
    numbers = {0: 3, 1: 4, 2: 5, 3: 6, 4: 1, 6: 11, 7: 0}  # of the fake's reasons in traces
    expected = {(k, offset, numbers[reason]): 50 * n for k, offset, reason, n in SAMPLED}
    for fake in ("", "sampling_room=2"):
        trace = recorded(check, folder / fake, "many", 100, fake=fake, **sampled(folder / fake))
        check.that(samples_of(trace) == expected, f"{fake}: {samples_of(trace)} instead of {expected}")
        saved = list((folder / fake).glob("cubin-*.bin"))
        check.that({s.cubin for s, _ in trace.samples} == {int(saved[0].stem[6:], 16)}, "samples do not name the saved device code")
        check.that(len(trace.kernel) == 100 and "gpu_samples" not in trace.lost and not trace.notes.get("cuda.call"), f"{trace.notes} {trace.lost}")
    trace = recorded(check, folder / "quick", "_exit", 100, status=3, **sampled(folder / "quick"))
    check.that(samples_of(trace) == expected, f"_exit: {samples_of(trace)}")
    trace = recorded(check, folder / "lost", "many", 100, fake="sampling_dropped=5", **sampled(folder / "lost"))
    check.that(trace.lost.get("gpu_samples") == 5, f"{trace.lost}")
    trace = recorded(check, folder / "off", "many", 100, **sampled(folder / "off") | {"TOMOPROF_CAPTURE_KERNEL_LINES": "-"})
    check.that(not trace.samples and len(trace.kernel) == 100, "samples that nobody asked for")


def versions_of_a_kernel_are_told_apart(check, folder):
    """CUPTI's own sum of device code looks at 25 bytes: two versions of one kernel would be one."""
    env = sampled(folder)
    code = bytearray((DATA / "cubins/sm_90.cubin").read_bytes())
    code[len(code) // 3 | 1] ^= 1
    (folder / "other.cubin").write_bytes(code)
    found = set()
    for image in (env["FAKE_CUBIN"], folder / "other.cubin"):
        trace = recorded(check, folder / image.stem, "many", 10, **env | {"FAKE_CUBIN": image})
        found |= {s.cubin for s, _ in trace.samples}
    check.that(len(found) == 2, f"{found}")


def refusals_of_samples_are_told(check, folder):
    calls = ["cuptiRegisterComputeCrcCallback", "cuptiPCSamplingEnable", "cuptiPCSamplingGetNumStallReasons", "cuptiPCSamplingGetStallReasons",
             "cuptiPCSamplingSetConfigurationAttribute", "cuptiPCSamplingGetData", "cuptiPCSamplingDisable"]
    for call, code, words in [(c, 27, "not supported") for c in calls] + [("cuptiPCSamplingEnable", 35, "NVreg_RestrictProfilingToAdminUsers=0")]:
        trace = recorded(check, folder / f"{call}{code}", "many", 20, fake=f"{call}={code}", **sampled(folder / f"{call}{code}"))
        note = trace.notes.get("cuda.call", "")
        check.that(words in note and "inside kernels" in note, f"{call}={code}: {trace.notes}")
        check.that(len(trace.kernel) == 20, f"{call}={code}: {len(trace.kernel)} kernels")


def stalls_land_on_lines(check, folder):
    """Through the command and its analysis: lines with inlined frames, reasons in words, the time of each line, and findings."""
    env = fake_gpu.environment(folder, **{k: v for k, v in sampled(folder).items() if k.startswith("FAKE")})
    for name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "TOMOPROF_CAPTURE_DIR"):
        del env[name]
    done = run(command(folder / "runs", "--kernel-lines", "--", fake_gpu.APP, "many", "100"), env=env)
    check.that(done.returncode == 0, f"{done}")
    made = profile(folder / "runs")
    kernels = made["kernels"]
    found = collections.Counter()
    for row in made["device_lines"]:
        for stall in row["stalls"]:
            found[kernels[row["kernel"]]["mangled"], row["line"], row["function"], tuple(p["line"] for p in row["called_at"]), stall["reason"]] += stall["samples"]
    expected = collections.Counter()
    for (kernel, _, _, n), (line, function, above, reason) in SAMPLED.items():
        expected[kernel, line, function, tuple(above), reason] += 50 * n
    check.that(found == expected, f"{found - expected} instead of {expected - found}")
    of = {k["mangled"]: k["time"]["total_s"] for k in kernels}
    times = {row["line"]: row["s"] for row in made["device_lines"] if not row["called_at"]}
    check.that(abs(times[37] - of["_Z11backprojectPfPKfi"] * 15 / 20) < 1e-12 and abs(times[26] - of["_Z7projectPfPKfi"] * 8 / 20) < 1e-12, f"{times} of {of}")
    lines = {line["line"]: line["gpu"] for path, file in made["files"].items() if path.endswith("project.cu") for line in file["lines"]}
    project = of["_Z7projectPfPKfi"] / 20
    shares = {n: (round(g["inside_s"] / project), round(g["inside_incl_s"] / project)) for n, g in lines.items() if n in (5, 15, 25, 26)}
    check.that(shares == {5: (2, 2), 15: (10, 12), 25: (0, 8), 26: (8, 12)}, f"self and inclusive: {shares}")
    told = {f["id"]: f for f in made["findings"]}
    for rule, line in (("gpu.uncoalesced", 26), ("gpu.bank_conflicts", 37), ("gpu.memory_wait", 15)):
        places = [p["line"] for p in told.get(rule, {}).get("lines", [])]
        check.that(line in places, f"{rule}: {told.get(rule)}")
    text = run([fake_gpu.BUILD / "tomoprof", "report", "--text", newest(folder / "runs")]).stdout.decode()
    table = text.split("what its warps do there\n")[-1].split("\n\n")[0].splitlines()
    check.that(len(table) == 7 and all(len(row) <= 80 for row in table) and "project.cu:37         67% too many accesses to shared memory" in table[0], f"{table}")
    check.that(sorted(row[18:37] for row in table if ":15" in row) == [f"project.cu:15 at {n}" for n in (25, 26)], f"inlined lines do not say where: {table}")


need_library()
main(kernels_are_sampled_inside, versions_of_a_kernel_are_told_apart, refusals_of_samples_are_told, stalls_land_on_lines)
