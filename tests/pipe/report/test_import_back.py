"""What tomoprof exports comes back by import; files of the same formats by other writers are read too."""

import collections
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from test_import import HERE, by_function, imported, total
from tool import DATA, main, newest, tomoprof


def shown(profile, node):
    """A function's name as the exports write it."""
    frame = {key: profile["frames"][key][profile["stacks"]["frame"][node]] for key in ("function", "module")}
    return frame["function"] or frame["module"] or "[unknown]"


def of_stacks(profile, column):
    sums = collections.Counter()
    for node, value in enumerate(profile["stacks"][column]):
        sums[shown(profile, node)] += value or 0
    return +sums


def of_timeline(profile, kind, column):
    sums = collections.Counter()
    for track in profile["timeline"]:
        for value, node in zip(track["events"][column], track["events"]["what"]) if track["kind"] == kind else ():
            sums["[unknown]" if node is None else shown(profile, node)] += value
    return +sums


def exports_come_back(check, folder):
    """A recorded run, exported and imported: all CPU time comes back, of waiting what is in stacks or in the timeline."""
    (folder / "parts.py").write_text("import time\ndef project(n):\n    return sum(i * i for i in range(n))\ndef rest():\n    time.sleep(0.05)\n"
                                     "for _ in range(4):\n    project(200000)\n    rest()\n")
    done = tomoprof("record", "--out", folder / "out", "--", sys.executable, folder / "parts.py")
    run = newest(folder / "out")
    first = json.loads((run / "profile.json").read_text())
    check.that(done.returncode == 0 and total(first, "cpu_ns") > 0 and total(first, "wait_ns") > 0.15e9, f"{done.stderr}")
    stacks = ("cpu_ns", "wait_ns", "alloc_bytes")
    for name, columns in (("speedscope", stacks), ("pprof", stacks), ("callgrind", stacks), ("folded", stacks[:1]), ("firefox", stacks[:1]), ("perfetto", stacks[:1]), ("chrome", stacks[:1])):
        file = folder / f"back.{name}"
        done = tomoprof("export", run, "--to", name, "--out", file)
        check.that(done.returncode == 0, f"{name}: {done.stderr}")
        back = imported(check, folder, file, out=name)
        for column in columns:
            want, found = of_stacks(first, column), of_stacks(back, column)
            check.that(found == want, f"{name} {column}: {found - want} more, {want - found} less than the run has")
        if name in ("perfetto", "chrome"):
            want, found = of_timeline(first, "wait", "length"), of_stacks(back, "wait_ns")
            check.that(want and found == want, f"{name} wait_ns: {found}, the run's timeline has {want}")
        notes = {i["id"] for i in back["quality"]["items"]}
        check.that(not {"import_timeline", "import_wall_as_cpu"} & notes, f"{name}: {notes}")
        nulls = {"folded": {"wait_ns", "gpu_ns"}, "firefox": {"wait_ns", "alloc_bytes"}, "perfetto": {"alloc_bytes"}}.get(name, set())
        check.that(all(set(back["stacks"][column]) == {None} for column in nulls), f"{name}: what it does not hold is not null")


def captures_without_times_come_back(check, folder):
    """Folded stacks have no moments, so their threads have no timeline: the Firefox Profiler's format has one sample for each of them."""
    first = imported(check, folder, HERE / "pyspy.folded", out="folded")
    run = newest(folder / "folded")
    done = tomoprof("export", run, "--to", "firefox", "--out", folder / "back.firefox")
    threads = json.loads((folder / "back.firefox").read_text())["threads"]
    check.that(done.returncode == 0 and [t["samples"]["weightType"] for t in threads] == ["samples"], f"{done.stderr}: {len(threads)} threads")
    check.that(sum(threads[0]["samples"]["weight"]) == total(first, "cpu_ns") > 0, f"{threads[0]['samples']['weight']}, the capture has {total(first, 'cpu_ns')} samples")
    names, own = threads[0]["stringArray"], collections.Counter()
    for stack, weight in zip(threads[0]["samples"]["stack"], threads[0]["samples"]["weight"]):
        own[names[threads[0]["funcTable"]["name"][threads[0]["frameTable"]["func"][threads[0]["stackTable"]["frame"][stack]]]]] += weight
    check.that(own == of_stacks(first, "cpu_ns"), f"{own}, the capture has {of_stacks(first, 'cpu_ns')}")
    check.that(total(imported(check, folder, folder / "back.firefox", out="back"), "cpu_ns") > 0, "it does not come back")


def devices_and_ranges_come_back(check, folder):
    (folder / "run").mkdir()
    shutil.copy(DATA / "profile/example.json", folder / "run/profile.json")
    first = json.loads((folder / "run/profile.json").read_text())
    tracks = {t["kind"]: t["events"] for t in first["timeline"]}
    for name in "perfetto", "firefox":
        done = tomoprof("export", folder / "run", "--to", name, "--out", folder / f"back.{name}")
        check.that(done.returncode == 0, f"{name}: {done.stderr}")
        back = imported(check, folder, folder / f"back.{name}", out=name)
        ranges = sum(r["time"]["total_s"] for r in back["ranges"])
        check.that(abs(ranges - 1e-9 * sum(tracks["range"]["length"])) < 1e-9 and sum(r["time"]["n"] for r in back["ranges"]) == len(tracks["range"]["what"]), f"{name}: ranges {back['ranges']}")
        if name == "perfetto":
            want = collections.Counter(first["kernels"][i]["name"] for i in tracks["kernel"]["what"])
            check.that({k["name"]: k["time"]["n"] for k in back["kernels"]} == want, f"{want}")
            check.that(total(back, "gpu_ns") == sum(tracks["kernel"]["length"]) + sum(tracks["copy"]["length"]), f"{total(back, 'gpu_ns')} ns of devices")
            check.that({t["stream"] for t in back["timeline"] if t["kind"] == "kernel"} == {7}, "the stream is another")


