"""Scripts whose slow call is known, for `tomoprof try`: of each in OFFERED a function is offered and replaced, of each in NOTHING none is.

    python3 tests/pipe/python/try_scripts.py [--pairs N] [NAME ...]

as a program, with TOMOPROF and the Python that has mbirjax, scipy and scikit-image, prints what `try` promises beside what a copy
gains to which try.diff was applied: by CPU time, in pairs of runs without the recorder. Ends with 1 where the two differ by more than 10 %."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

import module  # noqa: F401
import numpy as np
from tool import tomoprof

GAIN = 0.10
VOLUME = "volume = np.random.default_rng(0).random(({0}, {0}, {0}), 'float32')"
CONE = """
import mbirjax as mj
phantom, sinogram, params = mj.generate_demo_data(object_type="shepp-logan", model_type="cone", num_views=48, num_det_rows=24, num_det_channels=48)
model = mj.ConeBeamModel(sinogram.shape, params["angles"], source_detector_dist=params["source_detector_dist"], source_iso_dist=params["source_iso_dist"])
"""
PARALLEL = """
import mbirjax as mj
angles = np.linspace(0, np.pi, 64, endpoint=False)
model = mj.ParallelBeamModel((64, 24, 64), angles)
volume = mj.generate_3d_shepp_logan_low_dynamic_range(model.get_params("recon_shape"))
sinogram = np.asarray(model.forward_project(volume))
"""
IMAGE = """
from skimage.transform import radon, iradon
y, x = np.mgrid[:{0}, :{0}] - {0} // 2
image = np.clip(({0} / 4 - np.hypot(x - {0} / 10, y)) / 4, 0, 1).astype("float32")
theta = np.linspace(0, 180, {0}, endpoint=False)
"""
OFFERED = {
    "median_from": f"from scipy.ndimage import median_filter\n{VOLUME.format(128)}\nresult = median_filter(volume, size=3)",
    "median_as": f"import scipy.ndimage as ndi\n{VOLUME.format(128)}\nresult = ndi.median_filter(volume, size=3)",
    "median_module": f"from scipy import ndimage\n{VOLUME.format(128)}\nresult = ndimage.median_filter(volume, size=(3, 3, 3))",
    "median_nearest": f"from scipy import ndimage as nd\n{VOLUME.format(128)}\nresult = nd.median_filter(volume, size=3, mode='nearest')",
    "median_uint8": f"from scipy.ndimage import median_filter\n{VOLUME.format(160)}\nresult = median_filter((volume * 255).astype('uint8'), size=3)",
    "median_loop": f"from scipy.ndimage import median_filter\n{VOLUME.format(64)}\nfor _ in range(6):\n    result = median_filter(volume, size=3)",
    "median_function": f"import scipy.ndimage\n{VOLUME.format(128)}\ndef smooth(v):\n    return scipy.ndimage.median_filter(v, size=3)\nresult = smooth(volume)",
    "radon": f"{IMAGE.format(256)}\nfor _ in range(3):\n    result = radon(image, theta)",
    "radon_module": f"{IMAGE.format(256)}\nfrom skimage import transform\nfor _ in range(3):\n    result = transform.radon(image, theta)",
    "radon_no_circle": f"{IMAGE.format(192)}\nfor _ in range(2):\n    result = radon(image, theta, circle=False)",
    "iradon": f"{IMAGE.format(320)}\nsinogram = np.tile(image.sum(0)[:, None], (1, 320))\nfor _ in range(6):\n    result = iradon(sinogram, theta)",
    "sart": f"{IMAGE.format(256)}\nfrom skimage.transform import iradon_sart\nsinogram = np.tile(image.sum(0)[:, None], (1, 256))\n"
            "result = iradon_sart(sinogram, theta)\nfor _ in range(2):\n    result = iradon_sart(sinogram, theta, image=result)",
    "cone_forward": f"{CONE}\nfor _ in range(60):\n    result = model.forward_project(phantom)",
    "cone_back": f"{CONE}\nfor _ in range(150):\n    result = model.back_project(sinogram)",
    "cone_fdk": f"{CONE}\nfor _ in range(120):\n    result = model.direct_recon(sinogram)",
    "cone_recon": f"{CONE}\nresult, _ = model.recon(sinogram, max_iterations=6)",
    "parallel_forward": f"{PARALLEL}\nfor _ in range(100):\n    result = model.forward_project(volume)",
    "parallel_back": f"{PARALLEL}\nfor _ in range(300):\n    result = model.back_project(sinogram)",
    "parallel_fbp": f"{PARALLEL}\nfor _ in range(250):\n    result = model.direct_recon(sinogram)",
    "parallel_recon": f"{PARALLEL}\nresult, _ = model.recon(sinogram, max_iterations=6)",
    "parallel_denoise": f"{PARALLEL}\nresult, _ = mj.QGGMRFDenoiser(volume.shape).denoise(np.asarray(volume), sigma_noise=0.05)",
}
OFFERED |= {
    "zoom": f"from scipy.ndimage import zoom\n{VOLUME.format(96)}\nfor _ in range(4):\n    result = zoom(volume, 1.5, order=1, mode='nearest', grid_mode=True)",
    "rotate_views": f"from scipy import ndimage\n{VOLUME.format(128)}\nfor _ in range(12):\n"
                    "    result = ndimage.rotate(volume, 0.4, axes=(2, 1), reshape=False, order=1, mode='nearest')",
    "nifti": "import nibabel as nib\nresult = 0\nfor _ in range(12):\n    image = nib.load('scan.nii.gz')\n    result = np.asanyarray(image.dataobj)",
    "tiff": "import tifffile\nfor _ in range(12):\n    result = tifffile.imread('scan.tif')",
    "zarr_open": "import zarr\nfor _ in range(40):\n    array = zarr.open('scan.zarr', mode='r')\n    result = array[...]",
    "astra_strip": f"""
