"""`tomoprof run`: every planned row in a timing.json that fits its schema, whatever happens to the children."""

import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import sys
import time

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF, main, newest, own_names, tomoprof

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[3] / "base/timing/timing.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(SCHEMA)

APART = ("storage", "volume", "prepare", "demos", "benchmark")  # groups that a run has when it is told so
MOVED = ("translation", "multiaxis")  # geometries that it has when their rows are named
OPERATIONS = [line.split()[0] for line in tomoprof("run", "--list").stdout.splitlines()
              if line.split()[1] not in APART and line.split("_")[0] not in MOVED]
BEAM = ["forward_project", "back_project", "hessian_diagonal", "mbir_recon", "{}_recon", "{}_filter", "direct_recon"]
NAMES = [f"{beam}_{name.format(letters)}" for beam, letters in (("parallel", "fbp"), ("cone", "fdk")) for name in BEAM]
NAMES += [f"{beam}_{name}" for beam in ("parallel", "cone") for name in
          ("sparse_forward_project", "sparse_back_project", "direct_filter", "prox_map")]
NAMES += ["remove_stripes_sorting", "cone_parker_weights", "cone_wang_weights"]
NAMES += ["parallel_fourier_recon", "median_filter3d", "qggmrf_denoise", "gen_pixel_partition", "gen_pixel_partition_grid", "gen_pixel_partition_blue_noise"]
NAMES += [f"gen_weights_{kind}" for kind in ("transmission", "transmission_root", "emission", "unweighted", "mar")]
MANY = 40 if SANITIZED else 200  # runs: enough that none ends before it is hit


def timing(check, folder, operations, sizes, runs):
    """The validated timing.json with every planned row exactly once. Rows of the traced pass come apart, as "traced"."""
    text = (folder / "timing.json").read_text()
    data = json.loads(text, parse_constant=lambda c: check.that(False, f"{c} in timing.json"))
    errors = list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(data))
    check.that(not errors, f"schema: {[e.json_path + ': ' + e.message for e in errors[:3]]}")
    data["traced"] = [m for m in data["measurements"] if m["traced"]]
    data["measurements"] = [m for m in data["measurements"] if not m["traced"]]
    for part, before, times in (("measurements", 0, runs), ("traced", runs, min(runs, 2) if data["traced"] else 0)):
        rows = [(m["operation"], m["volume_size"], m["run"]) for m in data[part]]
        planned = [(o, s, r) for o in operations for s in sizes for r in range(before + 1, before + times + 1)]
        check.that(sorted(rows) == sorted(planned), f"{part}: {len(rows)} rows, {len(planned)} planned")
    cells = [(s["operation"], s["volume_size"]) for s in data["statistics"]]
    check.that(sorted(cells) == sorted((o, s) for o in operations for s in sizes), f"{len(cells)} statistics")
    check.that(sorted(s["operation"] for s in data["scaling"]) == sorted(operations), "one scaling per operation")
    pictures = {f"{o}{end}" for o in operations if o.endswith(("_recon", "_prox_map")) for end in (".json", "-slice.png", "-row.png", "-column.png", "-difference.png")}
    drawn = {f.name for f in folder.glob("previews/*")}
    check.that(drawn == pictures or any(m["status"] != "ok" for m in data["measurements"]), f"previews: {drawn ^ pictures}")
    named = ("timing.json", "log.txt", "report.html", "previews", "triage.json", "triage.md", "triage.svg") + (("trace", "profile.json") if data["traced"] else ())
    check.that([n for n in folder.iterdir() if n.name not in named] == [],
               f"files in the run's folder: {list(folder.iterdir())}")
    return data


def start(out, *args, **environment):
    return subprocess.Popen([TOMOPROF, "run", "--no-trace", "--out", str(out), *map(str, args)], stderr=subprocess.PIPE, text=True,
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env={**os.environ, **environment})


