"""triage: from a run, bare times or a profile to verdicts; schema, sums, sentences, wrong calls."""

import importlib.util
import json
import math
import pathlib
import shutil
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, SANITIZED, main, newest, tomoprof, write_json

SCHEMA = json.loads((DATA.parents[1] / "profiler/triage/output/triage.schema.json").read_text())
ORDER = ["HIGH", "MEDIUM", "LOW", "NO"]
PUBLISHED = {"cone_mbir_recon": 85.0, "median_filter3d": 25.0, "cone_hessian_diagonal": 19.6}


def validate(check, value, where):
    for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(value):
        check.that(False, f"{where}: {'/'.join(map(str, error.path))}: {error.message}"[:300])


def ranges(value, path=""):
    """Every {low, high} with its path."""
    if isinstance(value, dict):
        if set(value) == {"low", "high"}:
            yield path, value["low"], value["high"]
        for key, inner in value.items():
            yield from ranges(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from ranges(inner, f"{path}/{i}")


def triage(check, word, *args):
    done = tomoprof("triage", word, *args)
    check.that(done.returncode == 0, f"triage {word} {args}: exit {done.returncode}: {done.stderr}")
    return done


def consistent(check, t, where):
    """What holds in every triage.json."""
    validate(check, t, where)
    for path, low, high in ranges(t):
        check.that(low is None or high is None or low <= high, f"{where}{path}: {low} > {high}")
    verdicts = [ORDER.index(c["verdict"]) for c in t["candidates"]]
    check.that(verdicts == sorted(verdicts), f"{where}: not by verdict: {verdicts}")
    for c in t["candidates"]:
        name = f"{where}: {c['operation']}"
        check.that(abs(sum(c["score_parts"].values()) - c["score"]) < 1e-9, f"{name}: parts of the score do not add up")
        check.that(c["score"] <= 100, f"{name}: score {c['score']}")
        check.that(all(len(r) > 20 and r.endswith(".") for r in c["reasons"]), f"{name}: no sentences: {c['reasons']}")
        if c["ceiling"] is not None:
            best = max(c["ceilings"], key=lambda k: k["share"])
            check.that(abs(c["ceiling"] - 1 / (1 - best["share"])) < 1e-9 * c["ceiling"], f"{name}: ceiling")
        check.that((c["evidence"]["exponent"] is None) != (c["evidence"]["exponent_reason"] is None),
                   f"{name}: an exponent or a reason, not both: {c['evidence']}")
        check.that(abs(sum(c["access"]["reuse_histogram"]) - 1) < 1e-9, f"{name}: reuse histogram")
        for e in c["estimates"]:
            pays = (c["break_even_calls_per_day"] or {}).get("low")
            if e["device"] == c["device"] and pays is not None:
                check.that(pays * e["seconds"]["low"] <= 86400 * (1 + 1e-9), f"{name}: pays by {pays} calls a day, more than fit in one")
            if e["lanes"] >= 1:
                check.that(e["seconds"]["low"] >= e["seconds_on_card"]["low"] * (1 - 1e-12), f"{name}: faster than its card")
    for w in t["workloads"]:
        total = sum(p["share"] or 0 for p in w["parts"])
        check.that(abs(total - 1) < 1e-9, f"{where}: shares of {w['operation']} add up to {total}")
        for c in t["candidates"]:
            part = next((p for p in w["parts"] if p["operation"] == c["operation"]), None)
            told = next((k for k in c["ceilings"] if k["workload"] == w["operation"]), None)
            check.that(told is None or told["follows"] == (part is None), f"{where}: {c['operation']} in {w['operation']}: {told}")
            if part:
                check.that((part["share"] or 0) > 0 or told is None,
                           f"{where}: {c['operation']} has a ceiling of {told} in {w['operation']} without a share")


def suite_run(check, folder):
    out = folder / "out"
    traced = ["--no-trace"] if SANITIZED else []  # parts by ranges: unit/test_triage_inputs
    done = tomoprof("run", "--sizes", "8,16,24", "--runs", 2, "--ops", "cone_*,median_filter3d,gen_pixel_partition", *traced, "--out", out)
    check.that(done.returncode == 0, f"run: {done.stderr}")
    run = newest(out)
    made = json.loads((run / "triage.json").read_text())  # by the run itself
    consistent(check, made, "run")
    check.that(made["headline"] in done.stderr and (run / "triage.md").is_file() and (run / "triage.svg").is_file(), f"run does not judge: {done.stderr[-600:]}")
    page = (run / "report.html").read_text()
    check.that('id="data-triage"' in page and ('id="data-profile"' in page) == (run / "profile.json").is_file(), "the page of a run is not complete")
    bare = tomoprof("run", "--sizes", "8", "--runs", 1, "--ops", "median_filter3d", "--no-trace", "--no-triage", "--out", folder / "bare")
    left = newest(folder / "bare")
    check.that(bare.returncode == 0 and not list(left.glob("triage*")) and 'id="data-triage"' not in (left / "report.html").read_text(), f"--no-triage: {bare.stderr}")
    said = triage(check, out, "--device", "u55c,v80")
    t = json.loads((run / "triage.json").read_text())
    consistent(check, t, "suite")
    check.that([d["id"] for d in t["devices"]] == ["u55c", "v80"], "--device")
    check.that(t["size"] == 24 and t["source"]["timing"], f"size {t['size']}")
    check.that({c["operation"] for c in t["candidates"]} >=
               {"cone_forward_project", "cone_back_project", "cone_fdk_filter", "cone_hessian_diagonal", "median_filter3d"},
               "operations of the run are missing")
    by_name = {c["operation"]: c for c in t["candidates"]}
    if t["source"]["profile"]: # a build without NVTX has no ranges, one without the capture library no profile
        marked = any(r["name"] == "Hessian" for r in json.loads((run / "profile.json").read_text())["ranges"])
        parts = {p["source"] for w in t["workloads"] for p in w["parts"]}
        check.that(("range" in parts) == marked == (t["source"]["workloads_from_ranges"] > 0), f"marked {marked}, parts from {parts}")
    check.that(by_name["cone_back_project"]["evidence"]["exponent"] is not None, "three sizes give an exponent")
    check.that(by_name["cone_back_project"]["verdict"] == "NO", "a GPU is better at cone back projection")
    check.that(t["headline"] in said.stdout, "the headline is printed")
    text = (run / "triage.md").read_text()
    drawn = (run / "triage.svg").read_text()
    check.that(drawn.startswith("<svg") and drawn.endswith("</svg>\n") and "nan" not in drawn, "triage.svg")
    check.that(all(c["operation"] in drawn for c in t["candidates"]), "triage.svg does not name every candidate")
    check.that([p["device"] for p in t["pipelines"]] == ["u55c", "v80"], "a pipeline on each card")
    for word in ["# FPGA triage", "![", "## In the stream from the detector", "### What a lane takes", "### The rule", "## cone_back_project: NO", "**Why**", "### Cards", "### Weights"]:
        check.that(word in text, f"triage.md lacks {word!r}")
    printed = triage(check, run, "--device", "u55c,v80", "--json")
    check.that(json.loads(printed.stdout) == t, "--json and the file differ")

    check.that(tomoprof("report", run).returncode == 0, "report")
    page = (run / "report.html").read_text()
    check.that('id="data-triage"' in page, "the report does not hold the triage")

    # The same times without the profile: the same operations, and no more confidence.
    shutil.copy(run / "timing.json", folder / "timing.json")
    triage(check, folder / "timing.json", "--device", "u55c,v80")
    bare = json.loads((folder / "triage.json").read_text())
    consistent(check, bare, "timing.json")
    check.that(not bare["source"]["profile"], "no profile was given")
    check.that({c["operation"] for c in bare["candidates"]} <= set(by_name), "operations without the profile")
    rank = ["low", "medium", "high"]
    for c in bare["candidates"]:
        check.that(rank.index(c["confidence"]) <= rank.index(by_name[c["operation"]]["confidence"]), f"{c['operation']}: confidence")


def original_project(check, folder):
    """Its times of 2026: software first, no card."""
    triage(check, DATA / "triage/original_2026.json", "--out", folder / "o")
    t = json.loads((folder / "o/triage.json").read_text())
    consistent(check, t, "original")
    by_name = {c["operation"]: c for c in t["candidates"]}
    check.that(set(by_name) == set(PUBLISHED) - {"cone_mbir_recon"}, f"candidates {set(by_name)}")
    for name, c in by_name.items():
        check.that(c["verdict"] in ("NO", "LOW"), f"{name}: {c['verdict']}")
        check.that(c["evidence"]["seconds"] == PUBLISHED[name], f"{name}: {c['evidence']['seconds']}")
        check.that(any(r.startswith("Software first") for r in c["reasons"]), f"{name}: {c['reasons']}")
        check.that(c["evidence"]["exponent"] is None and c["confidence"] == "low", f"{name}: one size")
        check.that(c["speedup"]["low"] > 10, f"{name}: a card beats what was measured")
    median, hessian = by_name["median_filter3d"], by_name["cone_hessian_diagonal"]
    check.that(abs(median["ceiling"] - 110 / 85) < 1e-9, f"median follows the reconstruction: {median['ceiling']}")
    check.that(abs(hessian["ceiling"] - 85 / 65.4) < 1e-9, f"Hessian: {hessian['ceiling']}")
    unknown = [p for w in t["workloads"] for p in w["parts"] if p["operation"] is None]
    check.that(len(unknown) == 1 and abs(unknown[0]["share"] - 65.4 / 85) < 1e-9, f"what has no row is not credited: {unknown}")


class Counted(float):
    """A number that counts what is computed with it: + - * / as one, a logarithm or an exponential as 20."""
    done = 0

    def _count(self, value, cost=1):
        Counted.done += cost
        return Counted(value)

    def __add__(self, b):
        return self._count(float(self) + float(b))

    def __sub__(self, b):
        return self._count(float(self) - float(b))

    def __mul__(self, b):
        return self._count(float(self) * float(b))

    def __truediv__(self, b):
        return self._count(float(self) / float(b))

    def special(self, function):
        return self._count(function(float(self)), 20)


def operations(twin):
    Counted.done = 0
    twin(*map(Counted, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)))
    return Counted.done


