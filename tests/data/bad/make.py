"""Writes the broken Data Exchange files beside it (needs h5py; the tests need only the files). Each differs from `good.h5`,
6 views of 4 x 18 counts, by one mistake that its name tells."""

import pathlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent
VIEWS, ROWS, CHANNELS = 6, 4, 18


def write(name, change=lambda f: None):
    with h5py.File(HERE / f"{name}.h5", "w", libver="earliest", track_order=False) as f:
        x = np.linspace(-1, 1, CHANNELS)
        counts = 1000 * np.exp(-np.sqrt(np.clip(1 - x**2, 0, None)))
        exchange = f.create_group("exchange")
        exchange["data"] = np.broadcast_to(counts, (VIEWS, ROWS, CHANNELS)).astype(np.uint16)
        exchange["data_white"] = np.full((1, ROWS, CHANNELS), 1000, np.uint16)
        exchange["data_dark"] = np.zeros((1, ROWS, CHANNELS), np.uint16)
        exchange["theta"] = np.arange(VIEWS) * 180.0 / VIEWS
        exchange["theta"].attrs["units"] = np.bytes_("deg")
        change(f)


def replace(name, value):
    def change(f):
        del f["exchange"][name]
        if value is not None:
            f["exchange"][name] = value

    return change


def attribute(name, key, value):
    return lambda f: f["exchange"][name].attrs.__setitem__(key, np.bytes_(value))


theta = np.arange(VIEWS) * 180.0 / VIEWS
write("good")
write("no_data", replace("data", None))
write("no_white", replace("data_white", None))
write("theta_short", replace("theta", theta[:-1]))
write("theta_nan", replace("theta", np.where(theta == 30, np.nan, theta)))
write("theta_units", attribute("theta", "units", "gon"))
write("white_zero", replace("data_white", np.zeros((1, ROWS, CHANNELS), np.uint16)))
write("white_shape", replace("data_white", np.full((1, ROWS, CHANNELS - 1), 1000, np.uint16)))
write("data_2d", replace("data", np.ones((ROWS, CHANNELS), np.uint16)))
write("data_text", replace("data", np.full((VIEWS, ROWS, CHANNELS), b"1")))
write("data_empty", replace("data", np.ones((0, ROWS, CHANNELS), np.uint16)))
write("data_dark_view", replace("data", np.zeros((VIEWS, ROWS, CHANNELS), np.uint16)))
write("data_axes", attribute("data", "axes", "x:y:theta"))
(HERE / "cut.h5").write_bytes((HERE / "good.h5").read_bytes()[:1500])
