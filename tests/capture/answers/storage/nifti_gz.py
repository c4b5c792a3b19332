"""nibabel: a compressed volume is inflated and becomes float64."""

from truth import phase

with phase("import"):
    import nibabel as nib  # truth: import
    import numpy as np  # truth: import

with phase("save"):
    volume = (np.random.default_rng(0).random((160, 160, 160)) ** 2 * 60).astype(np.int16)
    nib.save(nib.Nifti1Image(volume[:64], np.eye(4)), "volume.nii.gz")  # truth: save


def load(path):
    with phase("load"):
        return nib.load(path).get_fdata()  # truth: load


def mask(data):
    with phase("mask"):
        return int((data > 30).sum())  # truth: mask


print(sum(mask(load("volume.nii.gz")) for _ in range(80)))
