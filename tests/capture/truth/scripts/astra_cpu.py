"""ASTRA on the CPU: forward projection, filtered back projection and SIRT of a disc."""

import numpy as np

from truth import phase

with phase("import"):
    import astra  # inclusive: import

n = 192
disc = (np.add.outer((np.arange(n) - n / 2) ** 2, (np.arange(n) - n / 2) ** 2) < (n / 3) ** 2).astype(np.float32)
volume = astra.create_vol_geom(n, n)
angles = astra.create_proj_geom("parallel", 1.0, n * 3 // 2, np.linspace(0, np.pi, 180, False))
projector = astra.create_projector("linear", angles, volume)


def reconstruct(kind, rounds, sino):
    config = astra.astra_dict(kind)
    config["ProjectorId"] = projector
    config["ProjectionDataId"] = sino
    config["ReconstructionDataId"] = result = astra.data2d.create("-vol", volume)
    algorithm = astra.algorithm.create(config)
    astra.algorithm.run(algorithm, rounds)
    image = astra.data2d.get(result)
    astra.algorithm.delete(algorithm)
    return image


with phase("project"):
    for i in range(8):
        sino, data = astra.create_sino(disc, projector)  # inclusive: project
with phase("fbp"):
    for i in range(10):
        first = reconstruct("FBP", 1, sino)  # inclusive: fbp
with phase("sirt"):
    second = reconstruct("SIRT", 15, sino)  # inclusive: sirt
print(data.sum() > 0, f"{first.mean():.5f} {second.mean():.5f}")