import astra
{IMAGE.format(256).replace("from skimage.transform import radon, iradon", "")}
grid, beams = astra.create_vol_geom(256, 256), astra.create_proj_geom("parallel", 1.0, 256, np.deg2rad(theta))
rays = astra.create_projector("strip", beams, grid)
for _ in range(10):
    number, result = astra.create_sino(image, rays)
""",
    "astra_sirt": f"""
import astra
{IMAGE.format(192).replace("from skimage.transform import radon, iradon", "")}
grid, beams = astra.create_vol_geom(192, 192), astra.create_proj_geom("parallel", 1.0, 192, np.deg2rad(theta))
rays = astra.create_projector("strip", beams, grid)
number, result = astra.create_reconstruction("SIRT", rays, np.tile(image.sum(0), (192, 1)), 15)
""",
}
SCAN = (np.cumsum(np.random.default_rng(0).standard_normal((160, 128, 96)), axis=0) * 20).astype("int16")


def save_nifti(folder):
    import nibabel
    nibabel.save(nibabel.Nifti1Image(SCAN, np.eye(4)), folder / "scan.nii.gz")


def save_tiff(folder):
    import tifffile
    tifffile.imwrite(folder / "scan.tif", SCAN, compression="zlib")


def save_zarr(folder):
    import zarr
    zarr.create_array(folder / "scan.zarr", data=SCAN, chunks=(32, 64, 48))


FILES = {"nifti": save_nifti, "tiff": save_tiff, "zarr_open": save_zarr}  # that a script reads
PACKAGES = {"astra_strip": "astra", "astra_sirt": "astra", "nifti": "nibabel", "nifti_mapped": "nibabel", "tiff": "tifffile", "tiff_plain": "tifffile", "zarr_open": "zarr"}
NOTHING = {
    "no_package": "result = sum(i * i for i in range(8_000_000))",
    "median_5": f"from scipy.ndimage import median_filter\n{VOLUME.format(48)}\nresult = median_filter(volume, size=5)",
    "median_footprint": f"from scipy.ndimage import median_filter\n{VOLUME.format(64)}\nresult = median_filter(volume, footprint=np.ones((3, 3, 1)))",
    "median_constant": f"from scipy.ndimage import median_filter\n{VOLUME.format(64)}\nresult = median_filter(volume, size=3, mode='constant')",
    "gaussian": f"from scipy.ndimage import gaussian_filter\n{VOLUME.format(128)}\nresult = gaussian_filter(volume, 3)",
    "uniform": f"from scipy.ndimage import uniform_filter\n{VOLUME.format(160)}\nresult = uniform_filter(volume, size=3)",
    "iradon_hann": f"{IMAGE.format(256)}\nfor _ in range(6):\n    result = iradon(image, theta, filter_name='hann')",
    "iradon_nearest": f"{IMAGE.format(128)}\nresult = iradon(image, theta, interpolation='nearest')",
    "rotate": f"{IMAGE.format(512)}\nfrom skimage.transform import rotate\nfor k in range(20):\n    result = rotate(image, k)",
    "zoom_cubic": f"from scipy.ndimage import zoom\n{VOLUME.format(96)}\nresult = zoom(volume, 1.5)",
    "nifti_mapped": f"import nibabel as nib\n{VOLUME.format(128)}\nnib.save(nib.Nifti1Image(volume, np.eye(4)), 'scan.nii')\n"
                    "for _ in range(30):\n    result = nib.load('scan.nii').get_fdata()",
    "tiff_plain": f"import tifffile\n{VOLUME.format(128)}\ntifffile.imwrite('scan.tif', volume)\nfor _ in range(60):\n    result = tifffile.imread('scan.tif')",
    "own_median": f"{VOLUME.format(96)}\ndef median_filter(v, size):\n    return np.median([np.roll(v, k, a) for a in range(3) for k in (-1, 0, 1)], axis=0)\nresult = median_filter(volume, size=3)",
}
LAST = "\nprint(np.shape(result), type(result).__module__)\n"
ENVIRONMENT = {"MBIRJAX_NUM_CPU_DEVICES": "1", "JAX_PLATFORMS": "cpu"}


def tried(folder, text, name=None):
    """try.json, the folder of the trial, and the offers of the recording of the program as it is."""
    FILES.get(name, lambda place: None)(folder)
    (folder / "program.py").write_text("import numpy as np\n" + textwrap.dedent(text) + LAST)
    done = tomoprof("try", "--json", "--out", folder / "out", "--", sys.executable, "program.py", env=ENVIRONMENT, cwd=folder, timeout=900)
    assert done.returncode == 0, done.stderr[-500:]
    out = max((folder / "out").iterdir())
    offers = [answer["text"] for answer in json.loads((out / "before/profile.json").read_text())["answers"] if "try it: tomoprof try" in answer["text"]]
    return json.loads(done.stdout), out, offers


def offered_wrong(result, offers):
    """What is not as OFFERED promises: the offer, the replacement, the equality, the patch."""
    used = [call for call in result["calls"] if call["checked"]]
    wrong = [] if offers else ["no offer"]
    wrong += [] if used else [result["sentence"]]
    wrong += [f"{c['name']}: {c['mismatch'] or c['relative_l2']}" for c in used if c["mismatch"] or c["relative_l2"] > c["tolerance"]]
    return wrong + ([] if result["patch"] else ["no patch"])


def nothing_wrong(result, offers):
    return [f"offers: {text}" for text in offers] + ([] if result["sentence"].startswith("Nothing was replaced") else [result["sentence"]])


def patched(folder, result):
    """A copy of the program with the change, which imports this tree's package."""
    subprocess.run(["git", "apply", result["patch"]], cwd=result["root"], check=True, capture_output=True)
    (folder / "program.py").rename(folder / "edited.py")
    return folder / "edited.py"


