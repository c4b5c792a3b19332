"""astra whose creators of projections and reconstructions of parallel beams in a plane are tomoprof's, for CPU projectors of strips.

    import tomoprof.instead.astra as astra  # in place of: import astra

ASTRA's strips are the areas of pixels, as tomoprof's rays. Its other projectors sum along a line, by one thread as fast as tomoprof."""

import functools
import importlib

import numpy

from tomoprof._geometries import ParallelBeamModel
from tomoprof.instead import NotEqual, array_text, in_place_of, rest_of

LEAST = {"create_sino": 96 ** 2, "create_backprojection": 96 ** 2, "create_reconstruction": 192 ** 2}  # samples of the sinogram: ASTRA is as fast below
MOST_ITERATIONS = 50  # of SIRT, which differs by 2e-3 then where views have 1 % of noise, and more with each iteration

__getattr__ = rest_of("astra")
types: dict = {}  # of projectors by ID, which ASTRA does not tell


def create_projector(proj_type, proj_geom, vol_geom, options=None):
    """ASTRA's projector; its type is remembered."""
    astra = importlib.import_module("astra")
    if proj_type == "blob":
        raise NotImplementedError("Blob type not yet implemented")
    config = {"type": proj_type, "ProjectionGeometry": proj_geom, "VolumeGeometry": vol_geom, **({} if options is None else {"options": options})}
    number = (astra.projector3d if proj_type == "cuda3d" else astra.projector).create(config)
    if proj_type != "cuda3d":
        types[number] = proj_type if options is None else "of options"
    return number


@in_place_of("astra")
def create_sino(data, proj_id, returnData=True, gpuIndex=None):
    """Projects an image (rows, columns) or that of an ID. Returns (ID, sinogram (views, detector pixels)), or the ID alone."""
    astra, model = _projector("create_sino", proj_id, gpuIndex)
    image = _array(astra, data, "data", model.get_params("recon_shape")[:2])
    sinogram = model.forward_project(image[:, :, None])[:, 0]
    return _result(astra, "-sino", astra.projector.projection_geometry(proj_id), sinogram, returnData)


@in_place_of("astra")
def create_backprojection(data, proj_id, returnData=True):
    """Back projects a sinogram (views, detector pixels). Returns (ID, image), or the ID alone."""
    astra, model = _projector("create_backprojection", proj_id)
    image = model.back_project(_sinogram(astra, model, data))[:, :, 0]
    return _result(astra, "-vol", astra.projector.volume_geometry(proj_id), image, returnData)


@in_place_of("astra")
def create_reconstruction(rec_type, proj_id, sinogram, iterations=1, use_mask="no", mask=None, use_minc="no", minc=0, use_maxc="no", maxc=255,
                          returnData=True, filterType=None, filterData=None):
    """Reconstructs by "FBP" with the ramp filter, angles evenly over half a turn, or by "SIRT". Returns (ID, image), or the ID alone."""
    if rec_type not in ("FBP", "SIRT"):
        raise NotEqual(f"rec_type is {rec_type!r}; tomoprof has 'FBP' and 'SIRT'")
    for name, value, equal in (("use_mask", use_mask, "no"), ("use_minc", use_minc, "no"), ("use_maxc", use_maxc, "no"), ("filterData", filterData, None)):
        if value != equal:
            raise NotEqual(f"{name} is {value!r}; tomoprof has {equal!r}")
    if filterType not in (None, "ram-lak"):
        raise NotEqual(f"filterType is {filterType!r}; tomoprof has 'ram-lak'")
    astra, model = _projector("create_reconstruction", proj_id)
    if rec_type == "SIRT":
        image = _sirt(model, _sinogram(astra, model, sinogram), iterations)[:, :, 0]
        return _result(astra, "-vol", astra.projector.volume_geometry(proj_id), image, returnData)
    angles = numpy.asarray(model.get_params("angles"))
    if not numpy.allclose(numpy.diff(angles), numpy.pi / len(angles), rtol=1e-3):
        raise NotEqual("the angles are not even over half a turn")
    image = model.direct_recon(_sinogram(astra, model, sinogram))[:, :, 0]
    return _result(astra, "-vol", astra.projector.volume_geometry(proj_id), image, returnData)


