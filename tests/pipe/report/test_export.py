"""A profile in the formats of other tools holds the same numbers as profile.json."""

import csv
import gzip
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, main, tomoprof, write_json

WEIGHTS = {"cpu": "cpu_ns", "gpu": "gpu_ns", "wait": "wait_ns", "alloc": "alloc_bytes"}


def run_folder(folder):
    shutil.copy(DATA / "profile" / "example.json", folder / "profile.json")
    return json.loads((folder / "profile.json").read_text())


def export(check, folder, *args):
    out = folder / "out"
    done = tomoprof("export", folder, "--out", out, *args)
    check.that(done.returncode == 0, f"export {args}: {done.stderr}")
    return out.read_bytes()


def sums(profile):
    return {name: sum(v or 0 for v in profile["stacks"][column]) for name, column in WEIGHTS.items()}


def speedscope_adds_up(check, folder):
    profile = run_folder(folder)
    file = json.loads(export(check, folder, "--to", "speedscope"))
    frames = file["shared"]["frames"]
    check.that(file["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema")
    for p in file["profiles"]:
        check.that(p["type"] == "sampled" and len(p["samples"]) == len(p["weights"]), f"{p['name']}: lengths")
        check.that(sum(p["weights"]) == p["endValue"] - p["startValue"], f"{p['name']}: weights do not fill its span")
        check.that(all(0 <= f < len(frames) for s in p["samples"] for f in s), f"{p['name']}: a frame that is not there")
    totals = dict(zip(WEIGHTS, file["profiles"]))
    for name, total in sums(profile).items():
        check.that(sum(totals[name]["weights"]) == total, f"{name}: {sum(totals[name]['weights'])}, profile.json has {total}")


def folded_adds_up(check, folder):
    profile = run_folder(folder)
    for name, total in sums(profile).items():
        lines = export(check, folder, "--to", "folded", "--weight", name).decode().splitlines()
        check.that(all(re.fullmatch(r"[^;]+(;[^;]+)* \d+", line) for line in lines), f"{name}: a line of another form")
        check.that(sum(int(line.rsplit(" ", 1)[1]) for line in lines) == total, f"folded {name} does not add up to {total}")


def csv_has_every_line(check, folder):
    profile = run_folder(folder)
    rows = list(csv.DictReader(io.StringIO(export(check, folder, "--to", "csv").decode(), newline="")))
    lines = {(path, line["line"]): line for path, f in profile["files"].items() for line in f["lines"]}
    check.that({(r["file"], int(r["line"])) for r in rows} == set(lines), "other lines than profile.json")
    for r in rows:
        line = lines[r["file"], int(r["line"])]
        for column, value in {"cpu_user_s": line["cpu"]["user"], "gpu_self_s": line["gpu_self_s"],
                              "alloc_mb": line["mem"]["alloc_mb"], "h2d_bytes": line["copy"]["h2d"]["bytes"]}.items():
            check.that((float(r[column]) if r[column] else None) == value, f"{r['file']}:{r['line']} {column}: {r[column]}, not {value}")
        check.that(r["text"] == (line["text"] or ""), f"source of line {r['line']}")


def chrome_nests_and_keeps_to_its_window(check, folder):
    profile = run_folder(folder)
    everything = json.loads(export(check, folder, "--to", "chrome"))["traceEvents"]
    events = sum(len(t["events"]["start"]) for t in profile["timeline"])
    slices = [e for e in everything if e["ph"] in "Xb"]
    check.that(len(slices) == events, f"{len(slices)} events, profile.json has {events}")
    for tid in {e["tid"] for e in slices}:
        open_until = []
        for e in sorted((e for e in slices if e["tid"] == tid and e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= e["ts"] + 1e-6:
                open_until.pop()
            check.that(not open_until or e["ts"] + e["dur"] <= open_until[-1] + 1e-6, f"track {tid}: slices overlap at {e['ts']}")
            open_until.append(e["ts"] + e["dur"])
    packed = export(check, folder, "--to", "chrome", "--from", "1", "--until", "1.2", "--min-duration", "0.001", "--gzip")
    some = [e for e in json.loads(gzip.decompress(packed))["traceEvents"] if e["ph"] == "X"]
    check.that(0 < len(some) < len(slices), "the window leaves nothing or everything")
    check.that(all(e["ts"] <= 1.2e6 and e["ts"] + e["dur"] >= 1e6 and e["dur"] >= 1e3 for e in some), "events outside of the window")


def callgrind_adds_up(check, folder):
    profile = run_folder(folder)
    text = export(check, folder, "--to", "callgrind").decode()
    summary = [int(v) for v in re.search(r"^summary: (.*)$", text, re.M).group(1).split()]
    check.that(summary == list(sums(profile).values()), f"summary {summary}")
    own = [0] * 4
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("calls="):
            next(lines)  # inclusive cost
        elif re.fullmatch(r"\d+( \d+){4}", line):
            own = [a + int(b) for a, b in zip(own, line.split()[1:])]
    check.that(own == summary, f"self costs {own} do not add up to {summary}")
    if shutil.which("callgrind_annotate"):
        (folder / "callgrind.out.1").write_text(text)
        done = subprocess.run(["callgrind_annotate", folder / "callgrind.out.1"], capture_output=True, text=True, timeout=300)
        check.that(done.returncode == 0 and "filter_rows" in done.stdout, f"callgrind_annotate: {done.stdout[:500]}{done.stderr}")
    else:
        print("callgrind_annotate is not installed: its reading was not checked")


def callgrind_counts_recursion_once(check, folder):
    """main -> walk -> walk -> leaf, and walk -> leaf -> walk: inclusive time as a reader adds it up is that of the stacks."""
    profile = run_folder(folder)
    names = ["main", "walk", "leaf"]
    profile["frames"] = {key: [names[i] if key == "function" else values[0] for i in range(3)] for key, values in profile["frames"].items()}
    # nodes 0 to 5: main walk walk leaf walk leaf
    parent, frame = [None, 0, 1, 2, 3, 4], [0, 1, 1, 2, 1, 2]
    own = [1, 10, 100, 1000, 10000, 100000]
    keys = profile["stacks"].keys()
    profile["stacks"] = {key: {"parent": parent, "frame": frame, "cpu_ns": own}.get(key, [0] * 6) for key in keys}
    for key in ("timeline", "unattributed"):
        profile[key] = []
    write_json(folder / "profile.json", profile)
    inclusive, name = dict.fromkeys(names, 0), None
    for line in export(check, folder, "--to", "callgrind").decode().splitlines():
        if line.startswith("fn="):
            name = line[3:]
        elif re.fullmatch(r"\d+( \d+){4}", line):
            inclusive[name] += int(line.split()[1])
    check.that(inclusive == {"main": 111111, "walk": 111110, "leaf": 111000}, f"{inclusive}")


def fields(data):
    """(number, value) of one protobuf message: numbers, and bytes for what has a length."""
    at = 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            byte, at = data[at], at + 1
            n, shift = n | (byte & 127) << shift, shift + 7
            if byte < 128:
                return n
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = 8 if tag & 7 == 1 else varint()
            yield tag >> 3, data[at:at + size]
            at += size


def pprof_adds_up(check, folder):
    profile = run_folder(folder)
    data = gzip.decompress(export(check, folder, "--to", "pprof"))
    top = list(fields(data))
    texts = [v.decode() for n, v in top if n == 6]
    types = [texts[dict(fields(v))[1]] for n, v in top if n == 1]
    check.that(texts[0] == "" and types == ["cpu", "gpu", "wait", "alloc_space"], f"{types}")
    totals, locations = [0] * 4, {dict(fields(v))[1] for n, v in top if n == 4}
    for sample in (dict(fields(v)) for n, v in top if n == 2):
        numbers = {key: [n for _, n in fields(b"".join(b"\x08" + part for part in split_varints(sample[key])))] for key in (1, 2)}
        check.that(set(numbers[1]) <= locations, "a location that is not there")
        totals = [a + b for a, b in zip(totals, numbers[2])]
    check.that(totals == list(sums(profile).values()), f"{totals}, profile.json has {sums(profile)}")
    if shutil.which("go"):
        done = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=cpu", folder / "out"], capture_output=True, text=True, timeout=300)
        if "no such tool" not in done.stderr:
            check.that(done.returncode == 0 and "filter_rows" in done.stdout, f"go tool pprof: {done.stdout[:500]}{done.stderr}")


def samples_stay_samples(check, folder):
    """Folded stacks without a rate count samples, which no format may call nanoseconds or seconds."""
    done = tomoprof("import", "--out", folder, DATA / "import" / "pyspy.folded")
    check.that(done.returncode == 0, done.stderr)
    run = next(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    shown = {name: export(check, run, "--to", name) for name in ("speedscope", "pprof", "callgrind", "csv", "svg", "folded")}
    profiles = json.loads(shown["speedscope"])["profiles"]
    check.that([(p["name"], p["unit"], sum(p["weights"])) for p in profiles] == [("samples", "none", 57)], f"speedscope: {[(p['name'], p['unit']) for p in profiles]}")
    top = list(fields(gzip.decompress(shown["pprof"])))
    texts = [v.decode() for n, v in top if n == 6]
    types = [[texts[dict(fields(v))[key]] for key in (1, 2)] for n, v in top if n in (1, 11)]
    check.that(types[0] == types[-1] == ["samples", "count"] and texts[dict(top)[14]] == "samples", f"pprof: {types}")
    check.that(b"event: cpu : samples\n" in shown["callgrind"] and b"summary: 57 " in shown["callgrind"], f"callgrind: {shown['callgrind'][:200]}")
    rows = list(csv.DictReader(io.StringIO(shown["csv"].decode())))
    check.that(sum(int(row["cpu_user_samples"] or 0) for row in rows) == 57 and not any(key.startswith("cpu_") and key.endswith("_s") for key in rows[0]), f"csv: {rows[0]}")
    check.that(b": 57 samples</text>" in shown["svg"] and b" ms" not in shown["svg"], f"svg: {re.findall(rb'>[^<]* ms[^<]*<', shown['svg'])[:3]}")
    check.that(sum(int(line.rsplit(b" ", 1)[1]) for line in shown["folded"].splitlines()) == 57, "folded")


def split_varints(data):
    begin = 0
    for i, byte in enumerate(data):
        if byte < 128:
            yield data[begin:i + 1]
            begin = i + 1


def perfetto_holds_every_event(check, folder):
    profile = run_folder(folder)
    packets = [dict(fields(v)) for n, v in fields(export(check, folder, "--to", "perfetto")) if n == 1]
    tracks = {dict(fields(p[60]))[1] for p in packets if 60 in p}
    stacks, slices, counters, last = {}, 0, 0, {}
    for p in packets:
        if 11 not in p:
            continue
        event = dict(fields(p[11]))
        kind, track = event[9], event[11]
        check.that(track in tracks and last.get(track, 0) <= p[8], f"track {track}: unknown, or time goes backwards")
        last[track] = p[8]
        if kind == 1:
            slices += 1
            check.that(not stacks.get(track), f"track {track}: events overlap")
            stacks[track] = event[23]
        elif kind == 2:
            check.that(bool(stacks.pop(track, None)), f"track {track}: an end without a begin")
        counters += kind == 4
    check.that(slices == sum(len(t["events"]["start"]) for t in profile["timeline"]), f"{slices} slices")
    points = sum(v is not None for s in profile["memory"]["series"] for key in ("rss_mb", "heap_mb") for v in s[key])
    check.that(counters == points, f"{counters} counters, profile.json has {points}")


def perfetto_leads_from_calls_to_operations(check, folder):
    """Two calls of a thread, one of them outside of the window; ids pair the call with the slice that holds its operation's start."""
    profile = run_folder(folder)
    track = next(t for t in profile["timeline"] if t["kind"] == "kernel" and len(t["events"]["start"]) > 1)
    begins = [sum(track["events"]["start"][:i + 1]) for i in range(len(track["events"]["start"]))]
    first, last = begins[0], begins[-1]
    where = {key: track[key] for key in ("device", "context", "stream")}
    rows = [{"thread": 0, "called": at - 500, "kind": "kernel", **where, "began": at} for at in (last, first)] + [{"thread": 0, "called": 1, "kind": "copy", **where, "began": first}]
    profile["flows"] = {key: [r[key] for r in rows] for key in rows[0]}
    write_json(folder / "profile.json", profile)

    def flows(*args):
        found = {}
        for n, packet in fields(export(check, folder, "--to", "perfetto", *args)):
            packet = dict(fields(packet)) if n == 1 else {}
            event = list(fields(packet[11])) if 11 in packet else []
            for key, value in event:
                if key == 47:
                    found.setdefault(int.from_bytes(value, "little"), []).append((dict(event)[9], packet[8]))
        return found
    check.that({i: sorted(v) for i, v in flows().items()} == {1: [(1, last), (3, last - 500)], 2: [(1, first), (3, first - 500)]}, f"{flows()}, expected calls at {first - 500} and {last - 500}")
    check.that(set(flows("--from", f"{last * 1e-9:.9f}")) == {1}, "a flow to an operation outside of the window")


def firefox_has_the_cpu_time(check, folder):
    profile = run_folder(folder)
    file = json.loads(export(check, folder, "--to", "firefox"))
    tracks = [t for t in profile["timeline"] if t["kind"] == "cpu"]
    check.that(file["meta"]["preprocessedProfileVersion"] == 49 and len(file["threads"]) == len(tracks), f"{len(file['threads'])} threads")
    for thread, track in zip(file["threads"], tracks):
        check.that(abs(sum(thread["samples"]["weight"]) - sum(track["events"]["busy"]) / 1e6) < 1e-3, f"{thread['name']}: weights")
        for name in ("samples", "stackTable", "frameTable", "funcTable", "markers"):
            table = thread[name]
            check.that(all(len(column) == table["length"] for column in table.values() if isinstance(column, list)), f"{name}: columns of other lengths")
        prefixes = thread["stackTable"]["prefix"]
        check.that(all(p is None or p < i for i, p in enumerate(prefixes)), "a stack comes before its prefix")
        check.that(all(s is None or s < len(prefixes) for s in thread["samples"]["stack"]), "a sample without its stack")
        check.that(all(n < len(thread["stringArray"]) for n in thread["funcTable"]["name"] + thread["markers"]["name"]), "a name that is not there")


def processes_are_named_by_what_they_run(check, folder):
    """Two of one program: operation and size tell them apart in every format that knows processes."""
    profile = run_folder(folder)
    tasks = ("cone_mbir_recon 48", "cone_mbir_recon 64")
    profile["processes"] = [{**profile["processes"][0], "pid": 4711 + i, "program": "tomoprof", "task": task} for i, task in enumerate(tasks)]
    track = next(t for t in profile["timeline"] if t["kind"] == "cpu")
    profile["timeline"].append({**track, "process": 1})
    write_json(folder / "profile.json", profile)
    chrome = json.loads(export(check, folder, "--to", "chrome"))["traceEvents"]
    check.that(sorted(e["args"]["name"] for e in chrome if e["name"] == "process_name") == sorted(tasks), "chrome")
    perfetto = export(check, folder, "--to", "perfetto")
    check.that(all(task.encode() in perfetto for task in tasks), "perfetto")
    scope = [p["name"] for p in json.loads(export(check, folder, "--to", "speedscope"))["profiles"]]
    check.that(all(any(f"{task} {4711 + i}" in name for name in scope) for i, task in enumerate(tasks)), f"speedscope: {scope}")
    firefox = json.loads(export(check, folder, "--to", "firefox"))["threads"]
    check.that({t["processName"] for t in firefox} <= set(tasks), f"firefox: {[t['processName'] for t in firefox]}")


def times_for_monitoring_and_ci(check, folder):
    """The traced pass adds no time to a case, and skips none that was timed; what failed in it has failed."""
    row = {"operation": 'odd"\\ <op>', "volume_size": 32, "run": 1, "time": 0.5, "traced": False, "cold": True, "status": "ok", "reason": None}
    timing = {"schema": "tomoprof-timing/1", "environment": {"backend": "cpu", "tomoprof_version": "1"}, "measurements": [
        row, {**row, "run": 2}, {**row, "operation": "broken", "status": "failed", "reason": "signal 11 & <more>\u0001"}, {**row, "operation": "later", "status": "skipped", "reason": "no room"},
        {**row, "run": 3, "time": 7.0, "traced": True}, {**row, "run": 4, "time": None, "traced": True, "status": "skipped", "reason": "late"},
        {**row, "operation": "shaky"}, {**row, "operation": "shaky", "run": 2, "time": 9.0, "traced": True, "status": "failed", "reason": "signal 6"}],
        "statistics": [{"operation": row["operation"], "volume_size": 32, "min": 0.4, "median": 0.5, "mean": 0.5, "p95": 0.6, "n": 2, "gflops": 3.0}], "scaling": []}
    write_json(folder / "timing.json", timing)
    text = export(check, folder, "--to", "openmetrics").decode()
    check.that(text.endswith("# EOF\n") and text.count("# TYPE") == 5, text)
    check.that('tomoprof_operation_seconds{operation="odd\\"\\\\ <op>",size="32",statistic="median"} 0.5\n' in text, text)
    check.that("bandwidth{" not in text, "a sample of what is unknown")
    suite = ElementTree.fromstring(export(check, folder, "--to", "junit"))[0]
    check.that((suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1"), f"{suite.attrib}")
    cases = {c.get("classname"): c for c in suite}
    check.that(float(cases[row["operation"]].get("time")) == 1.0, f"two runs of 0.5 s take {cases[row['operation']].get('time')}")
    check.that(float(cases["shaky"].get("time")) == 0.5 and cases["shaky"].find("failure").get("message") == "signal 6", "a failure of the traced pass")
    check.that(cases["broken"].find("failure").get("message").startswith("signal 11 & <more>"), "the reason")
    done = tomoprof("export", folder, "--to", "junit", "--gzip")
    check.that(done.returncode == 2 and "--gzip" in done.stderr, done.stderr)


def wrong_calls_say_what_is_wrong(check, folder):
    run_folder(folder)
    for args, word in [((), "--to FORMAT"), (("--to", "pdf"), "speedscope"), (("--to", "csv", "--from", "1"), "chrome"),
                       (("--to", "chrome", "--from", "2", "--until", "1"), "--until"), (("--to", "csv", "--weight", "gpu"), "folded")]:
        done = tomoprof("export", folder, *args)
        check.that(done.returncode == 2 and word in done.stderr, f"{args}: {done.returncode} {done.stderr}")
    done = tomoprof("export", folder / "nothing", "--to", "csv")
    check.that(done.returncode == 2 and done.stderr.count("\n") == 1, f"no run: {done.stderr}")
    (folder / "profile.json").write_text("{")
    done = tomoprof("export", folder, "--to", "csv", "--out", folder / "x.csv")
    check.that(done.returncode == 2 and not (folder / "x.csv").exists(), f"broken profile: {done.stderr}")


if __name__ == "__main__":
    main(speedscope_adds_up, folded_adds_up, csv_has_every_line, chrome_nests_and_keeps_to_its_window, callgrind_adds_up, callgrind_counts_recursion_once, pprof_adds_up, samples_stay_samples,
         perfetto_holds_every_event, perfetto_leads_from_calls_to_operations, firefox_has_the_cpu_time, processes_are_named_by_what_they_run, times_for_monitoring_and_ci,
         wrong_calls_say_what_is_wrong)