def seconds(folder, name):
    """(CPU time, wall time) of a run without the recorder, and what it printed."""
    env = {**os.environ, **ENVIRONMENT}
    begun = time.monotonic()
    with open(folder / "printed", "w+") as out:
        process = subprocess.Popen([sys.executable, name], cwd=folder, env=env, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert status == 0, f"{name} ended with {process.returncode}"
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, time.monotonic() - begun, out.read()


def recorded_cpu(run):
    """Of the program, without the recorder."""
    cpu = json.loads((run / "profile.json").read_text())["totals"]["cpu"]
    return cpu["user"] + cpu["sys"]


def bench_offered(folder, name, pairs):
    result, out, offers = tried(folder, OFFERED[name], name)
    wrong = offered_wrong(result, offers)
    if wrong:
        return wrong, ""
    text = (folder / "program.py").read_text()
    edited = patched(folder, result)
    (folder / "program.py").write_text(text)
    runs = [(seconds(folder, "program.py"), seconds(folder, edited.name)) for _ in range(pairs)]
    promised = 1 - recorded_cpu(out / "after") / recorded_cpu(out / "before")
    promised_wall = 1 - result["runs"][1]["wall_s"] / result["runs"][0]["wall_s"]
    real, real_wall = (statistics.median(1 - b[k] / a[k] for a, b in runs) for k in (0, 1))
    if abs(promised - real) > GAIN:
        wrong.append("CPU time")
    l2 = max(c["relative_l2"] for c in result["calls"] if c["checked"])
    a, b = (statistics.median(pair[k][0] for pair in runs) for k in (0, 1))
    return wrong, f"{a:.2f} | {b:.2f} | {100 * real:.0f} | {100 * promised:.0f} | {100 * real_wall:.0f} | {100 * promised_wall:.0f} | {l2:.1e}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()
    failed = 0
    print("| script | CPU s | edited | gain % | promised % | wall gain % | promised % | relative l2 | |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in asked.names or [*OFFERED, *NOTHING]:
        with tempfile.TemporaryDirectory(prefix="tomoprof-try-") as folder:
            try:
                if name in OFFERED:
                    wrong, numbers = bench_offered(pathlib.Path(folder), name, asked.pairs)
                else:
                    result, _, offers = tried(pathlib.Path(folder), NOTHING[name])
                    wrong, numbers = nothing_wrong(result, offers), "nothing is offered | | | | | | "
            except (AssertionError, subprocess.SubprocessError) as error:
                wrong, numbers = [str(error)], ""
        failed += bool(wrong)
        print(f"| {name} | {numbers} | {'; '.join(wrong) or 'ok'} |", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