def flat(x, first, step, dark, before, after):
    white = before + (first + step * 7) * (after - before)
    return (x - dark) / (white - dark)


def air(x, left, right, a, b, c):
    return x / (a + (c - left) / (right - left) * (b - a))


def polynomial(x, *_):
    y = Counted(0)
    for k in range(6):
        y = (y + 0.1) * x
    return y


def tilt(cosine, sine, a, b, c, d):
    middle_x, middle_y = (Counted(63) * 0.5, Counted(63) * 0.5)
    Counted.done += 2  # channels - 1, rows - 1
    x, y = Counted(10) - middle_x, Counted(12) - middle_y
    at_x, at_y = middle_x + (x * cosine - y * sine), middle_y + (x * sine + y * cosine)
    part_x, part_y = at_x - 3, at_y - 4
    low, high = a + part_x * (b - a), c + part_x * (d - c)
    return low + part_y * (high - low)


def joined(n, width, overlap):
    """Operations of a row of the wide detector."""
    Counted.done = 0
    for c in range(width):
        at = Counted(c) - (n - overlap)
        if not at > -1:
            continue
        x, p, q = Counted(1), Counted(2), Counted(3)
        y = p + (at - 0) * (q - p)
        if c < n:
            share = at / (Counted(overlap) - 1) if overlap > 1 else Counted(0.5)
            x + share * (y - x)
    return Counted.done


