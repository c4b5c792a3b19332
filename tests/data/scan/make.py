"""Writes the scans of this folder: one phantom in Data Exchange and NXtomo (h5py) and Zeiss TXRM, parallel beam, and a cone beam.
Usage: make.py   (pip install numpy h5py)"""
import pathlib
import struct
import sys

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "pipe"), str(HERE.parent / "store")]
from scans import DARK, angles, cone_counts, counts, darks, flats  # noqa: E402
from writers import cfb  # noqa: E402


def data_exchange():
    with h5py.File(HERE / "exchange.h5", "w") as f:
        f.create_dataset("exchange/data", data=counts(), chunks=(10, 2, 40), compression="gzip", shuffle=True)
        f["exchange/data_white"], f["exchange/data_dark"] = flats(), darks()
        f["exchange/theta"] = angles()
        f["exchange/theta"].attrs["units"] = "deg"


def nxtomo(name="nxtomo.nx", after=1.0):
    """Flats before and after the views, an invalid frame between; names as at no beamline: the classes tell. The flats after the
    views times `after`."""
    views, white, dark = counts(), flats(), darks()
    white[2:] = np.round(white[2:] * after)
    frames = np.concatenate([dark, white[:2], views[:17], views[:1] * 0, views[17:], white[2:]])
    key = [2] * len(dark) + [1] * 2 + [0] * 17 + [3] + [0] * (len(views) - 17) + [1] * (len(white) - 2)
    theta = np.zeros(len(frames))
    theta[np.array(key) == 0] = angles()
    with h5py.File(HERE / name, "w") as f:
        for name, kind in (("scan1", "NXentry"), ("scan1/device", "NXinstrument"), ("scan1/device/camera", "NXdetector"), ("scan1/tooth", "NXsample")):
            f.create_group(name).attrs["NX_class"] = kind
        f["scan1/definition"] = "NXtomo"
        f.create_dataset("scan1/device/camera/data", data=frames, chunks=(1, 5, 40), compression="gzip")
        f["scan1/device/camera/image_key"] = np.array(key, np.int32)
        f["scan1/device/camera/x_pixel_size"] = 1.5e-6
        f["scan1/device/camera/x_pixel_size"].attrs["units"] = "m"
        f["scan1/tooth/rotation_angle"] = np.deg2rad(theta)
        f["scan1/tooth/rotation_angle"].attrs["units"] = "rad"


def txrm(name, views, theta, white, extra):
    n, rows, columns = views.shape
    whole = lambda v: struct.pack("<I", v)
    real = lambda v: struct.pack("<f", v)
    streams = {"ImageInfo/ImageWidth": whole(columns), "ImageInfo/ImageHeight": whole(rows), "ImageInfo/NoOfImages": whole(n),
               "ImageInfo/DataType": whole(5), "ImageInfo/Angles": theta.astype("<f4").tobytes(), "ImageInfo/PixelSize": real(1.5),
               "MultiReferenceData/DataType": whole(5)}
    streams.update({k: real(v) for k, v in extra.items()})
    streams.update({f"MultiReferenceData/Image{i + 1}": w.tobytes() for i, w in enumerate(white)})
    streams.update({f"ImageData{i // 100 + 1}/Image{i + 1}": v.tobytes() for i, v in enumerate(views)})
    (HERE / name).write_bytes(cfb(streams))


def main():
    data_exchange()
    nxtomo()
    nxtomo("drift.nx", 1.2)
    # no dark frames in this format: they are subtracted; its angles turn the other way
    txrm("parallel.txrm", counts() - DARK, -angles(), flats() - DARK, {"ConfigZonePlates/Focus": 1})
    views, white = cone_counts()
    txrm("cone.txrm", views, -np.arange(len(views)) * 360 / len(views), white,
         {"ImageInfo/StoRADistance": -0.15, "ImageInfo/DtoRADistance": 0.3, "ReconSettings/CenterShift": 1.5})


if __name__ == "__main__":
    main()
