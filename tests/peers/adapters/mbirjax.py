import jax
import mbirjax
import numpy as np

from adapters.mbir_models import operations

PACKAGES = ["mbirjax", "jax", "numpy"]


def seeded():
    np.random.seed(0)  # the stream that tomoprof's seed 0 repeats
    return {}


OPERATIONS = operations(mbirjax, jax.device_put, jax.block_until_ready, ("fbp_recon", "fdk_recon"), seeded)
