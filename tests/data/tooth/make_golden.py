"""Makes fbp_every_4th.npy: MBIRJAX's filtered back projection of ../tooth.h5.

Needs mbirjax (0.7.3 was used, on a CPU) and h5py; run it in this folder. The scan is corrected by MBIRJAX's own
compute_sino_transmission, the rotation axis lies at channel 295.5. Every 4th row and column of both slices is
kept: (160, 160, 2), float32."""

import h5py
import mbirjax
import numpy as np
from mbirjax.preprocess.utilities import compute_sino_transmission

with h5py.File("../tooth.h5") as f:
    counts, white, dark = (f["exchange/" + name][:] for name in ("data", "data_white", "data_dark"))
    angles = np.deg2rad(f["exchange/theta"][:]).astype(np.float32)

sinogram = np.asarray(compute_sino_transmission(counts, white, dark))
model = mbirjax.ParallelBeamModel(sinogram.shape, angles)
model.set_params(no_warning=True, det_channel_offset=295.5 - (sinogram.shape[2] - 1) / 2)
volume = np.asarray(model.fbp_recon(sinogram))
np.save("fbp_every_4th.npy", np.ascontiguousarray(volume[::4, ::4, :], dtype=np.float32))
