"""RTK turns about its y axis: its x are our columns, its z our rows, its y our slices. Angles and detector agree."""

import itk
import numpy as np
from itk import RTK as rtk

from adapters.common import volume_shape

PACKAGES = ["itk-rtk", "itk", "numpy"]
IMAGE = itk.Image[itk.F, 3]


def image(array, spacing):
    """An ITK image of an array with axes (z, y, x), centred at the origin."""
    made = itk.image_from_array(np.ascontiguousarray(array, np.float32))
    made.SetSpacing(spacing)
    made.SetOrigin([-(n - 1) / 2 * step for n, step in zip(array.shape[::-1], spacing)])
    return made


def voxel_pitch(geometry):
    """The detector's pitch, 1, at the axis: tomoprof's default."""
    if geometry["geometry"] == "parallel":
        return 1.0
    return geometry["source_iso_dist"] / geometry["source_detector_dist"]


def volume_image(geometry, array):
    return image(array.transpose(0, 2, 1), [voxel_pitch(geometry)] * 3)


def zeros_like(template):
    """The source of the zeros that RTK adds to, as in its own programs."""
    source = rtk.ConstantImageSource[IMAGE].New()
    source.SetSize(itk.size(template))
    source.SetSpacing(template.GetSpacing())
    source.SetOrigin(template.GetOrigin())
    source.SetConstant(0.0)
    return source


def empty_volume(geometry):
    return zeros_like(volume_image(geometry, np.zeros(volume_shape(geometry), np.float32)))


def empty_sinogram(geometry):
    return zeros_like(image(np.zeros(geometry["sinogram_shape"]), [1.0] * 3))


def turns(geometry):
    made = rtk.ThreeDCircularProjectionGeometry.New()
    cone = geometry["geometry"] == "cone"
    source_detector = geometry["source_detector_dist"] if cone else 0.0  # RTK's way to say parallel
    source_axis = geometry["source_iso_dist"] if cone else 10.0 * geometry["sinogram_shape"][2]
    for angle in geometry["angles"]:
        made.AddProjection(source_axis, source_detector, float(np.degrees(angle)))
    return made


def runner(last, first=None):
    """Runs the chain from filter `first` to `last` anew."""
    def run():
        (first or last).Modified()
        last.Update()
        return last.GetOutput()
    return run


def sinogram_array(result):
    return itk.array_from_image(result)


def volume_array(result):
    return np.ascontiguousarray(itk.array_from_image(result).transpose(0, 2, 1))


def chain(kind, zeros, data, geometry):
    """One of RTK's filters that add to an image of zeros, run as a whole."""
    made = kind.New()
    made.SetInput(0, zeros.GetOutput())
    made.SetInput(1, data)
    made.SetGeometry(turns(geometry))
    return runner(made, zeros)


def forward(geometry, array):
    kind = rtk.JosephForwardProjectionImageFilter[IMAGE, IMAGE]
    return chain(kind, empty_sinogram(geometry), volume_image(geometry, array), geometry), sinogram_array


def back(kind, unit=lambda geometry: 1.0):
    """unit: tomoprof's back projection over RTK's, which voxel-driven does not weight by the path through a voxel."""
    def prepare(geometry, array):
        run = chain(kind[IMAGE, IMAGE], empty_volume(geometry), image(array, [1.0] * 3), geometry)
        return run, lambda result: volume_array(result) * np.float32(unit(geometry))
    return prepare


def ramp(geometry, array):
    views = array.shape[0]
    ramped = rtk.FFTRampImageFilter[IMAGE, IMAGE, itk.D].New()
    ramped.SetInput(image(array, [1.0] * 3))
    return runner(ramped), lambda result: sinogram_array(result) * np.float32(np.pi / views)


def fdk(geometry, array):
    kind = rtk.FDKConeBeamReconstructionFilter[IMAGE]
    return chain(kind, empty_volume(geometry), image(array, [1.0] * 3), geometry), volume_array


def median(_, array):
    filtered = itk.MedianImageFilter[IMAGE, IMAGE].New()
    filtered.SetInput(itk.image_from_array(array))
    filtered.SetRadius(1)
    return runner(filtered), sinogram_array


OPERATIONS = {
    "parallel_forward_project/joseph": forward,
    "parallel_back_project/joseph": back(rtk.JosephBackProjectionImageFilter),
    "parallel_fbp_filter": ramp,
    "cone_forward_project/joseph": forward,
    "cone_back_project/joseph": back(rtk.JosephBackProjectionImageFilter),
    "cone_back_project/voxel": back(rtk.FDKBackProjectionImageFilter, voxel_pitch),
    "cone_fdk_recon": fdk,
    "median_filter3d": median,
}