def not_judged(check, folder):
    """What has no model is listed: its operations as twins count them here, its access as the list of operations has it, or null and why."""
    listed = [line.split()[:3] for line in tomoprof("run", "--list").stdout.splitlines()]
    n, chosen = 32, [name for name, group, _ in listed if group == "prepare"] + ["gen_weights_*", "cone_wang_weights", "qggmrf_denoise", "remove_stripes_sorting"]
    run = tomoprof("run", "--sizes", n, "--runs", 1, "--no-trace", "--ops", ",".join(chosen), "--out", folder)
    check.that(run.returncode == 0, f"exit {run.returncode}: {run.stderr}")
    t = json.loads((newest(folder) / "triage.json").read_text())
    consistent(check, t, "operations without a model")
    check.that(not t["candidates"] and t["headline"].startswith("No verdict"), f"{t['headline']}")
    page = (newest(folder) / "triage.md").read_text()
    rows = {r["operation"]: r for r in t["not_judged"]}
    sample = {"correct_flat_field": operations(flat), "normalise_air": operations(air), "correct_hardening": operations(polynomial), "correct_tilt": operations(tilt),
              "minus_log": operations(lambda x, *_: x.special(math.log)), "gen_weights_transmission": operations(lambda x, *_: x.special(math.exp)),
              "gen_weights_transmission_root": operations(lambda x, *_: (x * 0.5).special(math.exp)), "gen_weights_emission": operations(lambda x, *_: Counted(1) / (x + 0.1)),
              "gen_weights_mar": operations(lambda x, a, b, *_: (a * (x * b)).special(math.exp)), "cone_wang_weights": operations(lambda x, a, *_: x * a)}
    for name, wanted in sample.items():
        r = rows[name]
        found = r["flops"] / (r["bytes"] / 8) if name != "correct_flat_field" and name != "gen_weights_mar" else r["flops"] / (n * n * n / 2)
        check.that(abs(found - wanted) < 1e-9, f"{name}: {found} operations a sample, its twin has {wanted}")
    r = rows["join_half_turns"]
    views, width = 2 * n, round((r["bytes"] / 4 - 2 * n * n * n) / (n * n))
    likely = {joined(n, width, 2 * n - width + k / 50) * n * views // 2 for k in range(-25, 26)}
    check.that(r["flops"] in likely, f"join_half_turns: {r['flops']}, its twin has {likely}")
    for name in ("remove_stripes_sorting", "remove_outliers", "find_center_entropy", "find_center_symmetry", "gen_weights_unweighted"):
        check.that(rows[name]["flops"] is None and rows[name]["intensity"] is None, f"{name}: {rows[name]}")
    for name, group, access in listed:
        r = rows.get(name)
        check.that(r is None or (r["access"] == access and len(r["reason"]) > 10 and f"| {name.replace('_', chr(92) + '_')} |" in page), f"{name}: {access}, {r}")
        if name in rows and r["flops"]:
            check.that(r["flops_source"] and abs(r["intensity"] * r["bytes"] / r["flops"] - 1) < 1e-9, f"{name}: {r}")
    times = write_json(folder / "all.json", {"measurements": [{"operation": name, "volume_size": 32, "run": k, "time": 0.1} for name, *_ in listed for k in (1, 2)]})
    triage(check, times, "--out", folder / "all")
    t = json.loads((folder / "all/triage.json").read_text())
    told = {c["operation"] for c in t["candidates"]} | {w["operation"] for w in t["workloads"]} | {r["operation"] for r in t["not_judged"]}
    check.that({name for name, *_ in listed} <= told, f"left out in silence: {sorted({name for name, *_ in listed} - told)}")
    check.that(not [r for r in t["not_judged"] if not r["access"]], f"without access: {[r['operation'] for r in t['not_judged'] if not r['access']]}")


def profile_alone(check, folder):
    profile = DATA / "profile/example.json"
    refused = tomoprof("triage", profile, "--out", folder)
    check.that(refused.returncode == 2 and "--size" in refused.stderr, f"no size: {refused}")
    triage(check, profile, "--size", 256, "--out", folder)
    t = json.loads((folder / "triage.json").read_text())
    consistent(check, t, "profile.json")
    check.that(t["source"] == {"timing": False, "profile": True, "workloads_from_ranges": 0}, f"{t['source']}")
    check.that(all(c["confidence"] == "low" for c in t["candidates"]), "a profile alone is little")
    check.that([c["evidence"]["source"] for c in t["candidates"]].count("profile") >= 1, "times of the profile")


def machine_code(check, folder):
    """What cuda/sass.py counts is what triage shows, for the run's own kernels."""
    spec = importlib.util.spec_from_file_location("sass", DATA.parents[1] / "cuda/sass.py")
    sass = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sass)
    code = [(0, "S2R R0, SR_TID.X"), (16, "LDG.E R2, [R4.64]"), (32, "@!P0 FFMA R3, R2, R5, R3"), (48, "FADD R3, R3, R6"), (64, "IMAD R4, R4, 0x4, R7"),
            (80, "DFMA R8, R8, R10, R12"), (96, "MUFU.RCP R1, R1"), (112, "@P0 BRA 0x10"), (128, "STG.E [R4.64], R3"), (144, "EXIT")]
    loop = sass.busiest(code)
    check.that(loop == {"float32": 2, "float64": 1, "special": 1, "loads": 1, "stores": 0, "shared": 0, "shuffles": 0, "branches": 1, "integer": 1,
                        "other": 0, "flops": 5}, f"the loop alone: {loop}")
    whole = sass.busiest([step for step in code if "BRA" not in step[1]])
    check.that(whole["stores"] == 1 and whole["branches"] == 1 and whole["other"] == 1, f"without a loop the kernel: {whole}")
    shutil.copy(DATA / "triage/original_2026.json", folder / "timing.json")
    write_json(folder / "sass.json", {"schema": "tomoprof-sass/1", "object": "x.cubin", "arch": "sm_80",
                                      "kernels": [{"kernel": "their_median", "registers": 20, "loop": loop}]})
    triage(check, folder / "timing.json")
    t = json.loads((folder / "triage.json").read_text())
    consistent(check, t, "sass.json")
    found = {c["operation"]: c["evidence"]["sass"] for c in t["candidates"]}
    median, hessian = found["median_filter3d"], found["cone_hessian_diagonal"]
    check.that(median["kernel"] == "their_median" and median["source"] == "sm_80" and median["flops"] == 5, f"{median}")
    check.that(hessian["source"].startswith("this project"), f"{hessian}")
    check.that("their\\_median" in (folder / "triage.md").read_text(), "triage.md does not name the kernel")
    write_json(folder / "sass.json", {"kernels": []})
    done = tomoprof("triage", folder / "timing.json")
    check.that(done.returncode == 2 and "sass.json" in done.stderr, f"a broken sass.json: {done}")


