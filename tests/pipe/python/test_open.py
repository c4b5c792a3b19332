"""tomoprof.open beside the libraries that the files belong to, and the loads that `tomoprof try` replaces by it."""

import gzip
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading

import module

module.need("numpy")
import numpy as np
from tool import main

import tomoprof
from tomoprof.instead import NotEqual

RANDOM = np.random.default_rng(3)
KEYS = (np.s_[...], np.s_[3], np.s_[-1, 2:9, ::2], np.s_[::-1, ..., 4], np.s_[2:2], np.s_[:, 5:1:-2], np.s_[1, 2, 3], np.s_[..., -3:], np.s_[:, :, 1])
DATA = (RANDOM.random((12, 10, 14)) * 5000).astype("uint16")


def equal(check, name, file, data):
    check.that(file.shape == data.shape and file.dtype == data.dtype and len(file) == len(data) and file.ndim == data.ndim and file.nbytes == data.nbytes,
               f"{name}: {file!r}")
    for key in KEYS:
        check.that(np.array_equal(file[key], data[key]) and np.shape(file[key]) == np.shape(data[key]), f"{name} {key}")
    check.that(np.array_equal(np.asarray(file), data) and np.asarray(file, "complex128").dtype == "complex128", f"{name}: as an array")


def has(name):
    try:
        __import__(name)
    except ImportError:
        print(f"  skipped: no {name}", flush=True)
        return False
    return True


def dicom(check, folder):
    """GDCM is in a module of its own beside the library."""
    store = pathlib.Path(__file__).resolve().parents[2] / "data/store/dicom"
    try:
        file = tomoprof.open(store / "series")
    except NotImplementedError as e:
        check.that("install libgdcm-dev" in str(e), str(e))
        print("  skipped: no GDCM", flush=True)
        return
    i = np.arange(5 * 37 * 41)
    data = ((i * i + 3 * i) % 1021).reshape(5, 37, 41).astype("i2")
    equal(check, "DICOM", file, data)
    check.that((file.slope, file.intercept, file.format) == (1, -1024, "DICOM"), f"{file!r}")


def ends(check, folder):
    """A file in `with` is closed after it, and says so."""
    np.save(folder / "a.npy", DATA)
    with tomoprof.open(folder / "a.npy") as file:
        check.that(np.array_equal(file[3], DATA[3]), "a file in `with`")
    for _ in range(2):
        said = module.raised(ValueError, file.__getitem__, 3)
        check.that("a.npy is closed" in (said or ""), f"a closed file: {said}")
        file.close()
    check.that(file.shape == DATA.shape and np.array_equal(pickle.loads(pickle.dumps(file))[3], DATA[3]), "facts and copies of a closed file")
    folders = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        tomoprof.open(folder / "a.npy").close()
    check.that(len(os.listdir("/proc/self/fd")) <= folders, "closed files keep descriptors")


def formats(check, folder):
    for dtype in ("uint16", ">i2", "float32", "float64", "uint8", "?", "complex64", "int64"):
        data = DATA.astype(dtype)
        np.save(folder / "a.npy", data)
        equal(check, f"npy {dtype}", tomoprof.open(folder / "a.npy"), data.astype(np.dtype(dtype).newbyteorder("=")))
    if has("nibabel"):
        import nibabel
        for name in ("a.nii", "a.nii.gz"):
            nibabel.save(nibabel.Nifti1Image(DATA.astype("int16"), np.eye(4)), folder / name)
            file = tomoprof.open(folder / name)
            equal(check, name, file, DATA.astype("int16"))
            check.that(file[...].flags.f_contiguous, "voxels lie as in the file")
    if has("tifffile"):
        import tifffile
        tifffile.imwrite(folder / "a.tif", DATA, compression="zlib", rowsperstrip=4)
        equal(check, "a.tif", tomoprof.open(folder / "a.tif"), DATA)
    if has("h5py"):
        import h5py
        with h5py.File(folder / "a.h5", "w") as file:
            file.create_dataset("x/data", data=DATA, chunks=(5, 4, 6), compression="gzip")
            file["small"] = np.arange(3)
        file = tomoprof.open(folder / "a.h5")
        equal(check, "a.h5", file, DATA)
        check.that(file.chunks == (5, 4, 6) and "small" in str(file.names), f"{file.chunks} {file.names}")
        check.that(tomoprof.open(folder / "a.h5", "small")[...].tolist() == [0, 1, 2], "by its name")
        read = []
        thread = threading.Thread(target=lambda: read.append(tomoprof.open(folder / "a.h5")))
        thread.start()
        thread.join()
        equal(check, "opened in a thread that ended", read[0], DATA)
    if has("zarr"):
        import zarr
        zarr.save_array(str(folder / "a.zarr"), DATA)
        equal(check, "a.zarr", tomoprof.open(folder / "a.zarr"), DATA)
    if has("dask"):
        import dask.array
        file = tomoprof.open(folder / "a.npy")
        check.that(dask.array.from_array(file, chunks=(4, 5, 7)).sum().compute() == np.asarray(file).sum(), "dask reads it")