def _sirt(model, sinogram, iterations):
    """What rays miss, over their lengths in the image, is back projected, over the sum of weights of each pixel."""
    if not isinstance(iterations, int) or not 0 <= iterations <= MOST_ITERATIONS:
        raise NotEqual(f"iterations is {iterations!r}; tomoprof's SIRT is equal for 0 to {MOST_ITERATIONS}")
    y = sinogram.astype(numpy.float32, copy=False)
    image = numpy.zeros(model.get_params("recon_shape"), numpy.float32)
    sums = model.forward_project(numpy.ones_like(image)), model.back_project(numpy.ones_like(y))
    rays, pixels = (numpy.divide(1, total, out=numpy.zeros_like(total), where=total > 1e-6) for total in sums)
    for _ in range(iterations):
        image += model.back_project((y - model.forward_project(image)) * rays) * pixels
    return image


def _projector(name, proj_id, gpu=None):
    """The package, and the model of a projector whose rays are tomoprof's."""
    astra = importlib.import_module("astra")
    if gpu is not None or astra.projector.is_cuda(proj_id):
        raise NotEqual("the projector computes on a GPU; tomoprof would copy the arrays to the host")
    beams, grid = astra.projector.projection_geometry(proj_id), astra.projector.volume_geometry(proj_id)
    if types.get(proj_id) != "strip":
        raise NotEqual(f"the projector is {types.get(proj_id, 'not of create_projector')!r}; tomoprof has the rays of 'strip'")
    if beams["type"] != "parallel":
        raise NotEqual(f"the geometry is {beams['type']!r}; tomoprof has 'parallel'")
    rows, columns, window = grid["GridRowCount"], grid["GridColCount"], grid["options"]
    pixel = (window["WindowMaxX"] - window["WindowMinX"]) / columns
    edges = [window[name] for name in ("WindowMinX", "WindowMaxX", "WindowMinY", "WindowMaxY")]
    if not numpy.allclose(edges, [-columns * pixel / 2, columns * pixel / 2, -rows * pixel / 2, rows * pixel / 2], rtol=1e-6):
        raise NotEqual(f"the volume's edges are {edges}; tomoprof has square pixels around the axis")
    angles = numpy.asarray(beams["ProjectionAngles"], float)
    if len(angles) * beams["DetectorCount"] < LEAST[name]:
        raise NotEqual(f"the sinogram has {len(angles) * beams['DetectorCount']} samples; tomoprof's {name} is faster from {LEAST[name]} on")
    return astra, _model(angles.tobytes(), beams["DetectorCount"], beams["DetectorWidth"], rows, columns, pixel)


@functools.lru_cache(8)
def _model(angles, count, pitch, rows, columns, pixel):
    angles = numpy.frombuffer(angles)
    model = ParallelBeamModel((len(angles), 1, count), angles)
    model.set_params(recon_shape=(rows, columns, 1), delta_det_channel=pitch, delta_voxel=pixel, use_ror_mask=False, no_warning=True)
    return model


def _array(astra, data, name, shape):
    array = astra.data2d.get(data) if isinstance(data, int) else data
    if type(array) is not numpy.ndarray or array.dtype.name not in ("float32", "float64"):
        raise NotEqual(f"{name} is {array_text(array)}; tomoprof takes a NumPy array of float32 or float64, or an ID")
    if array.shape != tuple(shape):
        raise NotEqual(f"{name} has shape {array.shape}; the geometry has {tuple(shape)}")
    return array


def _sinogram(astra, model, data):
    views, _, count = model.get_params("sinogram_shape")
    return _array(astra, data, "sinogram", (views, count))[:, None]


def _result(astra, kind, geometry, array, wanted):
    array = numpy.ascontiguousarray(array)
    number = astra.data2d.create(kind, geometry, array)
    return (number, array) if wanted else number
