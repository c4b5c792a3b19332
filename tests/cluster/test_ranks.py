#!/usr/bin/env python3
"""recon by 2 to 4 ranks under mpirun: the result of one rank; a rank that dies costs its slab alone; one voice for all."""
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "pipe"))
import numpy as np
from launch import MPI, module_missing, simulate
from tool import LONG, PATIENCE, TOMOPROF, main, relative, tomoprof

def ranks(n, *words, timeout=PATIENCE):
    """`tomoprof words` as n ranks; what mpirun itself says is not ours."""
    return subprocess.run(["mpirun", "-n", str(n), TOMOPROF, *map(str, words)], env={**os.environ, **MPI}, capture_output=True,
                          text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def same_result(check, folder):
    """Direct methods of parallel beams: the same bits; cone beams and MBIR: 1e-6."""
    scans = {beam: simulate(folder, beam, "--size", 40, "--views", 30) for beam in ("parallel", "cone")}
    cases = [("parallel", 0, "--method", "fbp"), ("parallel", 0, "--method", "fourier"), ("cone", 1e-6, "--method", "fdk"),
             ("cone", 1e-6, "--backproject", "voxel"),
             ("parallel", 1e-6, "--method", "mbir", "--iterations", 3, "--weights", "transmission"),
             ("cone", 1e-6, "--method", "mbir", "--iterations", 3), ("cone", 1e-6, "--method", "mbir", "--iterations", 2, "--weights", "transmission")]
    for beam, limit, *words in cases:
        call = [*scans[beam], *words]
        one = tomoprof(*call, "--out", folder / "one.npy", timeout=PATIENCE)
        check.that(one.returncode == 0, f"{beam} {words}: {one.stderr}")
        for n in (2, 3):
            many = ranks(n, *call, "--out", folder / "many.npy")
            check.that(many.returncode == 0, f"{n} ranks, {beam} {words}: {many.stderr}")
            error = relative(np.load(folder / "many.npy"), np.load(folder / "one.npy"))
            check.that(error <= limit, f"{n} ranks, {beam} {words}: relative error {error:.2e}, limit {limit}")
            check.that((folder / "one.png").read_bytes() == (folder / "many.png").read_bytes() or limit,
                       f"{n} ranks, {beam} {words}: another picture")
            check.that(many.stderr.count("processes; the first one") == 1, f"{n} ranks: not one voice: {many.stderr}")
            check.that(not (folder / "many.npy.parts").exists(), f"{n} ranks left many.npy.parts")


def scans_of_all_kinds(folder):
    """Options of recon for scans that need more than their own rows, or whose views move."""
    scans = {kind: simulate(folder, kind, "--size", 24, "--views", 20, "--rows", 22) for kind in ("parallel", "cone", "translation", "multiaxis")}
    for kind, source, change in (("helical", "cone", {"helical_z_shifts": [0.8 * i - 8 for i in range(20)]}),
                                 ("offset", "parallel", {"det_channel_offset": 12.0, "sinogram_shape": [40, 6, 40], "recon_shape": [40, 40, 6],
                                                         "angles": [math.radians(9 * i) for i in range(40)]})):
        geometry = json.loads((folder / f"{source}.json").read_text()) | change
        (folder / "given.json").write_text(json.dumps(geometry))
        scans[kind] = simulate(folder, folder / "given.json", out=kind)
    draw = np.random.default_rng(1)
    np.save(folder / "poses.npy", np.pad(draw.normal(0, 1, (20, 2)).astype(np.float32), ((0, 0), (0, 3))))
    return scans


def every_option(check, folder):
    """What needs whole views, or all slices, has an effect, and by ranks the same one."""
    scans = scans_of_all_kinds(folder)
    poses, mbir = ["--poses", folder / "poses.npy"], ["--method", "mbir", "--iterations", 2]
    cases = [("parallel", 0, *poses), ("helical", 1e-6, *poses), ("cone", 1e-6, *mbir, *poses), ("cone", 1e-6, *mbir, "--weights", "metal"),
             ("helical", 1e-6, "--redundancy", "helical"), ("helical", 1e-6, *mbir), ("translation", 1e-6, *mbir), ("multiaxis", 1e-6, *mbir),
             ("parallel.h5", 0, "--paganin", "100,20,100,0.001"), ("parallel.h5", 1e-6, *mbir, "--tilt", 2), ("offset.h5", 0, "--overlap", 16)]
    for scan, limit, *words in cases:
        call = ["recon", "--in", folder / scan] if scan.endswith(".h5") else scans[scan]
        one = tomoprof(*call, *words, "--out", folder / "one.npy", timeout=PATIENCE)
        many = ranks(3, *call, *words, "--out", folder / "many.npy")
        if check.that(one.returncode == 0 and many.returncode == 0, f"{scan} {words}: {one.stderr} {many.stderr}"):
            error = relative(np.load(folder / "many.npy"), np.load(folder / "one.npy"))
            check.that(error <= limit, f"3 ranks, {scan} {words}: relative error {error:.2e}, limit {limit}")
    plain = tomoprof(*scans["parallel"], *poses, "--out", folder / "one.npy", timeout=PATIENCE)
    kept = tomoprof(*scans["parallel"], *poses, "--out", folder / "kept.npy", "--resume", timeout=PATIENCE)
    check.that(plain.returncode == kept.returncode == 0 and (folder / "one.npy").read_bytes() == (folder / "kept.npy").read_bytes(),
               f"--resume with --poses: other bits {kept.stderr}")
    for words, line in ((["--reference", folder / "cone_volume.npy"], "PSNR"), (["--scale-bar"], "scale bar:")):
        told = [[x for x in r.stderr.splitlines() if line in x] for r in
                (tomoprof(*scans["cone"], *words, "--out", folder / "one.npy", timeout=PATIENCE),
                 ranks(2, *scans["cone"], *words, "--out", folder / "one.npy"))]
        check.that(len(told[0]) == 1 and told[0] == told[1], f"{words}: {told}")


def children_of(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def started_at(pid):
    """When the process began, None when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def killed_once(check, call, out, chance):
    """A rank is killed when some slabs are there; returns whether it came in time."""
    words = ["mpirun", "-n", "4", TOMOPROF, *map(str, call), "--out", str(out)]
    p = subprocess.Popen(words, env={**os.environ, **MPI}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    wanted = chance.randrange(1, 6)
    end = time.monotonic() + PATIENCE
    while p.poll() is None and len(list(Path(f"{out}.parts").glob("done-*"))) < wanted and time.monotonic() < end:
        time.sleep(0.002)
    started = []
    try:
        started = [(pid, started_at(pid)) for pid in children_of(p.pid)]
        os.kill(chance.choice(started)[0], signal.SIGKILL)
    except (IndexError, ProcessLookupError, FileNotFoundError):
        pass
    check.that(p.wait(timeout=PATIENCE) is not None, "mpirun hangs after a rank was killed")
    while any(started_at(pid) == at for pid, at in started) and time.monotonic() < end:
        time.sleep(0.002)  # mpirun may end before those that it ended
    return p.returncode != 0


def dies_and_resumes(check, folder):
    """kill -9 of one of 4 ranks: nothing hangs, finished slabs stay, --resume gives the same bits, with other ranks too."""
    chance = random.Random(26)
    call = [*simulate(folder, "cone", "--size", 128, "--views", 300), "--memory", "110MiB", "--threads", 1]
    whole = ranks(4, *call, "--out", folder / "whole.nii")
    check.that(whole.returncode == 0, whole.stderr)
    whole = (folder / "whole.nii").read_bytes()
    out = folder / "part.nii"
    died = turn = 0
    while died < (20 if LONG else 3) and turn < 60:  # a kill may come too late, where this test gets no CPU
        turn += 1
        out.unlink(missing_ok=True)
        shutil.rmtree(f"{out}.parts", ignore_errors=True)
        if killed_once(check, call, out, chance) and not out.exists():  # not in its last moment
            died += 1
            there = len(list(Path(f"{out}.parts").glob("done-*")))
            again = ranks(chance.choice((1, 2, 3)), *call, "--out", out, "--resume") if turn % 3 else \
                tomoprof(*call, "--out", out, "--resume", timeout=PATIENCE)
            check.that(again.returncode == 0, f"--resume: {again.stderr}")
            check.that(f"{there} of " in again.stderr, f"{there} slabs were complete, and it says: {again.stderr}")
        check.that(out.read_bytes() == whole, f"turn {turn}: other bits")
        check.that(not Path(f"{out}.parts").exists(), "parts are left")
    check.that(died > 0, "no rank was killed in time")


def every_scale(check, folder):
    """MBIR of 2 ranks keeps its digits where the sinogram is far from 1: all ranks bring it near by one factor."""
    call = simulate(folder, "cone", "--size", 16, "--views", 12, out="scaled")
    sinogram, out, at_one = np.load(call[2]).astype(float), folder / "scaled.npy", None
    for scale in (1, 1e-30, 1e30):
        np.save(folder / "far.npy", (sinogram * scale).astype(np.float32))
        out.unlink(missing_ok=True)
        r = ranks(2, "recon", "--in", folder / "far.npy", *call[3:], "--method", "mbir", "--iterations", 2, "--stop-threshold", 0, "--out", out)
        check.must(r.returncode == 0, f"{scale}: {r.stderr}")
        result = np.load(out) / scale
        at_one = result if at_one is None else at_one
        check.that(np.abs(result - at_one).max() < 1e-5 * np.abs(at_one).max(), f"{scale}: other digits than at 1")


def failed_mbir(check, folder):
    """MBIR that fails, or is killed, leaves nothing: it cannot be taken up again."""
    call = [*simulate(folder, "parallel", "--size", 16, "--views", 12), "--method", "mbir"]
    sinogram = np.load(folder / "parallel_sinogram.npy")
    sinogram[3, 12, 4] = np.nan
    np.save(folder / "nan.npy", sinogram)
    out = folder / "bad.npy"
    r = ranks(2, "recon", "--in", folder / "nan.npy", *call[3:], "--out", out)
    check.that(r.returncode == 2 and "not a finite number" in r.stderr, f"NaN in a sinogram: {r.returncode} {r.stderr}")
    words = ["mpirun", "-n", "2", TOMOPROF, *map(str, call), "--iterations", "1000000", "--stop-threshold", "0", "--out", str(out)]
    p = subprocess.Popen(words, env={**os.environ, **MPI, "TOMOPROF_LOG": "debug"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         stdin=subprocess.DEVNULL, text=True)
    for line in p.stderr:
        if "MiB of memory" in line or "KiB of memory" in line:  # it is about to begin
            break
    for rank in children_of(p.pid)[:1]:
        os.kill(rank, signal.SIGKILL)
    p.stderr.read()
    check.that(p.wait(timeout=PATIENCE) != 0, "a killed rank, and mpirun says that all is well")
    left = sorted(f.name for f in folder.iterdir() if f.name.startswith("bad"))
    check.that(not left, f"left: {left}")


def another_call(check, folder):
    """Parts of another call are refused."""
    call = [*simulate(folder, "cone", "--size", 128, "--views", 300), "--memory", "110MiB", "--threads", 1]
    out = folder / "other.nii"
    for _ in range(20):  # a kill may come too late
        if killed_once(check, call, out, random.Random(3)) and not out.exists():
            break
        out.unlink(missing_ok=True)
    r = tomoprof(*call, "--rings", "sorting", "--out", out, "--resume", timeout=PATIENCE)
    check.that(r.returncode == 2 and "is of another call" in r.stderr, f"parts of another call: {r.returncode} {r.stderr}")
    r = tomoprof(*call, "--out", out, timeout=PATIENCE)
    check.that(r.returncode == 0, f"without --resume: {r.stderr}")
    r = tomoprof(*call, "--method", "mbir", "--out", out, "--resume", timeout=PATIENCE)
    check.that(r.returncode == 2 and "--resume is for" in r.stderr, f"mbir: {r.stderr}")
    r = tomoprof(*call, "--out", folder / "o.nii.gz", "--resume", timeout=PATIENCE)
    check.that(r.returncode == 2 and "must end in .nii or .npy" in r.stderr, f".nii.gz: {r.stderr}")


def one_voice(check, folder):
    """An error of all ranks is told once, with the exit code that one process has."""
    r = ranks(3, "recon", "--in", folder / "none.h5", "--out", folder / "x.npy")
    check.that(r.returncode == 2, f"exit code {r.returncode}")
    check.that(r.stderr.count("tomoprof: ") == 1, f"told {r.stderr.count('tomoprof: ')} times: {r.stderr}")
    r = ranks(3, *simulate(folder, "cone", "--size", 16), "--out", folder / "x.nii.gz")
    check.that(r.returncode == 2 and r.stderr.count("tomoprof: ") == 1, f".nii.gz by ranks: {r.returncode} {r.stderr}")


def not_the_same(check, folder):
    """A rank with another scan, other options or another version: one sentence, no hang, nothing written."""
    calls = {kind: simulate(folder, kind, "--size", 16, "--views", views) for kind, views in (("parallel", 12), ("cone", 10))}
    line = {kind: " ".join(map(str, words)) for kind, words in calls.items()}
    other = folder / "other"
    other.mkdir()
    for name in ("tomoprof", "libtomoprof_mpi.so"):
        shutil.copy(Path(TOMOPROF).parent / name, other)
    version = tomoprof("--version").stdout.split()[1].encode() + b"\0"
    program = (other / "tomoprof").read_bytes()
    (other / "tomoprof").write_bytes(program.replace(version, b"9" + version[1:]))
    both, plain, mbir = (f"{TOMOPROF} {line[kind]}" for kind in ("cone", "parallel", "parallel"))
    for first, second, code, wanted in ((both, plain, 2, 'process 1 has "views 12 x 16 x 16"'),
                                        (plain, mbir + " --method mbir", 2, 'process 1 has "method mbir", the first one "method fbp"'),
                                        (plain, plain.replace(TOMOPROF, str(other / "tomoprof")), 1, "process 1 runs tomoprof 9")):
        script = f"if [ $OMPI_COMM_WORLD_RANK = 1 ]; then exec {second} --out {folder}/x.npy; fi; exec {first} --out {folder}/x.npy"
        r = subprocess.run(["mpirun", "-n", "3", "sh", "-c", script], env={**os.environ, **MPI}, capture_output=True, text=True,
                           timeout=PATIENCE, stdin=subprocess.DEVNULL)
        check.that(r.returncode == code and r.stderr.count("tomoprof: ") == 1 and wanted in r.stderr, f"{wanted}: {r.returncode} {r.stderr}")
        check.that(not list(folder.glob("x.*")), f"{wanted}: left {list(folder.glob('x.*'))}")


def stopped(check, folder):
    """SIGTERM to one rank stops all of them at the same step; the volume holds what there is."""
    words = [*simulate(folder, "parallel", "--size", 16, "--views", 12), "--method", "mbir", "--iterations", 1000000, "--stop-threshold", 0]
    out = folder / "part.npy"
    p = subprocess.Popen(["mpirun", "-n", "2", TOMOPROF, *map(str, words), "--out", str(out)], env={**os.environ, **MPI},
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    for line in p.stderr:
        if "iB of memory" in line:  # it is about to begin
            break
    os.kill(children_of(p.pid)[1], signal.SIGTERM)
    said = p.stderr.read()
    check.that(p.wait(timeout=PATIENCE) == 130 and said.count("tomoprof: interrupted in iteration") == 1, f"{p.returncode} {said}")
    check.that(out.exists() and np.isfinite(np.load(out)).all(), "no volume")


def tasks_without_mpi(check, folder):
    """srun --mpi=none: each task would do all of the work."""
    env = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1"}
    r = tomoprof(*simulate(folder, "parallel", "--size", 16), "--out", folder / "x.npy", env=env)
    check.that(r.returncode == 1 and "--mpi=pmix" in r.stderr and not (folder / "x.npy").exists(), f"tasks of srun: {r.stderr}")


reason = module_missing()
if reason:
    print(f"skipped: {reason}")
    sys.exit(77)
main(same_result, every_option, dies_and_resumes, every_scale, failed_mbir, another_call, one_voice, not_the_same, stopped, tasks_without_mpi)