def behaviour(check, folder):
    np.save(folder / "b.npy", DATA)
    file = tomoprof.open(folder / "b.npy")
    equal(check, "pickled", pickle.loads(pickle.dumps(file)), DATA)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if np.array_equal(file[2:5], DATA[2:5]) else 1)
    check.that(os.waitpid(pid, 0)[1] == 0, "a child reads it")
    results = []
    threads = [threading.Thread(target=lambda: results.append(np.array_equal(file[...], DATA))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check.that(results == [True] * 8, "eight threads read it")
    for key, says in ((12, "12 is outside of 0 to 11"), ((0, 0, 0, 0), "4 indices for 3 axes"), ((..., ...), "one ..."), ([1, 2], "not list"), (1.5, "not float")):
        check.that(says in str(module.raised(IndexError, file.__getitem__, key)), f"{key}: {module.raised(IndexError, file.__getitem__, key)}")
    check.that("no.npy" in str(module.raised(FileNotFoundError, tomoprof.open, folder / "no.npy")), "a missing file")
    (folder / "c.npy").write_bytes(b"nothing of the kind" * 9)
    check.that("c.npy" in str(module.raised(ValueError, tomoprof.open, folder / "c.npy")), "a file of no known kind")
    check.that("zzz" in str(module.raised(ValueError, tomoprof.open, folder / "b.npy", "zzz")), "an array that is not there")
    (folder / "d.npy").write_bytes((folder / "b.npy").read_bytes()[:-50])
    check.that(module.raised(ValueError, lambda: tomoprof.open(folder / "d.npy")[...]), "a file that is cut")


def module_of_files(check, folder):
    """What reads files is loaded with the first one, from beside the library; its absence is one sentence."""
    np.save(folder / "m.npy", DATA)
    script = ("import numpy, sys, tomoprof\n"
              "model = tomoprof.ParallelBeamModel((4, 2, 8), numpy.linspace(0, 3, 4))\n"
              "model.back_project(model.forward_project(numpy.ones((8, 8, 2), 'float32')))\n"
              "def loaded(): return 'libtomoprof_files' in open('/proc/self/maps').read()\n"
              "before = loaded()\n"
              "try: file = tomoprof.open(sys.argv[1])\n"
              "except NotImplementedError as error: print(error)\n"
              "else: print(before, loaded(), file[2, 3, 4])\n")

    def said(library):
        done = subprocess.run([sys.executable, "-c", script, folder / "m.npy"], text=True, capture_output=True, timeout=300,
                              env={**os.environ, "TOMOPROF_LIBRARY": str(library)})
        check.that(done.returncode == 0 and not done.stderr, f"{library}: {done.returncode} {done.stderr}")
        return done.stdout.strip()

    check.that(said(module.LIBRARY) == f"False True {DATA[2, 3, 4]}", f"loaded with the first file: {said(module.LIBRARY)}")
    alone = pathlib.Path(shutil.copy(module.LIBRARY, folder))
    check.that("libtomoprof_files.so is missing beside libtomoprof" in said(alone), f"without the module: {said(alone)}")
    other = str(shutil.copy(module.LIBRARY, folder / "libtomoprof_files.so"))
    check.that(f"{other} is of another version of tomoprof" in said(alone), f"with another library: {said(alone)}")
    pathlib.Path(other).write_bytes(b"nothing")
    check.that("cannot be opened" in said(alone) and other in said(alone), f"with a damaged one: {said(alone)}")


def loads(check, folder):
    if has("nibabel"):
        import nibabel

        import tomoprof.instead.nibabel as instead
        image = nibabel.Nifti1Image(DATA.astype("int16"), np.diag([2, 2, 3, 1]))
        image.header.set_slope_inter(0.5, -3)
        for name in ("n.nii.gz", "n.nii"):
            image.to_filename(folder / name)
        ours, theirs = (f(folder / "n.nii.gz") for f in (instead.load.ours, nibabel.load))
        check.that(np.array_equal(ours.get_fdata(), theirs.get_fdata()) and np.array_equal(ours.affine, theirs.affine) and type(ours) is type(theirs), "voxels, scaled")
        for key in KEYS[1:]:
            check.that(np.array_equal(ours.dataobj[key], theirs.dataobj[key]), f"dataobj[{key}]")
        check.that(np.array_equal(ours.dataobj.get_unscaled(), theirs.dataobj.get_unscaled()), "as stored")
        check.that("not a .nii.gz" in module.raised(NotEqual, instead.load.ours, folder / "n.nii") and instead.load(folder / "n.nii").shape == DATA.shape, "mapped files")
        check.that(instead.Nifti1Image is nibabel.Nifti1Image, "other names")
        with gzip.open(folder / "bad.nii.gz", "wb") as file:
            file.write(b"0" * 400)
        check.that(module.raised(nibabel.filebasedimages.ImageFileError, instead.load, folder / "bad.nii.gz"), "the exception is nibabel's")
    if has("tifffile"):
        import tifffile

        from tomoprof.instead.tifffile import TiffWriter, imread
        for name, options in (("z.tif", {"compression": "zlib"}), ("p.tif", {"compression": "zlib", "predictor": True, "tile": (16, 16)}), ("i.tif", {"compression": "zlib", "imagej": True})):
            tifffile.imwrite(folder / name, DATA, **options)
            try:
                check.that(np.array_equal(imread.ours(folder / name), DATA) and imread.ours(folder / name).dtype == DATA.dtype, name)
            except NotEqual as error:
                print(f"  {name}: {error}", flush=True)
            check.that(np.array_equal(imread(folder / name), DATA), f"{name}: in any case")
        tifffile.imwrite(folder / "u.tif", DATA)
        for given, options, says in ((folder / "u.tif", {}, "is not compressed"), (folder / "z.tif", {"key": 0}, "key is given"), ([folder / "z.tif"], {}, "files is list"),
                                     (folder / "*.tif", {}, "not a file")):
            check.that(says in str(module.raised(NotEqual, imread.ours, given, **options)), f"{given} {options}")
        check.that(TiffWriter is tifffile.TiffWriter, "other names")
    if has("zarr"):
        import zarr

        import tomoprof.instead.zarr as stores
        made = zarr.create_array(folder / "z.zarr", data=DATA, chunks=(5, 4, 6))
        made.attrs["unit"] = "mm"
        zarr.create_group(folder / "group.zarr")
        ours = stores.open.ours(str(folder / "z.zarr"), mode="r")
        check.that(isinstance(ours, zarr.Array) and ours.attrs["unit"] == "mm" and ours.chunks == (5, 4, 6) and np.array_equal(np.asarray(ours), DATA), "the array")
        for key in KEYS:
            check.that(np.array_equal(ours[key], DATA[key]), f"zarr {key}")
        check.that(np.array_equal(ours[[0, 3], :, :], DATA[[0, 3]]) and np.array_equal(ours.oindex[[1, 2]], DATA[[1, 2]]), "other selections are zarr's")
        for given, options, says in ((folder / "z.zarr", {}, "mode is None"), (folder / "z.zarr", {"mode": "r+"}, "'r+'"), (folder / "group.zarr", {"mode": "r"}, "is a Group"),
                                     (folder / "z.zarr", {"mode": "r", "path": "x"}, "path is given"), ({}, {"mode": "r"}, "store is dict")):
            check.that(says in str(module.raised(NotEqual, stores.open.ours, given, **options)), f"{given} {options}: {module.raised(NotEqual, stores.open.ours, given, **options)}")
        check.that(stores.create_array is zarr.create_array, "other names")


main(ends, formats, dicom, behaviour, module_of_files, loads)
