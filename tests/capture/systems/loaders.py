"""Loading programs of other libraries: loaders.py FOLDER NAME TIMES. Files are made, and nothing is loaded, where TIMES is 0.

Each loads by the library's own calls. The seconds by its own clock go to stdout."""

import io
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

SHAPE = (64, 384, 384)
root, name = Path(sys.argv[1]), sys.argv[2]
folder = root / name


def scan(shape=SHAPE):
    """An object with noise, so that codecs have the work of a scan."""
    z, y, x = np.ogrid[tuple(slice(-1, 1, n * 1j) for n in shape)]
    return (np.random.default_rng(0).normal(0, 8, shape) + 3000 * (x * x + y * y + z * z < 0.7)).clip(0).astype(np.uint16)


def zarr_make():
    import zarr

    array = zarr.create_array(folder / "v3", shape=SHAPE, dtype="u2", shards=(64, 192, 192), chunks=(16, 64, 64), compressors=zarr.codecs.ZstdCodec(level=3))
    array[:] = scan()


def zarr_load():
    """Slices of a sharded store by zarr's asynchronous interface, eight at a time."""
    import asyncio

    import zarr.api.asynchronous

    async def slices():
        array = await zarr.api.asynchronous.open_array(store=folder / "v3", mode="r")
        for z in range(0, 64, 8):
            await asyncio.gather(*(array.getitem(slice(z + i, z + i + 1)) for i in range(8)))

    asyncio.run(slices())


def tensorstore_load():
    """The same slices, by a pool of C++ threads."""
    import tensorstore

    array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(folder / "v3")}}).result()
    for z in range(0, 64, 8):
        for one in [array[z + i].read() for i in range(8)]:
            one.result()


def dicom_make():
    import pydicom
    from pydicom.dataset import FileDataset, FileMetaDataset

    for i, pixels in enumerate(scan((200, 256, 256))):
        meta = FileMetaDataset()
        meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = pydicom.uid.CTImageStorage, f"1.2.3.{i}"
        d = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
        d.SOPClassUID, d.SOPInstanceUID, d.InstanceNumber, d.Modality = meta.MediaStorageSOPClassUID, f"1.2.3.{i}", i, "CT"
        d.Rows, d.Columns, d.SamplesPerPixel, d.PhotometricInterpretation = 256, 256, 1, "MONOCHROME2"
        d.BitsAllocated, d.BitsStored, d.HighBit, d.PixelRepresentation = 16, 16, 15, 0
        d.RescaleSlope, d.RescaleIntercept, d.PixelData = 1, -1024, pixels.tobytes()
        d.save_as(folder / f"{i:03}.dcm", enforce_file_format=True)


def dicom_load():
    """A series: sort by number, stack, rescale."""
    import pydicom

    series = [pydicom.dcmread(p) for p in sorted(folder.glob("*.dcm"))]
    series.sort(key=lambda d: d.InstanceNumber)
    np.stack([d.pixel_array * d.RescaleSlope + d.RescaleIntercept for d in series])


def pillow_make():
    from PIL import Image

    first, *rest = (Image.fromarray(page) for page in scan())
    first.save(folder / "stack.tif", save_all=True, append_images=rest, compression="tiff_adobe_deflate")


def pillow_load():
    """Pages of a TIFF stack."""
    from PIL import Image

    with Image.open(folder / "stack.tif") as stack:
        for page in range(stack.n_frames):
            stack.seek(page)
            np.asarray(stack)


def imageio_make():
    import imageio.v3

    for i, page in enumerate(scan()):
        imageio.v3.imwrite(folder / f"{i:03}.png", page)


def imageio_load():
    """A folder of PNG files."""
    import imageio.v3

    np.stack([imageio.v3.imread(p) for p in sorted(folder.glob("*.png"))])


def virtual_make():
    import h5py

    data = scan()
    layout = h5py.VirtualLayout(SHAPE, "u2")
    for i in range(8):
        with h5py.File(folder / f"part{i}.h5", "w") as f:
            f.create_dataset("data", data=data[8 * i:8 * i + 8], chunks=(1, 384, 384), compression="gzip", shuffle=True)
        layout[8 * i:8 * i + 8] = h5py.VirtualSource(f"part{i}.h5", "data", (8, *SHAPE[1:]))
    with h5py.File(folder / "all.h5", "w") as f:
        f.create_virtual_dataset("data", layout)


def virtual_load():
    """Slices of a virtual dataset by four threads: libhdf5 has one lock."""
    import h5py

    with h5py.File(folder / "all.h5") as f, ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            list(pool.map(f["data"].__getitem__, range(SHAPE[0])))


def zipped_make():
    import zipfile

    from PIL import Image

    with zipfile.ZipFile(folder / "pages.zip", "w") as z:
        for i, page in enumerate(scan()):
            png = io.BytesIO()
            Image.fromarray(page).save(png, "PNG")
            z.writestr(f"{i}.png", png.getvalue())


def zipped_load():
    """PNG files within a zip file."""
    import zipfile

    from PIL import Image

    with zipfile.ZipFile(folder / "pages.zip") as z:
        for member in z.namelist():
            np.asarray(Image.open(io.BytesIO(z.read(member))))


def mapped_make():
    np.save(folder / "rows.npy", np.random.default_rng(0).random((12000, 2048), np.float32))


def mapped_load():
    """Rows in random order from a mapped file that is not in the page cache."""
    with open(folder / "rows.npy", "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    rows = np.load(folder / "rows.npy", mmap_mode="r")
    total = 0.0
    for i in np.random.default_rng(1).permutation(len(rows))[:6000]:
        total += float(rows[i].sum())
    return total


def torch_make():
    for i, page in enumerate(scan((160, 512, 512))):
        np.save(folder / f"{i:03}.npy", page)


def torch_load():
    """Two workers of a DataLoader that read and normalise .npy files."""
    import torch

    class Pages(torch.utils.data.Dataset):
        def __len__(self):
            return 160

        def __getitem__(self, i):
            page = np.load(folder / f"{i:03}.npy").astype(np.float32)
            return torch.from_numpy((page - page.mean()) / page.std())

    for batch in torch.utils.data.DataLoader(Pages(), batch_size=4, num_workers=2):
        batch.sum()


if name == "tensorstore":
    folder = root / "zarr"
make, load = (zarr_make, tensorstore_load) if name == "tensorstore" else (globals()[f"{name}_make"], globals()[f"{name}_load"])
if sys.argv[3] == "0":
    folder.mkdir(parents=True)
    make()
    sys.exit()
start = time.perf_counter()
for _ in range(int(sys.argv[3])):
    load()
print(time.perf_counter() - start)
