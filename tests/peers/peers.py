"""Who is compared with tomoprof, and in what. Two tables; nothing else in this folder names an operation of a peer but
its adapter."""

import os
import pathlib
from collections import namedtuple

# Pinned: a table is worth nothing without the versions. `name` is that of the adapter and of the environment. `folder`: the
# variable that names the folder in which a user has built a peer that no package index has.
Peer = namedtuple("Peer", "name title requirements environment folder", defaults=(None,))

PEERS = [
    # Two virtual devices, its default on two cores, can deadlock; one takes the same time.
    Peer("mbirjax", "MBIRJAX 0.7.3", ["mbirjax==0.7.3", "jax==0.10.1", "jaxlib==0.10.1", "numpy==2.4.6"],
         {"XLA_FLAGS": "--xla_force_host_platform_device_count=1", "JAX_PLATFORMS": "cpu"}),
    Peer("mbirtorch", "MBIRTorch 0.2.0", ["mbirtorch==0.2.0", "torch==2.13.0", "numpy==2.4.6"], {}),
    Peer("svmbir", "svmbir 0.5.0", ["svmbir==0.5.0", "numpy==2.4.6"], {}),
    Peer("rtk", "RTK 2.7", ["itk-rtk==2.7.0.post1", "itk==5.4.7", "numpy==2.4.6"], {}),
    Peer("astra", "ASTRA 2.5.0", ["astra-toolbox==2.5.0", "scipy==1.17.1", "numpy==2.4.6"], {}),
    # run.py names the library; its versions are those of this build.
    Peer("tomoprof", "tomoprof from Python", ["numpy==2.4.6"], {"PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python")}),
    # Its own CPU build: libleapct.so beside leapctype.py. The library has no thread setting of its own but OpenMP's.
    Peer("leap", "LEAP", ["numpy==2.4.6", "imageio==2.37.3"], {"PYTHONPATH": os.environ.get("TOMOPROF_LEAP", "")}, "TOMOPROF_LEAP"),
    Peer("scipy", "SciPy 1.17.1", ["scipy==1.17.1", "numpy==2.4.6"], {}),
]

# tolerance: largest relative l2 difference to tomoprof's result, None where results cannot agree (see README.md).
# same: the peer computes the same numbers but for rounding. variant: which of a peer's ways, when it has several.
Comparison = namedtuple("Comparison", "operation peer variant tolerance same what", defaults=("", 1e-5, True, ""))


def other(operation, peer, variant, tolerance, what):
    return Comparison(operation, peer, variant, tolerance, False, what)


