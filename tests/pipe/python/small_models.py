"""Small models and arrays for the tests beside this file."""

import module  # noqa: F401
import numpy as np

import tomoprof


def quiet(model):
    model.set_params(verbose=0)
    return model


def parallel(views=12, rows=5, channels=16):
    return quiet(tomoprof.ParallelBeamModel((views, rows, channels), np.linspace(0, np.pi, views, endpoint=False)))


def cone(views=12, rows=5, channels=16):
    return quiet(tomoprof.ConeBeamModel((views, rows, channels), np.linspace(0, 2 * np.pi, views, endpoint=False), 4 * channels, 2 * channels))


def noise(shape, seed=1):
    return np.random.default_rng(seed).random(shape, np.float32)
