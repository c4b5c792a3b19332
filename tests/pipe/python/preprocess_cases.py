"""Calls of mbirjax.preprocess on arrays from a seed. Run with MBIRJAX 0.7.3 installed, this file writes what it returns:

    python3 tests/pipe/python/preprocess_cases.py tests/data/preprocess/mbirjax.npz"""

import sys

import numpy as np

SHAPE = (7, 13, 21)


def inputs():
    random = np.random.default_rng(40)
    blank, dark = random.uniform(3, 4, (3, *SHAPE[1:])), random.uniform(0.02, 0.1, (2, *SHAPE[1:]))
    rows, channels = np.mgrid[:SHAPE[1], :SHAPE[2]]
    body = 2 * np.sqrt(np.clip(1 - ((rows - 6) / 4) ** 2 - ((channels - 10) / 6) ** 2, 0, None))
    obj = dark[0] + (blank[0] - dark[0]) * np.exp(-body) * random.uniform(0.99, 1.01, SHAPE)
    obj, blank, dark = (array.astype(np.float32) for array in (obj, blank, dark))
    obj[1, 3, 4], obj[2, 0, 0], obj[3, 12, 20] = np.nan, dark[:, 0, 0].mean(), np.nan
    obj[4, 4:8, 4:8] = np.nan                                              # its middle takes two passes
    sino = (body + random.normal(0, 0.01, SHAPE)).astype(np.float32)
    zingers = sino.copy()
    zingers[2, 5, 5], zingers[5, 0, 7], zingers[6, 12, 3:5] = -3, -1, -0.5
    zingers[0, :2] = np.linspace(-0.3, -0.05, 42).reshape(2, 21)             # some are above the threshold
    wide = np.zeros((5, 60, 70), np.float32)
    wide[:, 25:40, 30:45] = random.uniform(3, 4, (5, 15, 15)) * np.linspace(0.02, 1, 15)[:, None]
    volume = random.normal(0, 0.03, (30, 30, 12)).astype(np.float32)
    volume[8:22, 8:22, 3:9] += 1
    volume[12:15, 12:15, 4:7] += 2
    return obj, blank, dark, sino, zingers, wide, volume


BAD = np.array([(0, 0), (12, 20), (4, 8), (4, 9), (5, 8), (5, 9), (2, 3)])   # two by two are one block of means


def results(p):
    """What the module `p` computes, by name."""
    obj, blank, dark, sino, zingers, wide, volume = inputs()
    holes = sino.copy()
    holes[1, 2:9, 3:10] = np.inf
    linear = np.linspace(0.01, 3, 400)
    params = np.array([0.4, -0.2, 0.3, -0.1])
    hard = np.asarray(p.apply_beam_hardening_curve(linear, params), float)
    fitted = p.fit_beam_hardening_curve(linear, hard, 4)
    inverse, domain = p.fit_inverse_beam_hardening_curve(params, 0.0, float(hard.max()))
    found = {
        "transmission": p.compute_sino_transmission(obj, blank, dark, BAD, batch_size=3),
        "transmission_all_good": p.compute_sino_transmission(obj, blank[:1], dark[:1]),
        "interpolated": p.interpolate_defective_pixels(holes, BAD, 3),
        "interpolated_once": p.interpolate_defective_pixels(holes, (), 1),
        "rotated": p.correct_det_rotation(sino, 0.07),
        "rotated_back": p.correct_det_rotation(sino, -0.4, batch_size=2),
        "offset": p.correct_background_offset(sino + 0.1, 3),
        "offset_per_view": p.correct_background_offset(sino + np.arange(7, dtype=np.float32)[:, None, None], 2, "per_view"),
        "remove_sino_offset": p.remove_sino_offset(sino),
        "zingers": p.correct_zinger_pixels(zingers),
        "sino": p.scan_to_sino(obj, blank.copy(), dark.copy(), BAD, (2, 3), 0.05, batch_size=4),  # MBIRJAX writes into them
        "sino_full": p.scan_to_sino(obj, blank, dark, BAD),
        "BH_correction": p.BH_correction(sino, [1.0, 0.2, -0.01]),
        "mask": p.apply_cylindrical_mask(volume, 3, 2, 1),
        "hard": hard,
        "fitted": p.apply_beam_hardening_curve(linear, fitted),
        "linearized": p.apply_inverse_beam_hardening_curve(hard, inverse, domain, clip=True),
        "margins": p.detect_blank_margins(wide, 4),
        "scale": p.compute_scaling_factor(volume, volume + 0.5),
        "otsu": p.multi_threshold_otsu(volume, 3),
        "otsu_four": p.multi_threshold_otsu(volume, 4, 64, volume > -0.05),
    }
    for name, array in zip(("obj", "blank", "dark", "bad"), p.downsample_view_data(obj, blank.copy(), dark.copy(), (2, 2), BAD)):
        found["smaller_" + name] = array
    for name, array in zip(("obj", "blank", "dark", "bad"), p.crop_view_data(obj, blank, dark, 2, 1, 3, BAD)):
        found["cropped_" + name] = array
    plastic, metals, scale, scales = p.segment_plastic_metal(volume, 1)
    found.update(plastic=plastic, metal=metals[0], segment_scales=[scale, *scales])
    return {name: np.asarray(array) for name, array in found.items()}


if __name__ == "__main__":
    import mbirjax.preprocess
    np.savez_compressed(sys.argv[1], **results(mbirjax.preprocess))
