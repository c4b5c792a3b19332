import mbirtorch
import numpy as np
import torch

from adapters.common import threads
from adapters.mbir_models import operations

PACKAGES = ["mbirtorch", "torch", "numpy"]
torch.set_num_threads(threads())


GPU = torch.cuda.is_available()


def to_native(array):
    tensor = torch.from_numpy(array)
    return tensor.cuda() if GPU else tensor


def wait(result):
    """On a CPU torch returns when the work is done."""
    if GPU:
        torch.cuda.synchronize()
    return result


def fetch(result):
    return result.cpu().numpy() if GPU else np.asarray(result)


def seeded():
    np.random.seed(0)
    return {}


OPERATIONS = operations(mbirtorch, to_native, wait, ("recon_fbp", "recon_fdk"), seeded, fetch)