def child_of(process, operation, seconds=300):
    """Process id of the child that runs `operation` and has computed for a while, found among the parent's children."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                arguments = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                ticks = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11]
                if operation in arguments and int(ticks) >= 5:
                    return int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.002)
    return None


def rows_of(data, operation):
    return [m for m in data["measurements"] if m["operation"] == operation]


def everything(check, folder):
    """All operations: numbers that agree with each other."""
    check.that(sorted(OPERATIONS) == sorted(NAMES), f"--list: {OPERATIONS}")
    moved = [line.split()[0] for line in tomoprof("run", "--list").stdout.splitlines() if line.split("_")[0] in MOVED]
    likewise = [name.replace("parallel", beam) for beam in MOVED for name in NAMES
                if name.startswith("parallel_") and "fbp" not in name and "fourier" not in name]
    check.that(sorted(moved) == sorted(likewise), f"--list: {moved}, not {likewise}")
    sizes = [8] if SANITIZED else [8, 16]
    r = tomoprof("run", "--sizes", ",".join(map(str, sizes)), "--runs", 3, "--out", folder)
    check.that(r.returncode == 0 and r.stdout == "", f"exit {r.returncode}: {r.stderr} {r.stdout}")
    data = timing(check, newest(folder), NAMES, sizes, 3)
    if not data["traced"]:
        check.that("no traced pass: " in r.stderr, f"no traced rows, no reason: {r.stderr}")
    lost = {s["operation"]: s["median"] * max(0, 1 - s["roof_share"]) for s in data["statistics"] if s["volume_size"] == sizes[-1]}
    last = next((line for line in r.stderr.splitlines() if "/report.html: " in line), "")
    check.that(f"report.html: At {sizes[-1]}^3, {max(lost, key=lost.get)} is farthest from this machine's peak" in last, f"{last}, by time lost {lost}")
    for m in data["traced"]:
        timed = next(t for t in rows_of(data, m["operation"]) if t["volume_size"] == m["volume_size"])
        check.that(m["status"] == "ok" and m["fingerprint"] == timed["fingerprint"], f"the trace changes results: {m}")
    for m in data["measurements"]:
        where = f"{m['operation']} {m['volume_size']} run {m['run']}"
        check.that(m["status"] == "ok", f"{where}: {m['reason']}")
        check.that(m["cold"] == (m["run"] == 1) and not m["traced"], f"{where}: cold {m['cold']}")
        check.that((m["bytes"] or 0) > 0, f"{where}: no bytes declared")
    for s in data["statistics"]:
        rows = [m for m in rows_of(data, s["operation"]) if m["volume_size"] == s["volume_size"]]
        times = sorted(m["time"] for m in rows if not m["cold"])
        where = f"statistics of {s['operation']} {s['volume_size']}"
        check.that(s["n"] == 2 and not s["cold"], f"{where}: n {s['n']}")
        check.that(s["min"] == times[0] and abs(s["median"] - sum(times) / 2) < 1e-12, f"{where}: {s} {times}")
        check.that(len({json.dumps(m["fingerprint"]) for m in rows}) == 1, f"{where}: runs with other results")
        if rows[0]["flops"]:
            check.that(abs(s["gflops"] / (rows[-1]["flops"] / s["median"] * 1e-9) - 1) < 1e-9, f"{where}: gflops")
        c = rows[0]["calibration"]
        share = max((s["gflops"] or 0) / c["gflops"],
                    s["gbytes_per_s"] / max(c["gbytes_per_s"], c["cached_gbytes_per_s"] or 0, c.get("like_runs_gbytes_per_s") or 0))
        check.that(abs(s["roof_share"] / share - 1) < 1e-6, f"{where}: share {s['roof_share']}, not {share}")
        check.that(s["implausible"] == (s["roof_share"] > 1.05), f"{where}: implausible {s['implausible']}")
        projection = re.search("project|hessian", s["operation"])
        check.that(bool(s["updates_per_s"]) == bool(projection), f"{where}: updates {s['updates_per_s']}")
    table(check, r.stderr, NAMES, sizes)
    text = (newest(folder) / "timing.json").read_text()
    names = {str(folder), *own_names()}
    check.that(not [n for n in names if re.search(rf"\b{re.escape(n)}\b" if n[0] != "/" else re.escape(n), text)],
               f"one of {names} stands in timing.json")
    check.that(not [k for k in text.split('"') if k.startswith("/")], "an absolute path in timing.json")


def table(check, text, operations, sizes):
    lines = text.splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith("operation ")), None)
    if not check.that(head is not None, f"no table: {text}"):
        return
    body = lines[head : head + 1 + len(operations) * len(sizes)]
    end = next(i for i, line in enumerate(lines) if " rows ok" in line)  # from there on lines name files, however long their path
    widest = max(map(len, lines[head:end]))
    check.that(widest <= 100, f"a table of {widest} columns")
    check.that("\033" not in text, "colours although stderr is no terminal")
    for word in ("median", "spread", "of peak", "growth"):
        check.that(word in lines[head], f"no column {word}")
    for name in operations:
        check.that(sum(line.startswith(name + " ") for line in body) == 1, f"{name} is not in the table once")


def growth(check, folder):
    """Three sizes give an exponent that stands in the table, or a reason why there is none. Times are not judged."""
    ops, sizes = ["cone_back_project", "median_filter3d"], [8, 32, 64]
    r = tomoprof("run", "--no-trace", "--ops", ",".join(ops), "--sizes", "8,32,64", "--runs", 4, "--out", folder)
    data = timing(check, newest(folder), ops, sizes, 4)
    for f in data["scaling"]:
        check.that(f["sizes"] == 3, f"{f}")
        if f["reason"]:
            check.that(f["b"] == 0 and f["p"] is None and "does not grow" in f["reason"], f"{f}")
            continue
        t = [s["median"] for s in data["statistics"] if s["operation"] == f["operation"]]
        fitted = sum(((f["a"] + f["b"] * n ** f["p"]) / v - 1) ** 2 for n, v in zip(sizes, t))
        mean = sum(1 / v for v in t) / sum(1 / v**2 for v in t)
        check.that(0 <= f["p"] <= 8 and fitted <= sum((mean / v - 1) ** 2 for v in t), f"{f} is no fit of {t}")
        check.that(re.search(rf"^{f['operation']} .* N\^{f['p']:.2f} *$", r.stderr, re.M), f"no growth in {r.stderr}")


def one_run_is_cold(check, folder):
    """With one run and one size there is a median, said to be cold, and no growth, said why."""
    r = tomoprof("run", "--no-trace", "--ops", "parallel_fbp_filter", "--sizes", 8, "--runs", 1, "--out", folder)
    data = timing(check, newest(folder), ["parallel_fbp_filter"], [8], 1)
    s, f = data["statistics"][0], data["scaling"][0]
    check.that(r.returncode == 0 and s["n"] == 1 and s["cold"] and s["cv"] is None, f"{s}")
    check.that(s["median"] == data["measurements"][0]["time"], "the median of one is the one")
    check.that(f["a"] is None and f["p"] is None and "3 sizes" in f["reason"], f"{f}")
    check.that(" cold " in r.stderr, f"the table does not say cold: {r.stderr}")


def a_killed_child_is_a_failed_row(check, folder):
    """SIGKILL (what the kernel does when memory runs out) and SIGSEGV hit the child of one operation."""
    doomed, other = "cone_mbir_recon", "gen_pixel_partition"
    for number, word in ((signal.SIGKILL, "signal 9"), (signal.SIGSEGV, "signal 11")):
        if SANITIZED and number == signal.SIGSEGV:
            continue  # the sanitizers answer it with a report and an exit code
        p = start(folder, "--ops", f"{doomed},{other}", "--sizes", 64, "--runs", MANY)
        pid = child_of(p, doomed)
        if check.that(pid, f"no child of {doomed} appeared"):
            os.kill(pid, number)
        _, err = p.communicate(timeout=300)
        check.that(p.returncode == 1, f"exit {p.returncode}: {err}")
        check.that(err.splitlines()[-1].startswith("tomoprof: ") and "failed" in err.splitlines()[-1], err)
        data = timing(check, newest(folder), [doomed, other], [64], MANY)
        rows = rows_of(data, doomed)
        check.that(rows[-1]["status"] == "failed" and word in rows[-1]["reason"], f"{rows[-1]}")
        check.that(all(m["status"] == "ok" for m in rows_of(data, other)), "the next operation did not run")


def a_slow_child_is_a_failed_row(check, folder):
    ops = ["cone_mbir_recon", "parallel_fbp_filter"]
    r = tomoprof("run", "--no-trace", "--ops", ",".join(ops), "--sizes", 64, "--runs", 2, "--timeout", 0.001, "--out", folder)
    data = timing(check, newest(folder), ops, [64], 2)
    check.that(r.returncode == 1, f"exit {r.returncode}")
    for m in rows_of(data, "cone_mbir_recon"):
        check.that(m["status"] == "failed" and "0.001 s (--timeout)" in m["reason"], f"{m}")


def too_little_memory_is_a_skipped_row(check, folder):
    ops = ["median_filter3d", "parallel_forward_project"]
    r = tomoprof("run", "--no-trace", "--ops", ",".join(ops), "--sizes", "16,128,512", "--runs", 1, "--out", folder,
                 env={"TOMOPROF_MEMORY": "64MiB"})
    data = timing(check, newest(folder), ops, [16, 128, 512], 1)
    check.that(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
    for m in data["measurements"]:
        if m["volume_size"] == 512:
            pattern = r"needs \d+(\.\d)? GiB, 64(\.0)? MiB available: try --sizes up to (64|128|256)$"
            check.that(m["status"] == "skipped" and re.match(pattern, m["reason"]), f"{m}")
        else:
            check.that(m["status"] == "ok", f"{m}")


def running_out_of_memory_is_a_failed_row(check, folder):
    """The address space of a child that has begun is taken away; each run of MBIR allocates anew."""
    if SANITIZED:
        print("  skipped: the sanitizers reserve terabytes of address space")
        return
    doomed, other = "cone_mbir_recon", "gen_pixel_partition"
    p = start(folder, "--ops", f"{doomed},{other}", "--sizes", 64, "--runs", MANY)
    pid = child_of(p, doomed)
    if check.that(pid, f"no child of {doomed} appeared"):
        resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    _, err = p.communicate(timeout=300)
    check.that(p.returncode == 1, f"exit {p.returncode}: {err}")
    data = timing(check, newest(folder), [doomed, other], [64], MANY)
    last = rows_of(data, doomed)[-1]
    check.that(last["status"] == "failed" and re.search("needs|no memory", last["reason"]), f"{last}")
    check.that(all(m["status"] == "ok" for m in rows_of(data, other)), "the next operation did not run")


def an_interrupt_keeps_what_there_is(check, folder):
    for number in (signal.SIGINT, signal.SIGTERM):
        ops = ["gen_pixel_partition", "cone_mbir_recon", "median_filter3d"]
        p = start(folder, "--ops", ",".join(ops), "--sizes", "16,64", "--runs", MANY)
        pid = None
        while p.poll() is None and not pid:
            pid = child_of(p, "64")
        p.send_signal(number)
        _, err = p.communicate(timeout=300)
        check.that(p.returncode == 130, f"exit {p.returncode}: {err}")
        check.that("tomoprof: interrupted" in err.splitlines()[-1], err)
        data = timing(check, newest(folder), ops, [16, 64], MANY)
        check.that(data["interrupted"], "interrupted is false")
        small = [m for m in data["measurements"] if m["volume_size"] == 16]
        check.that(all(m["status"] == "ok" for m in small), "what was done before the interrupt is lost")
        check.that(any(m["status"] == "skipped" for m in data["measurements"]), "nothing was interrupted")
        check.that(not pathlib.Path(f"/proc/{pid}").exists(), "the child lives on")


def a_terminal_shows_progress(check, folder):
    """Rate and time left while it runs, colours in the table; neither with NO_COLOR or without a terminal."""
    for no_colour in ("", "1"):
        screen, stderr = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": no_colour}
        p = subprocess.Popen([TOMOPROF, "run", "--no-trace", "--ops", "*_fbp_filter,gen*", "--sizes", "8,16,24,32", "--out", folder],
                             stdout=subprocess.PIPE, stderr=stderr, env=environment)
        os.close(stderr)
        text = b""
        while True:
            try:
                text += os.read(screen, 65536)
            except OSError:  # the terminal's other side is closed
                break
        os.close(screen)
        stdout, _ = p.communicate(timeout=300)
        check.that(p.returncode == 0 and stdout == b"", f"exit {p.returncode}")
        check.that(re.search(rb"suite \[[#.]+\] +\d+% .*/s +left ", text), f"no progress: {text[:400]}")
        check.that((b"\033[1m" in text) != bool(no_colour), f"NO_COLOR={no_colour}: {text[-1500:]}")


def two_runs_in_one_second(check, folder):
    """Both keep their folder; latest names the one that ended last."""
    both = [start(folder, "--no-trace", "--ops", "gen_pixel_partition", "--sizes", 8, "--runs", 1) for _ in range(4)]
    for p in both:
        p.communicate(timeout=300)
        check.that(p.returncode == 0, f"exit {p.returncode}")
    runs = [n for n in folder.iterdir() if n.is_dir() and not n.is_symlink()]
    check.that(len(runs) == 4, f"{len(runs)} folders of 4 runs")
    check.that(all(re.fullmatch(r"\d{8}T\d{6}Z(-\d+)?", n.name) for n in runs), f"{runs}")
    check.that(newest(folder) in runs, "latest names no run")
    check.that(sorted(n.name for n in folder.iterdir()) == sorted([n.name for n in runs] + ["latest"]), "other files")


def threads_and_seed(check, folder):
    """--threads is obeyed and leaves the results alone; --seed changes the noise."""
    prints = {}
    for threads, seed in ((1, 42), (2, 42), (2, 43)):
        tomoprof("run", "--no-trace", "--ops", "parallel_back_project", "--sizes", 16, "--threads", threads, "--seed", seed, "--out", folder)
        data = timing(check, newest(folder), ["parallel_back_project"], [16], 3)
        check.that(data["environment"]["threads"] == threads and data["seed"] == seed, f"{data['environment']}")
        prints[threads, seed] = data["measurements"][0]["fingerprint"]
    check.that(prints[1, 42] == prints[2, 42], "other bits with two threads")
    check.that(prints[2, 42] != prints[2, 43], "the seed changes nothing")


def demos(check, folder):
    """The published demos are operations of a run: rows, pictures and a page; each names what it is if it is called for a file."""
    names = [line.split()[0] for line in tomoprof("run", "--list").stdout.splitlines() if line.split()[1] == "demos"]
    check.that(len(names) == 6 and all(n.startswith("demo_") for n in names), f"--list: {names}")
    r = tomoprof("run", "--demos", "--sizes", 16, "--runs", 1, "--no-trace", "--out", folder)
    check.that(r.returncode == 0 and "6 of 6 rows ok" in r.stderr, f"exit {r.returncode}: {r.stderr}")
    run = newest(folder)
    rows = json.loads((run / "timing.json").read_text())["measurements"]
    check.that(sorted(m["operation"] for m in rows) == sorted(names) and all(m["bytes"] > 0 for m in rows), f"{rows}")
    drawn = {f.name for f in run.glob("previews/*")}
    check.that(drawn == {n + end for n in names for end in (".json", "-slice.png", "-row.png", "-column.png", "-difference.png")}, f"{drawn}")
    facts = json.loads((run / "previews" / "demo_fbp_fdk.json").read_text())
    check.that(10 < facts["psnr"] < 60 and 0.2 < facts["ssim"] < 1 and facts["bar"] > 0, f"{facts}")
    check.that((run / "report.html").stat().st_size > 100000, "no page")
    r = tomoprof("apply", "demo_fbp_fdk", "--in", folder / "x.npy", "--out", folder / "y.npy")
    check.that(r.returncode == 2 and "makes its own phantom" in r.stderr, f"apply: exit {r.returncode}: {r.stderr}")
    r = tomoprof("run", "--demos", "--group", "filter")
    check.that(r.returncode == 2 and "give one of the two" in r.stderr, f"--group too: exit {r.returncode}: {r.stderr}")


if __name__ == "__main__":
    main(everything, growth, one_run_is_cold, a_killed_child_is_a_failed_row, a_slow_child_is_a_failed_row,
         too_little_memory_is_a_skipped_row, running_out_of_memory_is_a_failed_row, an_interrupt_keeps_what_there_is,
         a_terminal_shows_progress, two_runs_in_one_second, threads_and_seed, demos)