def message(**parts):
    """One message of protobuf: f3=12 is field 3 with a number, f3=b".." with bytes."""
    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    out = b""
    for name, value in parts.items():
        number = int(name[1:]) << 3
        out += varint(number) + varint(value) if isinstance(value, int) else varint(number | 2) + varint(len(value)) + value
    return out


def perfetto_of_other_writers(check, folder):
    """Threads by their descriptor, and names that a sequence gives ids: as Perfetto's own library writes them."""
    thread = message(f1=5, f4=message(f1=12, f2=13, f5=b"worker"))
    packets = [message(f10=1, f60=thread), message(f8=1000, f10=1, f12=message(f2=message(f1=1, f2=b"outer")), f11=message(f9=1, f10=1, f11=5)),
               message(f8=1100, f10=2, f12=message(f2=message(f1=1, f2=b"inner")), f11=message(f9=1, f10=1, f11=5)), message(f8=1400, f10=2, f11=message(f9=2, f11=5)),
               message(f8=1500, f10=1, f11=message(f9=3, f11=5)), message(f8=2000, f10=1, f11=message(f9=2, f11=5)), message(f8=7, f10=1, f58=64, f11=message(f9=1, f10=1, f11=5))]
    (folder / "other.pftrace").write_bytes(b"".join(message(f1=p) for p in packets))
    back = imported(check, folder, folder / "other.pftrace")
    own = by_function(back, "cpu_ns", False)
    check.that((own["outer"], own["inner"], total(back, "cpu_ns")) == (700, 300, 1000), f"{own}")
    check.that((back["processes"][0]["pid"], back["threads"][0]["name"], back["threads"][0]["tid"]) == (12, "worker", 13), f"{back['processes']} {back['threads']}")
    check.that({"import_instants": 1, "import_clocks": 1}.items() <= {i["id"]: i["count"] for i in back["quality"]["items"]}.items(), f"{back['quality']['items']}")


def firefox_of_other_writers(check, folder):
    """Tables once for all, differences of times, CPU time by sample: as Firefox and samply write them since format 50."""
    (folder / "run").mkdir()
    shutil.copy(DATA / "profile/example.json", folder / "run/profile.json")
    tomoprof("export", folder / "run", "--to", "firefox", "--out", folder / "old.json")
    a, b = imported(check, folder, folder / "old.json", out="old"), imported(check, folder, HERE / "example.firefox70.json", out="new")
    # The saved file is older than the modules in the export.
    check.that(total(a, "cpu_ns") > 0 and a["stacks"] == b["stacks"] and {**a["frames"], "module": None} == {**b["frames"], "module": None} and a["ranges"] == b["ranges"], "the Firefox Profiler's own format 70 of an export is another profile")
    shared = {"stringArray": ["leaf", "root", "app.c"], "stackTable": {"length": 2, "prefix": [None, 0], "frame": [1, 0]},
              "frameTable": {"length": 2, "func": [0, 1], "line": [7, None]}, "funcTable": {"length": 2, "name": [0, 1], "source": [0, None]}, "sources": {"length": 1, "filename": [2]}}
    samples = {"length": 4, "stack": [1, 1, 0, None], "timeDeltas": [10, 1, 1, 1.5], "threadCPUDelta": [None, 900, 500, 0]}
    thread = {"name": "main", "pid": "12", "tid": 12, "processName": "app", "samples": samples, "markers": {"length": 0, "name": [], "startTime": [], "endTime": []}}
    profile = {"meta": {"preprocessedProfileVersion": 60, "interval": 1, "product": "app", "sampleUnits": {"time": "ms", "threadCPUDelta": "\u00b5s"}}, "threads": [thread], "shared": shared}
    for cpu, want in ((True, {"leaf": 900000, "root": 500000}), (False, {"leaf": 2000000, "root": 1000000})):
        if not cpu:
            del samples["threadCPUDelta"]
        (folder / "other.json").write_text(json.dumps(profile, ensure_ascii=False))
        back = imported(check, folder, folder / "other.json", out=f"cpu{cpu}")
        own = by_function(back, "cpu_ns", False)
        check.that({name: own[name] for name in want} == want, f"{own}")
        check.that([f["lines"][0]["line"] for path, f in back["files"].items() if path == "app.c"] == [7], f"{list(back['files'])}")
        check.that(("import_wall_as_cpu" in {i["id"] for i in back["quality"]["items"]}) == (not cpu), "wall time is not named")


if __name__ == "__main__":
    main(exports_come_back, captures_without_times_come_back, devices_and_ranges_come_back, perfetto_of_other_writers, firefox_of_other_writers)
