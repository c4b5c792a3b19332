"""tests/gpu/capture.py, which proves the recorder on a GPU, where there is none: the program it records runs on the pretended
GPU of tests/fakes. What is right must pass; what is tampered with must fail with its reason."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import TOMOPROF, main, need_library

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(TOMOPROF).resolve().parent
FAKES = BUILD / "tests/fakes"
CAPTURE = ROOT / "tests/gpu/capture.py"


def prove(folder, rows, fake="", *options, known=FAKES / "known", samples=None):
    """(exit code, {row: what capture.json says of it})"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TOMOPROF_", "FAKE", "CUDA_", "NVTX_"))}
    environment.update(FAKE_SAMPLES=samples or "/dev/null", TOMOPROF_CAPTURE_CUPTI=str(FAKES / "fake_cupti.so"), FAKE=fake)
    words = [sys.executable, CAPTURE, BUILD, folder, "--known", known, "--only", rows, "--short", "2000", "--pairs", "1", *options]
    done = subprocess.run([str(w) for w in words], env=environment, capture_output=True, text=True, timeout=600)
    table = json.loads((folder / "capture.json").read_text()) if (folder / "capture.json").exists() else {"rows": []}
    return done.returncode, {row["program"]: row for row in table["rows"]}


def right_recordings_pass(check, folder):
    names = ["known", "short", "no_device", "killed", "children", "reset", "old_cupti"]
    code, rows = prove(folder, ",".join(names))
    for name in names[:-1]:
        check.that(rows[name]["status"] == "passed", f"{rows[name]}")
    check.that(code == 0 and rows["old_cupti"]["status"] == "skipped" and rows["old_cupti"]["reason"], f"{code} {rows['old_cupti']}")
    known, short = rows["known"], rows["short"]
    check.that(known["kernels"]["ours"] == known["kernels"]["own"] >= 25, f"{known['kernels']}")
    check.that(abs(known["gpu_s"]["difference"]) < 1e-3 and known["unattributed_share"] == 0, f"{known}")
    check.that(known["lines"]["found"] == known["lines"]["expected"] >= 6, f"{known['lines']}")
    wanted = {"h2d pageable": 4 << 20, "h2d pinned": 2 << 20, "d2d device": 1 << 20, "d2h pinned": 1 << 19, "d2h pageable": 1 << 18}
    check.that(known["bytes"] == wanted and known["streams"] == 3 and known["graph_kernels"] == 15, f"{known}")
    check.that(short["kernels"]["ours"] == known["kernels"]["ours"] + 2000 and short["overhead"]["pairs"] == 1, f"{short}")
    check.that("CUDA_VISIBLE_DEVICES" in rows["no_device"]["said"], f"{rows['no_device']}")


def samples_inside_kernels_are_there_or_a_sentence(check, folder):
    code, rows = prove(folder / "none", "kernel_lines")
    check.that(code == 1 and "no sample inside" in rows["kernel_lines"]["reason"], f"a GPU that gives no samples: {rows}")
    code, rows = prove(folder / "refused", "kernel_lines", "cuptiPCSamplingEnable=35")
    check.that(code == 0 and "administrators" in rows["kernel_lines"]["said"][0], f"refused: {rows}")
    (folder / "samples.txt").write_text("_Z4spinPfl 16 0 10\n")
    code, rows = prove(folder / "given", "kernel_lines", samples=str(folder / "samples.txt"))
    check.that(code == 0 and rows["kernel_lines"]["samples"] > 0, f"given: {rows}")


def recordings_come_home_small(check, folder):
    code, rows = prove(folder, "known")
    kept = folder / "traces/known"
    size = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
    expected = json.loads((kept / "expected.json").read_text())
    check.that(code == 0 and 0 < size < 2 << 20 and not expected["cut"], f"{code}: {size} bytes, cut: {expected['cut']}")
    check.that(expected["totals"]["kernels"] == rows["known"]["kernels"]["ours"], f"{expected['totals']}")
    again = subprocess.run([TOMOPROF, "report", kept, "--reanalyze"], capture_output=True, text=True, timeout=300)
    check.that(again.returncode == 0, f"the kept recording cannot be analysed again: {again.stderr}")


def tampered_recordings_fail_with_the_reason(check, folder):
    tampered = {
        "lose=10": "kernels",  # a record that nobody misses
        "drop=3": "dropped",
        "event=5": "the program's events",
        "line=1": "launched",
        "steal=1000": "another profiler",
        "zero=9": "without times",
        "lose=20": "memset",
    }
    for fake, reason in tampered.items():
        name = "short" if fake.startswith("steal") else "known"
        code, rows = prove(folder / fake, name, fake)
        said = rows[name]["reason"]
        check.that(code == 1 and rows[name]["status"] == "failed" and reason in said, f"{fake}: exit {code}, {said}")


def a_program_that_changes_when_recorded_fails(check, folder):
    program = folder / "changes.sh"
    folder.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$LD_PRELOAD"\n{FAKES / "known"} "$@" || exit\nexit ${{LD_PRELOAD:+5}}\n')
    program.chmod(0o755)
    code, rows = prove(folder / "out", "known", known=program)
    wrong = "; ".join(rows["known"].get("wrong", []))
    check.that(code == 1 and "exit code 0 bare, 5 recorded" in wrong and "stdout differs" in wrong, f"{code}: {rows['known']}")


def without_a_gpu_it_is_skipped_with_the_reason(check, folder):
    environment = dict(os.environ, PATH=str(folder))
    words = [sys.executable, str(CAPTURE), str(BUILD), str(folder / "out")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    check.that(done.returncode == 77 and "skipped: no nvidia-smi" in done.stdout, f"{done}")


need_library()
main(right_recordings_pass, samples_inside_kernels_are_there_or_a_sentence, recordings_come_home_small, tampered_recordings_fail_with_the_reason,
     a_program_that_changes_when_recorded_fails, without_a_gpu_it_is_skipped_with_the_reason)
