"""MBIRJAX: compiling takes most of a small reconstruction."""

import numpy as np

from truth import phase

with phase("import"):
    import mbirjax  # truth: import
model = mbirjax.ParallelBeamModel((32, 8, 48), np.linspace(0, np.pi, 32, endpoint=False))
phantom = np.zeros(model.get_params("recon_shape"), np.float32)
phantom[12:30, 14:28] = 1
with phase("project"):
    sinogram = model.forward_project(phantom)  # truth: project
with phase("recon"):
    recon, _ = model.recon(sinogram, max_iterations=3)  # truth: recon
print(np.asarray(recon).sum())
