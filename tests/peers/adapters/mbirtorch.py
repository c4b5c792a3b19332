import mbirtorch
import numpy as np
import torch

from adapters.common import threads
from adapters.mbir_models import operations

PACKAGES = ["mbirtorch", "torch", "numpy"]
torch.set_num_threads(threads())


def at_once(result):
    """On a CPU torch returns when the work is done."""
    return result


def seeded():
    np.random.seed(0)
    return {}


OPERATIONS = operations(mbirtorch, torch.from_numpy, at_once, ("recon_fbp", "recon_fdk"), seeded)
