"""The sections of a notebook that profiled RadiObject: sections.py FOLDER SECTION [STORE] [ENDPOINT]; the seconds of the section, by its own clock, go to stdout."""

import os
import shutil
import sys
import time
from importlib import import_module
from pathlib import Path

import nibabel
import numpy as np
import radiobject
from radiobject import RadiObject

folder, section, store = Path(sys.argv[1]), sys.argv[2], (sys.argv[3:] or ["axial"])[0]
settings = import_module("radiobject.ctx")
if len(sys.argv) > 4:
    os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="us-east-1")
    radiobject.configure(s3=settings.S3Config(endpoint=sys.argv[4], use_virtual_addressing=False))
times = 5 if len(sys.argv) > 4 else 100  # requests of an object store take long enough


def make():
    """Five scans, and a store of each tiling."""
    (folder / "nii").mkdir(parents=True)
    draw = np.random.default_rng(42)
    for i in range(5):
        nibabel.save(nibabel.Nifti1Image(draw.normal(0, 50, (160, 160, 100)).astype(np.int16), np.eye(4)), folder / f"nii/s{i}.nii.gz")
    for name in ("AXIAL", "ISOTROPIC"):
        radiobject.configure(write=settings.WriteConfig(tile=settings.TileConfig(orientation=settings.SliceOrientation[name])))
        RadiObject.from_niftis(uri=str(folder / name.lower()), images={"image": str(folder / "nii")})


def upload():
    import boto3

    boto3.client("s3", endpoint_url=sys.argv[4]).create_bucket(Bucket="bucket")
    RadiObject.from_niftis(uri="s3://bucket/axial", images={"image": str(folder / "nii")})


def ingest():
    uri = folder / f"new-{os.getpid()}"
    RadiObject.from_niftis(uri=str(uri), images={"image": str(folder / "nii")})
    return uri


def full_read(volume):
    for _ in range(5 if len(sys.argv) > 4 else 10):
        volume.to_numpy()


def axial_slice(volume):
    for _ in range(times):
        volume.axial(volume.shape[2] // 2)


def roi(volume):
    for _ in range(times):
        volume.slice(x=slice(0, 64), y=slice(0, 64), z=slice(0, 64))


if section in ("make", "upload"):
    {"make": make, "upload": upload}[section]()
elif section == "ingest":
    start = time.perf_counter()
    made = ingest()
    print(time.perf_counter() - start)
    shutil.rmtree(made)
else:
    stored = RadiObject("s3://bucket/axial" if len(sys.argv) > 4 else str(folder / store))
    volume = stored.collection(list(stored.collection_names)[0]).iloc[0]
    start = time.perf_counter()
    {"full_read": full_read, "axial_slice": axial_slice, "roi": roi}[section](volume)
    print(time.perf_counter() - start)
