"""The program with the emulator of a GPU inside: the suite, operations on files and reconstruction give what the CPU
gives, and a card that is too small ends in a sentence."""

import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

PROGRAM = os.environ["DEVICE_TOMOPROF"]
DATA = pathlib.Path(os.environ["TP_DATA"])

WHOLE = "sparse|prox|gen_weights|denoise|_weights$|fourier|stripes"  # not in slabs: their arrays fit or are refused


def call(*arguments, code=0, env=None):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=500,
                          env=dict(os.environ, **(env or {})))
    if done.returncode != code:
        sys.exit(f"{arguments}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def suite(folder, backend, *extra, code=0):
    out = folder / "-".join([backend, *extra[1:]])
    if not out.exists():
        call("run", "--backend", backend, "--sizes", "16", "--runs", "2", "--out", out, *extra, code=code,
             env={"SHIM_PROFILER": str(folder / f"{out.name}.ranges"), "SHIM_EXCLUSIVE": str(folder / "device")})
    timing = next(out.rglob("timing.json"))
    return json.loads(timing.read_text())


def check_suite(folder):
    cpu, cuda = suite(folder, "cpu"), suite(folder, "cuda")
    assert cuda["environment"]["backend"] == "cuda", cuda["environment"]
    rows = {(m["operation"], m["run"]): m for m in cpu["measurements"]}
    assert len(rows) == len(cuda["measurements"]) > 20, len(rows)
    for m in cuda["measurements"]:
        of_cpu = rows[(m["operation"], m["run"])]
        assert m["status"] == of_cpu["status"] == "ok", (m, of_cpu)
        ours, theirs = m["fingerprint"], of_cpu["fingerprint"]
        limit = 1e-4 if re.search("mbir|prox|denoise", m["operation"]) else 1e-5
        assert abs(ours["l2"] - theirs["l2"]) <= limit * abs(theirs["l2"]), (m["operation"], ours, theirs)
    print(f"suite: {len(rows)} rows agree")
    check_ranges((folder / "cuda.ranges").read_text().splitlines(), len({m["operation"] for m in cuda["measurements"]}))


def check_exclusive(folder):
    """A device in exclusive mode that another process has."""
    with open(folder / "device", "w") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        said = call("run", "--backend", "cuda", "--sizes", "8", "--out", folder / "taken", code=1, env={"SHIM_EXCLUSIVE": taken.name}).stderr
    assert "another program has it for itself" in said, said
    assert not (folder / "taken").exists()


def check_prepare(folder):
    """The steps before a reconstruction agree with the CPU's."""
    rows = {}
    for backend in ("cpu", "cuda"):
        call("run", "--backend", backend, "--group", "prepare", "--sizes", "32", "--runs", "1", "--no-trace", "--out", folder / f"before-{backend}")
        timing = json.loads(next((folder / f"before-{backend}").rglob("timing.json")).read_text())
        rows[backend] = {m["operation"]: m for m in timing["measurements"]}
    assert len(rows["cuda"]) == len(rows["cpu"]) == 12, rows["cpu"].keys()
    for name, m in rows["cuda"].items():
        of_cpu = rows["cpu"][name]
        assert of_cpu["status"] == "ok", of_cpu
        assert m["status"] == "ok", m
        limit = 1e-3 if name == "find_center_entropy" else 1e-5  # channels; its histogram counts voxels at the edge of a bin
        assert abs(m["fingerprint"]["l2"] - of_cpu["fingerprint"]["l2"]) <= limit * of_cpu["fingerprint"]["l2"], (name, m, of_cpu)
    print("group prepare: 12 rows agree")


def check_demos(folder):
    """Demos that the emulator does in seconds give what the CPU gives, after as many iterations."""
    norms = {}
    for backend in ("cpu", "cuda"):
        call("run", "--backend", backend, "--demos", "--ops", "demo_[sfq]*", "--sizes", "8", "--runs", "1", "--no-trace", "--out", folder / f"demos-{backend}")
        timing = json.loads(next((folder / f"demos-{backend}").rglob("timing.json")).read_text())
        norms[backend] = {m["operation"]: m["fingerprint"]["l2"] for m in timing["measurements"]}
    assert len(norms["cpu"]) == 3 and norms["cpu"].keys() == norms["cuda"].keys(), norms
    assert all(abs(norms["cuda"][name] / l2 - 1) < 1e-5 for name, l2 in norms["cpu"].items()), norms
    print("demos: 3 rows agree")


def check_moved(folder):
    """Translation and multi-axis scans: the rows that no run has by itself agree on both back ends, and with MBIRJAX."""
    norms = {}
    for backend in ("cpu", "cuda"):
        call("run", "--backend", backend, "--ops", "translation_*,multiaxis_*", "--sizes", "8", "--runs", "1", "--no-trace", "--out", folder / f"moved-{backend}")
        timing = json.loads(next((folder / f"moved-{backend}").rglob("timing.json")).read_text())
        assert all(m["status"] == "ok" for m in timing["measurements"]), timing["measurements"]
        norms[backend] = {m["operation"]: m["fingerprint"]["l2"] for m in timing["measurements"]}
    assert len(norms["cpu"]) == 18 and norms["cpu"].keys() == norms["cuda"].keys(), norms
    assert all(abs(norms["cuda"][name] / l2 - 1) < 1e-5 for name, l2 in norms["cpu"].items()), norms
    print("translation and multi-axis scans: 18 rows agree")
    for name in ("multiaxis_steep", "translation_cubes"):
        check_golden(folder, name, name.split("_")[0] + "_forward_project", ["--in", DATA / "goldens" / name / "volume.npy"])


def documented():
    """Operation -> (CPU, CUDA), of the tables of docs/operations.md that have both columns."""
    status, columns = {}, None
    for line in (pathlib.Path(__file__).resolve().parents[2] / "docs/operations.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if "CPU" in cells and "CUDA" in cells:
            columns = cells.index("CPU"), cells.index("CUDA")
        columns = columns if line.startswith("|") else None
        if not columns or "not implemented" in line:
            continue
        names, both = [], None
        for name in re.findall(r"`([^`]+)`", cells[1]):
            long = name.replace("P_", "parallel_").replace("C_", "cone_").replace("M_", "multiaxis_")
            first = {"P_": ("cone_", "parallel_"), "T_": ("multiaxis_", "translation_")}.get(name)
            both = first or both
            names += [] if first else [long.replace(*both), long] if both else ["gen_weights" + name] if name[0] == "_" else [long]
        status.update({name: tuple(cells[c].split(":")[0] for c in columns) for name in names})
    return status


def check_documented(folder):
    """The tables name every operation once a scan's arrays are in it, and say of each back end what it does."""
    told = documented()
    listed = [line.split()[:2] for line in call("run", "--list").stdout.splitlines()]
    wanted = {name for name, group in listed if group not in ("volume", "storage", "demos", "benchmark")}
    assert set(told) == wanted, ("docs/operations.md", set(told) ^ wanted)
    done = {"yes": "ok", "host": "ok", "no": "skipped"}
    for column, backend in enumerate(("cpu", "cuda")):
        runs = [*folder.glob(f"before-{backend}/*/timing.json"), *folder.glob(f"{backend}/*/timing.json"), *folder.glob(f"moved-{backend}/*/timing.json")]
        found = {m["operation"]: m["status"] for run in runs for m in json.loads(run.read_text())["measurements"]}
        wrong = {name: (told[name][column], found.get(name)) for name in told if done.get(told[name][column]) != found.get(name)}
        assert not wrong, (backend, "docs/operations.md and what ran", wrong)
    print(f"docs/operations.md: {len(told)} operations, both back ends as it says")


def check_ranges(lines, operations):
    """Each process that measures says once where that begins and ends; partitions are the host's work, and what the GPU lacks is over at once."""
    calls = [(line.split()[0], int(line.split()[1])) for line in lines]
    assert len(calls) >= 2 * operations, (calls, operations)
    for (start, before), (stop, after) in zip(calls[::2], calls[1::2]):
        assert (start, stop) == ("start", "stop") and before <= after, calls
    assert sum(a[1] < b[1] for a, b in zip(calls[::2], calls[1::2])) >= operations - 3, calls


def check_golden(folder, name, operation, extra=(), limit=1e-5):
    golden, out = DATA / "goldens" / name, folder / "out.npy"
    call("apply", operation, "--backend", "cuda", "--geometry", golden / "geometry.json", "--out", out, *extra)
    found, expected = numpy.load(out), numpy.load(golden / f"{operation}.out.npy")
    error = numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected)
    assert error <= limit, (name, operation, error)
    print(f"{name} {operation}: {error:.2g}")


def check_scales(folder):
    """MBIR keeps its digits where sinogram and image are far from 1."""
    golden = DATA / "goldens" / "par_plain_odd" / "geometry.json"
    shape = json.loads(golden.read_text())["sinogram_shape"]
    sinogram, at_one = numpy.random.default_rng(3).random(shape), {}
    for scale in (1, 1e-30, 1e30):
        for operation, extra in (("mbir_recon", ()), ("prox_map", ("--prox", folder / "far_prox.npy"))):
            numpy.save(folder / "far.npy", (sinogram * scale).astype(numpy.float32))
            out = folder / f"far_{operation}.npy"
            call("apply", operation, "--backend", "cuda", "--geometry", golden, "--in", folder / "far.npy", *extra, "--iterations", 2,
                 "--stop-threshold", 0, "--out", out)
            result = numpy.load(out) / numpy.float64(scale)
            if operation == "mbir_recon":
                numpy.save(folder / "far_prox.npy", (0.9 * result * scale).astype(numpy.float32))
            at_one.setdefault(operation, result)
            assert abs(result - at_one[operation]).max() < 1e-5 * abs(at_one[operation]).max(), (operation, scale)
    print("mbir_recon and prox_map: the digits of 1 at 1e-30 and 1e30")


def check_fourier(folder):
    """Both back ends: 19 slices in two rounds, odd sizes, an offset, no mask, unequal pitch, a view that appears twice."""
    rng = numpy.random.default_rng(5)
    for views, slices, channels, more in ((7, 19, 21, {"det_channel_offset": 1.7, "use_ror_mask": False}),
                                          (9, 1, 40, {"voxel_row_aspect": 1.3, "delta_det_channel": 0.8, "delta_det_row": 0.8}),
                                          (5, 2, 12, {"recon_shape": [30, 17, 2]})):
        angles = (numpy.arange(views) * 0.9 - 1).tolist()
        angles[1] = angles[0]
        angles[2] = 0.0
        numpy.save(folder / "y.npy", rng.standard_normal((views, slices, channels), dtype=numpy.float32))
        geometry = {"geometry": "parallel", "sinogram_shape": [views, slices, channels], "angles": angles, **more}
        (folder / "g.json").write_text(json.dumps(geometry))
        volumes = []
        for backend in ("cpu", "cuda"):
            call("apply", "parallel_fourier_recon", "--backend", backend, "--geometry", folder / "g.json", "--in", folder / "y.npy",
                 "--out", folder / "x.npy")
            volumes.append(numpy.load(folder / "x.npy"))
        error = numpy.linalg.norm(volumes[1] - volumes[0]) / numpy.linalg.norm(volumes[0])
        assert error <= 2e-5 and (volumes[0] == 0).tolist() == (volumes[1] == 0).tolist(), (more, error)
        print(f"Fourier reconstruction, {channels} channels: {error:.2g} from the CPU")


def check_stripes(folder):
    """The same values as algotom's and as the CPU's, where many values of a channel are equal too; the same volume from recon."""
    rng = numpy.random.default_rng(7)
    golden = numpy.load(DATA / "stripes/sinogram.npy")
    many = rng.integers(-3, 3, (37, 3, 26)).astype(numpy.float32)
    for name, y in (("golden", golden), ("equal values", many), ("one view", many[:1]), ("few channels", many[:, :1, :5])):
        numpy.save(folder / "y.npy", y)
        (folder / "g.json").write_text(json.dumps({"geometry": "parallel", "sinogram_shape": list(y.shape),
                                                   "angles": numpy.linspace(0, numpy.pi, len(y), endpoint=False).tolist()}))
        results = []
        for backend in ("cpu", "cuda"):
            call("apply", "remove_stripes_sorting", "--backend", backend, "--geometry", folder / "g.json", "--in", folder / "y.npy", "--out", folder / "z.npy")
            results.append(numpy.load(folder / "z.npy"))
        assert numpy.array_equal(*results), (name, abs(results[1] - results[0]).max())
        assert name != "golden" or numpy.array_equal(results[1], numpy.load(DATA / "stripes/sorted.npy")), name
    volumes = []
    for backend, rings in (("cpu", "sorting"), ("cuda", "sorting"), ("cuda", "keep")):
        numpy.save(folder / "y.npy", many)
        (folder / "g.json").write_text(json.dumps({"geometry": "parallel", "sinogram_shape": list(many.shape),
                                                   "angles": numpy.linspace(0, numpy.pi, len(many), endpoint=False).tolist()}))
        call("recon", "--backend", backend, "--geometry", folder / "g.json", "--in", folder / "y.npy", "--out", folder / "x.npy", "--rings", rings)
        volumes.append(numpy.load(folder / "x.npy"))
    error, kept = (numpy.linalg.norm(v - volumes[0]) / numpy.linalg.norm(volumes[0]) for v in volumes[1:])
    assert error < 1e-5 < kept, (error, kept)
    print(f"stripes: equal to the CPU; volumes {error:.2g} apart")


def check_poses(folder):
    """A detector that leans about both axes, another way in each view: both back ends reconstruct the same, and not what they do without the table."""
    rng = numpy.random.default_rng(6)
    views, rows, channels = 12, 10, 16
    numpy.save(folder / "y.npy", rng.random((views, rows, channels), dtype=numpy.float32))
    numpy.save(folder / "poses.npy", (rng.random((views, 7), dtype=numpy.float32) - 0.5) * numpy.float32([9, 2, 2, 2, 2, 60, 60]))
    (folder / "g.json").write_text(json.dumps({"geometry": "cone", "sinogram_shape": [views, rows, channels], "source_detector_dist": 60,
                                               "source_iso_dist": 30, "angles": (numpy.arange(views) * 2 * numpy.pi / views).tolist()}))
    volumes = []
    for backend, *more in (("cpu", "--poses", folder / "poses.npy"), ("cuda", "--poses", folder / "poses.npy"), ("cuda",)):
        call("recon", "--backend", backend, "--geometry", folder / "g.json", "--in", folder / "y.npy", "--out", folder / "x.npy", *more)
        volumes.append(numpy.load(folder / "x.npy"))
    error, bare = (numpy.linalg.norm(v - volumes[0]) / numpy.linalg.norm(volumes[0]) for v in volumes[1:])
    assert error <= 2e-5 and bare > 0.1, (error, bare)
    print(f"poses with tilts: {error:.2g} from the CPU")


def check_voxel(folder):
    """FDK by voxels: both back ends give the same volume, and not the matched one; the suite's row passes its own check."""
    rng = numpy.random.default_rng(8)
    views, rows, channels = 40, 21, 19
    numpy.save(folder / "y.npy", rng.random((views, rows, channels), dtype=numpy.float32))
    (folder / "g.json").write_text(json.dumps({"geometry": "cone", "sinogram_shape": [views, rows, channels], "source_detector_dist": 70,
                                               "source_iso_dist": 30, "det_row_offset": 1.2, "recon_slice_offset": -0.7, "voxel_slice_aspect": 0.8,
                                               "angles": (numpy.arange(views) * 2 * numpy.pi / views).tolist()}))
    volumes = []
    for backend, how in (("cpu", "voxel"), ("cuda", "voxel"), ("cuda", "matched")):
        call("recon", "--backend", backend, "--geometry", folder / "g.json", "--in", folder / "y.npy", "--out", folder / "x.npy", "--method", "fdk",
             "--backproject", how)
        volumes.append(numpy.load(folder / "x.npy"))
    error, matched = (numpy.linalg.norm(v - volumes[0]) / numpy.linalg.norm(volumes[0]) for v in volumes[1:])
    assert error <= 1e-5 < matched, (error, matched)
    call("run", "--backend", "cuda", "--ops", "cone_voxel_back_project", "--sizes", "16", "--runs", "1", "--no-trace", "--out", folder / "voxel")
    row, = json.loads(next((folder / "voxel").rglob("timing.json")).read_text())["measurements"]
    assert row["status"] == "ok", row
    print(f"FDK by voxels: {error:.2g} from the CPU")


def check_without_driver(folder):
    """Asked for, the GPU that is not there ends the run with exit code 1; not asked for, the CPU computes and says why."""
    words = ["run", "--sizes", "16", "--runs", "1", "--ops", "parallel_fbp_recon", "--no-trace", "--out"]
    no_driver = {"SHIM_NO_DRIVER": "1"}
    asked = call(*words, folder / "asked", "--backend", "cuda", code=1, env=no_driver)
    assert asked.stderr.count("\n") == 1 and "no NVIDIA driver" in asked.stderr, asked.stderr
    assert not (folder / "asked").exists()
    free = call(*words, folder / "free", env=no_driver)
    assert free.stderr.count("the back end cpu computes: no NVIDIA driver") == 1, free.stderr
    timing = next((folder / "free").rglob("timing.json"))
    assert json.loads(timing.read_text())["environment"]["backend"] == "cpu"
    doctor = json.loads(call("doctor", "--json", env=no_driver).stdout)
    assert "no NVIDIA driver" in doctor["back_ends"]["cuda"]["reason"], doctor["back_ends"]


def check_slabs(folder):
    """On a card that is too small for all at once: the same in slabs, MBIR of parallel beams in groups, of small cones refused; on one that is too small for a slab
    as well, everything refused before it is computed, in sentences with both numbers."""
    rows = {m["operation"]: m for m in suite(folder, "cuda")["measurements"] if m["run"] == 2}
    card = suite(folder, "cuda", "--device-memory", "28kB", code=1)
    slabs = 0
    for m in card["measurements"]:
        if re.search(WHOLE, m["operation"]):
            assert m["status"] in ("ok", "skipped") or "available (limited by --device-memory)" in m["reason"], m
        elif "mbir" in m["operation"] and m["operation"].startswith("cone"):
            refused = "every subset of cone beams needs all of its arrays|mbir_recon of one view at a time needs"
            assert m["status"] == "failed" and re.search(refused, m["reason"]), m
        elif "mbir" in m["operation"]:
            assert m["status"] == "ok" or "mbir_recon of one slice at a time needs" in m["reason"], m
        elif m["run"] == 2:
            ours, theirs = m["fingerprint"], rows[m["operation"]]["fingerprint"]
            assert m["status"] == "ok" and abs(ours["l2"] - theirs["l2"]) <= 1e-6 * theirs["l2"], (m, theirs)
            slabs += m["h2d_bytes"] > 0 and m["d2h_bytes"] > 0
    assert slabs > 8, slabs
    for m in suite(folder, "cuda", "--device-memory", "1kB", code=1)["measurements"]:
        assert "gen_pixel_partition" in m["operation"] or m["status"] == "skipped" or "1000 B available (limited by --device-memory)" in m["reason"], m
    cone = DATA / "goldens/cone_offsets"
    check_golden(folder, "cone_offsets", "cone_fdk_recon", ["--in", cone / "sinogram.npy", "--device-memory", "24kB"])
    (folder / "out.npy").unlink()
    small = call("apply", "cone_fdk_recon", "--backend", "cuda", "--geometry", cone / "geometry.json", "--in",
                 cone / "sinogram.npy", "--out", folder / "out.npy", "--device-memory", "4kB", code=1)
    assert "the thinnest slab of direct_recon needs" in small.stderr and "--device-memory" in small.stderr, small.stderr
    assert not (folder / "out.npy").exists()
    whole, parts = folder / "whole.npy", folder / "parts.npy"
    for out, extra in (whole, ()), (parts, ("--device-memory", "24kB")):
        call("recon", "--backend", "cuda", "--geometry", cone / "geometry.json", "--in", cone / "sinogram.npy", "--out", out,
             *extra)
    a, b = numpy.load(whole), numpy.load(parts)
    assert numpy.linalg.norm(a - b) <= 1e-6 * numpy.linalg.norm(a), numpy.linalg.norm(a - b)
    print(f"slabs: {slabs} operations agree")


def check_load(folder):
    """`load` into pinned memory and on to the device, which compares what came; 20 MB are two pieces. A device that is too small, and processes, are refused."""
    numpy.save(folder / "x.npy", numpy.arange(10_000_000, dtype=numpy.uint16).reshape(10, 1000, 1000))
    for to, phases in (("memory", set()), ("pinned", {"pin"}), ("device", {"pin", "send"})):
        said = json.loads(call("load", folder / "x.npy", "--to", to, "--json", "--out", folder / "out").stdout)
        assert said["to"] == to and set(said["phases"]) & {"pin", "send"} == phases, said["phases"]
    said = json.loads(call("load", folder / "x.npy", "--to", "device", "--sweep", "medium", "--json", "--out", folder / "out").stdout)
    assert said["sweep"] and not any(row["processes"] for row in said["sweep"]), said["sweep"]
    done = call("load", folder / "x.npy", "--to", "device", "--out", folder / "out", code=1, env={"TOMOPROF_DEVICE_MEMORY": "1MiB"})
    assert "array on the device" in done.stderr, done.stderr
    done = call("load", folder / "x.npy", "--to", "pinned", "--processes", 2, "--out", folder / "out", code=2)
    assert "use --threads" in done.stderr, done.stderr
    print("load: pinned and on the device")


def main():
    doctor = json.loads(call("doctor", "--ceilings", "--json").stdout)
    assert doctor["back_ends"]["cuda"]["usable"], doctor["back_ends"]
    ceilings = doctor["back_ends"]["cuda"]["ceilings"]  # of the emulator: that every probe runs is all they say
    assert len(ceilings) == 12 and all(value > 0 for value in ceilings.values()), ceilings
    assert "emulator" in doctor["back_ends"]["cuda"]["device"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_suite(folder)
        check_exclusive(folder)
        check_prepare(folder)
        check_moved(folder)
        check_documented(folder)
        check_demos(folder)
        check_scales(folder)
        check_fourier(folder)
        check_poses(folder)
        check_voxel(folder)
        check_stripes(folder)
        check_without_driver(folder)
        par, cone = DATA / "goldens/par_offset_pitch", DATA / "goldens/cone_offsets"
        check_golden(folder, "par_offset_pitch", "parallel_forward_project", ["--in", par / "volume.npy"])
        check_golden(folder, "par_offset_pitch", "parallel_hessian_diagonal", ["--weights", par / "weights.npy"])
        check_golden(folder, "cone_offsets", "cone_fdk_recon", ["--in", cone / "sinogram.npy"])
        check_slabs(folder)
        check_load(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
