"""How the tests of ranks start them."""

import pathlib
import shutil

from tool import PATIENCE, TOMOPROF, tomoprof

# As root, more ranks than CPUs, shared memory without process_vm_readv (which containers refuse), and no waiting that takes
# the CPU from those who compute.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "vader,self", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
       "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_WAIT_POLICY": "passive"}


def module_missing():
    """Why there can be no ranks here, "" when there can."""
    if shutil.which("mpirun") and (pathlib.Path(TOMOPROF).parent / "libtomoprof_mpi.so").exists():
        return ""
    return "Open MPI (openmpi-bin, libopenmpi-dev) is not installed, or was not when this was built"


def simulate(folder, beam, *words, out=None):
    """A sinogram and its geometry as options of recon; `beam`: a kind, or a geometry file, and then a name for `out`."""
    out = out or beam
    tomoprof("simulate", "--geometry", beam, *words, "--out", folder / out, timeout=PATIENCE)
    return ["recon", "--in", folder / f"{out}_sinogram.npy", "--geometry", folder / f"{out}.json"]