# The ramp leaves 1 % of a smooth row, and float32 FFTs round relative to all of it.
FILTERED = 1e-4
# MBIRJAX scales the volume that it starts from by a ratio of two float32 sums over the sinogram: 2e-4 off at N = 128,
# 1e-3 at 256. From the same first volume the two agree within 1e-6.
FIRST_SCALE = 5e-3
JOSEPH = "Joseph's interpolation along rays instead of footprints"
FOOTPRINTS = "its own separable footprints"
# 7e-5 at N = 64, 2.9e-3 at 128, 3.3e-2 at 256, where MBIRJAX and tomoprof agree within 1e-6.
CONE_FOOTPRINTS = FOOTPRINTS + "; the difference grows with N"
FROM_PYTHON = 1e-6
COMPARISONS = [
    Comparison("parallel_forward_project", "mbirjax"),
    Comparison("parallel_forward_project", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("parallel_forward_project", "mbirtorch"),
    other("parallel_forward_project", "svmbir", "", 1e-2, "the same footprints, stored in 8 bits"),
    other("parallel_forward_project", "rtk", "joseph", 1e-2, JOSEPH),
    other("parallel_forward_project", "astra", "strip", 1e-2, "exact areas instead of footprints, slice by slice"),
    other("parallel_forward_project", "astra", "linear", 1e-2, JOSEPH + ", slice by slice"),
    other("parallel_forward_project", "leap", "", 1e-4, FOOTPRINTS),
    Comparison("parallel_back_project", "mbirjax"),
    Comparison("parallel_back_project", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("parallel_back_project", "mbirtorch"),
    other("parallel_back_project", "svmbir", "", 1e-2, "the same footprints, stored in 8 bits"),
    other("parallel_back_project", "rtk", "joseph", 5e-2, JOSEPH),
    other("parallel_back_project", "astra", "strip", 1e-2, "exact areas instead of footprints, slice by slice"),
    other("parallel_back_project", "astra", "linear", 5e-2, JOSEPH + ", slice by slice"),
    other("parallel_back_project", "leap", "", 1e-4, FOOTPRINTS),
    Comparison("parallel_fbp_filter", "mbirjax", tolerance=FILTERED),
    Comparison("parallel_fbp_filter", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("parallel_fbp_filter", "mbirtorch", tolerance=FILTERED),
    Comparison("parallel_fbp_filter", "rtk", tolerance=FILTERED, what="FFTRampImageFilter"),
    Comparison("parallel_fbp_filter", "scipy", tolerance=FILTERED, what="scipy.fft, float32, all threads"),
    Comparison("parallel_hessian_diagonal", "mbirjax"),
    Comparison("parallel_hessian_diagonal", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("parallel_hessian_diagonal", "mbirtorch"),
    Comparison("parallel_fbp_recon", "mbirjax", tolerance=FILTERED),
    Comparison("parallel_fbp_recon", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("parallel_fbp_recon", "mbirtorch", tolerance=FILTERED),
    other("parallel_fbp_recon", "astra", "linear", 1e-1, "its own ramp filter, " + JOSEPH + ", slice by slice"),
    other("parallel_fbp_recon", "leap", "", 1e-1, "its own ramp filter, " + FOOTPRINTS),
    Comparison("parallel_mbir_recon", "mbirjax", tolerance=FIRST_SCALE),
    Comparison("parallel_mbir_recon", "tomoprof", tolerance=FROM_PYTHON),
    other("parallel_mbir_recon", "mbirtorch", "", 1e-2, "the same subsets, another step length (1 %)"),
    other("parallel_mbir_recon", "svmbir", "", None, "coordinate descent of another order, from an empty volume"),
    Comparison("cone_forward_project", "mbirjax"),
    Comparison("cone_forward_project", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("cone_forward_project", "mbirtorch"),
    other("cone_forward_project", "rtk", "joseph", 1e-2, JOSEPH),
    other("cone_forward_project", "leap", "", 5e-2, CONE_FOOTPRINTS),
    Comparison("cone_back_project", "mbirjax"),
    Comparison("cone_back_project", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("cone_back_project", "mbirtorch"),
    other("cone_back_project", "rtk", "joseph", 5e-2, JOSEPH),
    other("cone_back_project", "rtk", "voxel", 1e-2, "voxel-driven, bilinear, 1/distance^2: not the adjoint"),
    other("cone_back_project", "leap", "", 5e-2, CONE_FOOTPRINTS),
    Comparison("cone_fdk_filter", "mbirjax", tolerance=FILTERED),
    Comparison("cone_fdk_filter", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("cone_fdk_filter", "mbirtorch", tolerance=FILTERED),
    Comparison("cone_hessian_diagonal", "mbirjax"),
    Comparison("cone_hessian_diagonal", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("cone_hessian_diagonal", "mbirtorch"),
    Comparison("cone_fdk_recon", "mbirjax", tolerance=FILTERED),
    Comparison("cone_fdk_recon", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("cone_fdk_recon", "mbirtorch", tolerance=FILTERED),
    other("cone_fdk_recon", "rtk", "", 1e-1, "voxel-driven, bilinear, 1/distance^2"),
    other("cone_fdk_recon", "leap", "", 1e-1, "its own ramp filter, " + FOOTPRINTS),
    Comparison("cone_mbir_recon", "mbirjax", tolerance=FIRST_SCALE),
    Comparison("cone_mbir_recon", "tomoprof", tolerance=FROM_PYTHON),
    other("cone_mbir_recon", "mbirtorch", "", 5e-2, "the same subsets, another step length (1 %)"),
    Comparison("median_filter3d", "mbirjax", tolerance=0.0),
    Comparison("median_filter3d", "tomoprof", tolerance=FROM_PYTHON),
    Comparison("median_filter3d", "mbirtorch", tolerance=0.0),
    Comparison("median_filter3d", "rtk", tolerance=0.0, what="ITK's MedianImageFilter"),
    Comparison("median_filter3d", "scipy", tolerance=0.0, what="one thread: it has no more"),
]
