"""The scan of tests/data/scan as arrays: a disc of attenuation MU per pixel, its axis at channel CENTER, on a detector whose pixels
differ. Line integrals of a disc are chords, so the truth is known."""
import struct

import numpy as np

VIEWS, ROWS, CHANNELS, CENTER, RADIUS, MU, DARK = 48, 5, 40, 18.25, 11.0, 0.03, 100
DISC_X, DISC_Y = 3.0, -2.0
CONE = {"views": 40, "rows": 12, "channels": 24, "radius": 5.0, "source_iso": 100.0, "source_detector": 300.0, "center": 10.0}


def angles():
    return np.arange(VIEWS) * 180.0 / VIEWS


def flat(rows=ROWS, channels=CHANNELS):
    return 20000 + 300 * (np.arange(rows)[:, None] % 3) + 50 * (np.arange(channels)[None] % 7)


def line_integrals():
    """(views, rows, channels); the sign of the angle is that of MBIRJAX: u = x cos - y sin in its frame."""
    theta = np.deg2rad(angles())
    at = DISC_X * np.cos(theta) - DISC_Y * np.sin(theta)
    u = np.arange(CHANNELS)[None] - CENTER - at[:, None]
    chord = 2 * np.sqrt(np.maximum(RADIUS**2 - u * u, 0))
    return np.repeat((MU * chord)[:, None], ROWS, 1)


def counts():
    return np.round(DARK + flat() * np.exp(-line_integrals())).astype(np.uint16)


def flats():
    """Four frames whose mean is flat() + DARK."""
    return np.stack([flat() + DARK + d for d in (-6, 6, -10, 10)]).astype(np.uint16)


def darks():
    return np.stack([np.full((ROWS, CHANNELS), DARK + d) for d in (-4, 4)]).astype(np.uint16)


def cone_counts():
    """A ball at the rotation axis seen by a cone beam, lengths in voxels, and its flat fields: chords of the rays through it."""
    c = CONE
    magnification = c["source_detector"] / c["source_iso"]
    u = (np.arange(c["channels"]) - c["center"])[None] * magnification
    v = (np.arange(c["rows"]) - (c["rows"] - 1) / 2)[:, None] * magnification
    far2 = (u * u + v * v) * c["source_iso"]**2 / (u * u + v * v + c["source_detector"]**2)  # of the ray from the centre, squared
    view = flat(c["rows"], c["channels"]) * np.exp(-2 * MU * np.sqrt(np.maximum(c["radius"]**2 - far2, 0)))
    return np.repeat(np.round(view).astype(np.uint16)[None], c["views"], 0), flat(c["rows"], c["channels"]).astype(np.uint16)[None]


def tiff(path, image, big=False):
    """One uncompressed strip of uint16."""
    rows, columns = image.shape
    order = ">" if big else "<"
    tags = [(256, columns), (257, rows), (258, 16), (259, 1), (262, 1), (273, 8 + 2 + 12 * 9 + 4), (277, 1), (278, rows),
            (279, 2 * image.size)]
    entries = b"".join(struct.pack(order + "HHII", t, 4, 1, v) for t, v in tags)
    data = image.astype(order + "u2").tobytes()
    path.write_bytes((b"MM\0*" if big else b"II*\0") + struct.pack(order + "IH", 8, len(tags)) + entries + b"\0" * 4 + data)


def stacks(folder):
    """Files of views, flats and darks in one folder, as an acquisition leaves them."""
    all_of = folder / "stack"
    all_of.mkdir()
    for name, images in (("proj", counts()), ("flat", flats()), ("dark", darks())):
        for i, image in enumerate(images):
            tiff(all_of / f"{name}_{i:04}.tif", image, big=name == "dark")
    return all_of


def arrays(folder):
    for name, images in (("counts", counts()), ("flats", flats()), ("darks", darks())):
        np.save(folder / f"{name}.npy", images)
    np.savetxt(folder / "angles.txt", angles())
    return ["--in", folder / "counts.npy", "--flats", folder / "flats.npy", "--darks", folder / "darks.npy", "--angles", folder / "angles.txt"]
