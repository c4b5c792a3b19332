"""Whether operators and gradients of tomography packages fit together, on request: a table for docs/internals/peers.md.

    TOMOPROF=build/tomoprof python3 tests/peers/gradients.py

adjoint: |<A x, y> - <x, A' y>| / (|A x| |y|), float64 sums of float32 results. gradient: the derivative of |A x - b|^2 along a random
direction against a central difference of the same operator, relative. Each package computes its own A of 64 x 64 pixels, 90 views and 64
detector pixels; one that is not installed is named with its error."""

import os
import pathlib
import sys

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "python")]
os.environ.setdefault("TOMOPROF_LIBRARY", str(pathlib.Path(os.environ["TOMOPROF"]).resolve().parent / "libtomoprof.so.0"))
N, VIEWS = 64, 90
ANGLES = np.linspace(0, np.pi, VIEWS, endpoint=False)


def of_tomoprof():
    """(A, A', version); A takes (N, N), A' gives that."""
    import tomoprof
    model = tomoprof.ParallelBeamModel((VIEWS, 1, N), ANGLES)
    model.set_params(use_ror_mask=False)
    return model.forward_project, model.back_project, (N, N, 1), "tomoprof"


def of_astra():
    import astra
    volume = astra.create_vol_geom(N, N)
    projector = astra.create_projector("linear", astra.create_proj_geom("parallel", 1.0, N, ANGLES), volume)
    operator = astra.OpTomo(projector)
    return (lambda x: operator.FP(x)), (lambda y: operator.BP(y)), (N, N), f"ASTRA {astra.__version__}, linear"


def of_torchtomo():
    import torch
    import torchtomo
    made = torchtomo.ParallelBeam(N, VIEWS)

    def forward(x):
        return made(torch.from_numpy(x)[None, None])[0, 0].numpy()

    def adjoint(y):
        x = torch.zeros(1, 1, N, N, requires_grad=True)
        return torch.autograd.grad(made(x), x, torch.from_numpy(y)[None, None])[0][0, 0].numpy()
    return forward, adjoint, (N, N), "torchtomo, adjoint by autograd"


def of_skimage():
    import skimage
    from skimage.transform import iradon, radon
    degrees = np.degrees(ANGLES)

    def adjoint(y):
        return iradon(y, degrees, filter_name=None, circle=True) * (2 * VIEWS / np.pi)
    circle = np.hypot(*np.mgrid[-N // 2:N // 2, -N // 2:N // 2]) < N // 2
    return (lambda x: radon(x * circle, degrees, circle=True)), (lambda y: adjoint(y) * circle), (N, N), f"scikit-image {skimage.__version__}, radon and unfiltered iradon"


def dot(a, b):
    return float((np.asarray(a, float) * np.asarray(b, float)).sum())


def row(make):
    try:
        forward, adjoint, shape, name = make()
    except Exception as error:  # a package that is missing, or fails at its import, has its reason in the table
        return f"| {make.__name__[3:]} | | | {type(error).__name__}: {str(error)[:120]} |"
    rng = np.random.default_rng(0)
    x, direction = (rng.random(shape, np.float32) for _ in range(2))
    ax = forward(x)
    y = rng.random(ax.shape, np.float32)
    mismatch = abs(dot(ax, y) - dot(x, adjoint(y))) / np.sqrt(dot(ax, ax) * dot(y, y))
    slope = 2 * dot(adjoint((ax - y).astype(np.float32)), direction)
    step = 0.05
    losses = [dot(r, r) for r in (forward((x + s * direction).astype(np.float32)) - y for s in (step, -step))]
    found = (losses[0] - losses[1]) / (2 * step)
    return f"| {name} | {mismatch:.1g} | {abs(slope - found) / abs(found):.1g} | |"


if __name__ == "__main__":
    print("| package | adjoint | gradient | not measured |\n|---|---|---|---|")
    for one in (of_tomoprof, of_astra, of_torchtomo, of_skimage):
        print(row(one), flush=True)
