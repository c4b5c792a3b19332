"""Writes the scans beside it whose parts are links (needs h5py; the tests need only the files): 12 views of 2 x 16 counts, of which
`side.h5` holds angles, flats and darks. `text.h5` and `heap.h5` refer to texts of variable length that are not there."""

import pathlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent
VIEWS, ROWS, CHANNELS = 12, 2, 16


def counts(f):
    x = np.linspace(-1, 1, CHANNELS)
    f["exchange/data"] = np.broadcast_to(1000 * np.exp(-np.sqrt(np.clip(1 - x**2, 0, None))), (VIEWS, ROWS, CHANNELS)).astype("u2")


def damaged(name, path):
    """The reference to the text of its units names an object that its heap lacks."""
    data = bytearray((HERE / name).read_bytes())
    at = data.index((4).to_bytes(4, "little") + data.index(b"GCOL").to_bytes(8, "little") + (1).to_bytes(4, "little"))
    data[at + 14] = 2
    (HERE / name).write_bytes(data)
    assert path in h5py.File(HERE / name)


with h5py.File(HERE / "side.h5", "w", libver="earliest") as f:
    f["theta"] = np.arange(VIEWS) * 180.0 / VIEWS
    f["theta"].attrs["units"] = "deg"
    f["white"] = np.full((1, ROWS, CHANNELS), 1000, "u2")
    f["dark"] = np.zeros((1, ROWS, CHANNELS), "u2")
for name, side in (("links", "side.h5"), ("away", "../side.h5")):
    with h5py.File(HERE / f"{name}.h5", "w", libver=("earliest", "v110")) as f:
        counts(f)
        f["exchange/theta"] = h5py.ExternalLink(side, "/theta")
        f["exchange/data_dark"] = h5py.ExternalLink(side, "/dark")
        layout = h5py.VirtualLayout((1, ROWS, CHANNELS), "u2")
        layout[:] = h5py.VirtualSource(side, "white", (1, ROWS, CHANNELS), "u2")
        f.create_virtual_dataset("exchange/data_white", layout)
        f["hard"] = f["exchange/data"]
        f["soft"] = h5py.SoftLink("/exchange/data")
with h5py.File(HERE / "text.h5", "w", libver="earliest") as f:
    counts(f)
    f["exchange/data_white"] = np.full((1, ROWS, CHANNELS), 1000, "u2")
    f["exchange/data_dark"] = np.zeros((1, ROWS, CHANNELS), "u2")
    f["exchange/theta"] = np.arange(VIEWS) * 180.0 / VIEWS
    f["exchange/theta"].attrs["units"] = "degs"
with h5py.File(HERE / "heap.h5", "w", libver="earliest") as f:
    f["d"] = np.arange(12, dtype="u2")
    f["d"].attrs["units"] = "degs"
damaged("text.h5", "exchange/theta")
damaged("heap.h5", "d")