def weights(check, folder):
    times = DATA / "triage/original_2026.json"
    write_json(folder / "w.json", {"power_budget_watts": 40, "score_share": 30})
    triage(check, times, "--weights", folder / "w.json", "--out", folder)
    t = json.loads((folder / "triage.json").read_text())
    consistent(check, {**t, "candidates": []} | {"candidates": t["candidates"]}, "weights")
    check.that(t["weights"]["power_budget_watts"] == 40 and t["weights"]["score_share"] == 30, "weights are told")
    for c in t["candidates"]:
        check.that("GPU" not in c["rival"], f"{c['operation']}: a GPU in 40 W")
        check.that({e["device"] for e in c["estimates"]} == {"kv260", "zu7ev"}, f"{c['operation']}: cards within 40 W")


def wrong_calls(check, folder):
    times = DATA / "triage/original_2026.json"
    (folder / "text.json").write_text("{}")
    (folder / "half.json").write_text('{"measurements": [')
    (folder / "empty").mkdir()
    write_json(folder / "none.json", {"measurements": [{"operation": "sort", "volume_size": 8, "time": 1}]})
    write_json(folder / "bad.json", {"score_shore": 1})
    for sentence, *args in [
        ("it has u55c", times, "--device", "u99"),
        ("unknown weight", times, "--weights", folder / "bad.json"),
        ("cannot read", times, "--weights", folder / "nothing.json"),
        ("neither a timing.json nor a profile.json", folder / "text.json"),
        ("not a JSON object", folder / "half.json"),
        ("holds none of tomoprof's operations", folder / "none.json"),
        ("no operation was measured at it", times, "--size", 128),
        ("", folder / "empty"),
        ("", folder / "nowhere"),
    ]:
        done = tomoprof("triage", *args, "--out", folder / "never")
        check.that(done.returncode == 2, f"{args}: exit {done.returncode}: {done.stderr}")
        check.that(sentence in done.stderr and done.stderr.startswith("tomoprof: "), f"{args}: {done.stderr!r}")
        check.that(done.stdout == "", f"{args}: wrote to stdout")
    check.that(not (folder / "never/triage.json").exists(), "a failed triage left a file")


if __name__ == "__main__":
    main(suite_run, original_project, not_judged, profile_alone, machine_code, weights, wrong_calls)
