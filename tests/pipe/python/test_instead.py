"""tomoprof.instead beside SciPy and scikit-image: equal where the table says so, the original's elsewhere."""

import math

import module

module.need("scipy")
import numpy as np
import scipy.ndimage
from tool import main, relative

from tomoprof.instead import NotEqual, ndimage

RANDOM = np.random.default_rng(7)


def medians(check, folder):
    ndimage.LEAST, least = 1, ndimage.LEAST
    for shape in ((5, 6, 7), (1, 1, 1), (2, 1, 9), (16, 17, 3)):
        for dtype in ndimage.EXACT:
            volume = (RANDOM.standard_normal(shape) * 50).astype(dtype)
            for mode in ("reflect", "nearest"):
                ours, theirs = ndimage.median_filter.ours(volume, 3, mode=mode), scipy.ndimage.median_filter(volume, 3, mode=mode)
                check.that(ours.dtype == theirs.dtype and (ours == theirs).all(), f"{shape} {dtype} {mode}")
    volume = RANDOM.random((6, 6, 6)).astype(np.float32)
    for options in ({"size": 5}, {"size": (3, 3, 1)}, {"size": 3, "mode": "constant"}, {"size": 3, "origin": 1}, {"footprint": np.ones((3, 3, 3))},
                    {"size": 3, "axes": (0, 1, 2)}):
        check.that(module.raised(NotEqual, ndimage.median_filter.ours, volume, **options), f"{options} has no equal")
        check.that((ndimage.median_filter(volume, **options) == scipy.ndimage.median_filter(volume, **options)).all(), f"{options}: the original's")
    for array in (volume.astype(float), volume[0], volume.tolist()):
        check.that(module.raised(NotEqual, ndimage.median_filter.ours, array, 3), f"{type(array)} has no equal")
    ndimage.LEAST = least
    check.that("faster from" in module.raised(NotEqual, ndimage.median_filter.ours, volume, 3), "a small volume is left to SciPy")
    check.that(ndimage.gaussian_filter is scipy.ndimage.gaussian_filter, "other names are SciPy's")
    check.that(module.raised(AttributeError, getattr, ndimage, "no_such_name"), "unknown names stay unknown")


def scalings(check, folder):
    """zoom, affine_transform and rotate where they are equal; everything else is SciPy's."""
    ndimage.LEAST_TURNED, ndimage.LEAST_SCALED, least = 1, {0: 1, 1: 1}, (ndimage.LEAST_TURNED, ndimage.LEAST_SCALED)
    volume = RANDOM.random((12, 15, 10)).astype(np.float32)
    for factor in (2, 0.5, 1, (1.5, 0.7, 2.3)):
        for mode in ("nearest", "reflect", "grid-mirror"):
            for order in (0, 1):
                ours, theirs = (f(volume, factor, order=order, mode=mode, grid_mode=True) for f in (ndimage.zoom.ours, scipy.ndimage.zoom))
                check.that(ours.dtype == theirs.dtype and ours.shape == theirs.shape and relative(ours, theirs) <= 1e-6 * order,
                           f"zoom by {factor}, {mode}, order {order}: {relative(ours, theirs):.2g}")
    for shape in ((24, 30, 20), (6, 20, 10)):
        ratio = np.divide(volume.shape, shape)
        for matrix in (ratio, np.diag(ratio), np.column_stack([np.diag(ratio), (ratio - 1) / 2])):
            options = {"offset": (ratio - 1) / 2, "output_shape": shape, "order": 1, "mode": "nearest"}
            ours, theirs = (f(volume, matrix, **options) for f in (ndimage.affine_transform.ours, scipy.ndimage.affine_transform))
            check.that(ours.shape == theirs.shape and relative(ours, theirs) <= 1e-6, f"affine_transform to {shape}: {relative(ours, theirs):.2g}")
    for angle in (0.5, -3, 20, 180.0, 90):
        options = {"axes": (2, 1), "reshape": angle == 90, "order": 1, "mode": "nearest"}
        ours, theirs = (f(volume, angle, **options) for f in (ndimage.rotate.ours, scipy.ndimage.rotate))
        check.that(ours.shape == theirs.shape and relative(ours, theirs) <= 1e-5, f"rotate by {angle}: {relative(ours, theirs):.2g}")
    for axes in ((0, 1), (1, 0), (2, 0), (-1, 1)):
        for quarter in (-90, 90, 180, 270, 450):
            ours, theirs = (f(volume, quarter, axes, order=0) for f in (ndimage.rotate.ours, scipy.ndimage.rotate))
            check.that(ours.shape == theirs.shape and (ours == theirs).all(), f"a turn of {quarter} over {axes}")
    for function, given, options in ((ndimage.zoom, 2, {"order": 3, "mode": "nearest", "grid_mode": True}), (ndimage.zoom, 2, {"order": 1, "mode": "nearest"}),
                                     (ndimage.zoom, 2, {"order": 1, "grid_mode": True}), (ndimage.rotate, 10, {"order": 1}), (ndimage.rotate, 90, {}),
                                     (ndimage.affine_transform, [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], {"order": 1, "mode": "nearest"}),
                                     (ndimage.affine_transform, [2, 1, 1], {"order": 1, "mode": "nearest"}),
                                     (ndimage.affine_transform, [1, 1, 1], {"order": 1, "mode": "nearest", "offset": 0.5})):
        check.that(module.raised(NotEqual, function.ours, volume, given, **options), f"{function.__name__} {given} {options} has no equal")
        check.that((function(volume, given, **options) == getattr(scipy.ndimage, function.__name__)(volume, given, **options)).all(), "the original's")
    check.that("float64" in module.raised(NotEqual, ndimage.zoom.ours, volume.astype(float), 2, order=1, mode="nearest", grid_mode=True), "float64")
    ndimage.LEAST_TURNED, ndimage.LEAST_SCALED = least
    for function, given, options in ((ndimage.zoom, 2, {"grid_mode": True}), (ndimage.rotate, 10, {"axes": (2, 1), "reshape": False})):
        check.that("faster from" in module.raised(NotEqual, function.ours, volume, given, order=1, mode="nearest", **options), f"a small {function.__name__}")


def arrays_elsewhere(check, folder):
    """Arrays on a GPU, and of other kinds, are named."""
    class OnGpu:
        __cuda_array_interface__, shape, dtype = {}, (40, 40, 40), np.dtype("float32")

    for function, options in ((ndimage.median_filter, {"size": 3}), (ndimage.zoom, {"zoom": 2, "order": 1}), (ndimage.rotate, {"angle": 3})):
        check.that("an array on a GPU" in module.raised(NotEqual, function.ours, OnGpu(), **options), f"{function.__name__} of an array on a GPU")
        check.that("is list" in module.raised(NotEqual, function.ours, [[1]], **options), f"{function.__name__} of a list")


def disk(size, radius):
    """A smooth disk beside the middle."""
    y, x = np.mgrid[:size, :size] - size // 2
    return np.clip((radius + 2 - np.hypot(x - size / 10, y + size / 16)) / 4, 0, 1)


def radon_transforms(check, folder):
    try:
        import skimage.transform as original
    except ImportError:
        print("  skipped: no scikit-image", flush=True)
        return
    from tomoprof.instead import transform
    for size in (128, 129):
        image, theta = disk(size, size / 5), np.linspace(0, 180, 130, endpoint=False)
        for dtype in (np.float32, np.float64):
            for options in ({}, {"circle": False}):
                ours, theirs = (f(image.astype(dtype), theta, **options) for f in (transform.radon.ours, original.radon))
                check.that(ours.dtype == theirs.dtype and ours.shape == theirs.shape and relative(ours, theirs) < 0.002,
                           f"radon of {size} {dtype.__name__} {options}: {relative(ours, theirs):.2g}")
            sinogram = original.radon(image.astype(dtype), theta)
            ours, theirs = transform.iradon.ours(sinogram, theta), original.iradon(sinogram, theta)
            check.that(ours.dtype == theirs.dtype and ours.shape == theirs.shape and relative(ours, theirs) < 0.005,
                       f"iradon of {size} {dtype.__name__}: {relative(ours, theirs):.2g}")
    sinogram = original.radon(disk(128, 30), np.linspace(0, 180, 128, endpoint=False))
    for options in ({"filter_name": "hann"}, {"interpolation": "nearest"}, {"output_size": 20}, {"circle": False}):
        check.that(module.raised(NotEqual, transform.iradon.ours, sinogram, **options), f"{options} has no equal")
        check.that(relative(transform.iradon(sinogram, **options), original.iradon(sinogram, **options)) == 0, f"{options}: the original's")
    check.that(math.isclose(transform.iradon.ours(sinogram).mean(), original.iradon(sinogram).mean(), rel_tol=0.01), "the same density")
    check.that(module.raised(NotEqual, transform.radon.ours, np.ones((16, 16))), "an image beyond the circle has no equal")
    check.that(transform.rotate is original.rotate, "other names are scikit-image's")
    kept = original.iradon
    wanted = kept(sinogram, filter_name="hann")
    original.iradon = transform.iradon
    try:
        check.that(relative(transform.iradon(sinogram, filter_name="hann"), wanted) == 0, "the original's, where a program has put ours in its place")
    finally:
        original.iradon = kept


def skimage_or_skip():
    try:
        import skimage.transform.radon_transform as original
        return original
    except ImportError:
        print("  skipped: no scikit-image", flush=True)


def orders_of_angles(check, folder):
    """Views are taken in scikit-image's order, of even angles too, whose distances are often the same but for rounding."""
    original = skimage_or_skip()
    if not original:
        return
    from tomoprof._sart import golden_order
    sets = [np.linspace(0, 180, n, endpoint=False) for n in (1, 2, 3, 7, 64, 180, 181)] + [np.linspace(0, 180, 33), np.linspace(-90, 400, 50), np.zeros(5)]
    sets += [RANDOM.uniform(-200, 400, n) for n in (5, 90)] + [np.repeat(np.arange(0, 180, 20.0), 2)]
    for theta in sets:
        for dtype in (np.float32, np.float64):
            ours, theirs = golden_order(theta.astype(dtype)), list(original.order_angles_golden_ratio(theta.astype(dtype)))
            check.that(ours.tolist() == theirs, f"order of {len(theta)} angles from {theta[0]:g}, {dtype.__name__}")
    check.that(golden_order(np.zeros(0)).size == 0, "no angles")


SART_LIMIT = {"float32": 1e-5, "float64": 1e-12}  # relative l2; the table promises 1e-5


def sart_options(size, views, dtype):
    """(name, options, whether an image is given)"""
    theta, shifts = np.linspace(0, 180, views, endpoint=False), RANDOM.uniform(-3, 3, views)
    yield "theta", {"theta": theta}, False
    yield "defaults", {}, False
    yield "a list of angles beyond 180 degrees", {"theta": (theta * 2 - 30).tolist()}, False
    yield "shifts", {"theta": theta, "projection_shifts": shifts}, False
    yield "clip", {"theta": theta, "clip": (0.01, 0.02)}, False
    yield "relaxation", {"theta": theta, "relaxation": 0.7}, False
    yield "other dtype", {"theta": theta, "dtype": np.float32 if dtype == np.float64 else np.float64}, False
    yield "image", {"theta": theta}, True
    yield "image, shifts and clip", {"theta": theta, "projection_shifts": shifts, "clip": [0, 0.5], "relaxation": np.float64(0.3)}, True


def sart_of_skimage(check, folder):
    """iradon_sart beside scikit-image's, with what both do to the image that is given."""
    original = skimage_or_skip()
    if not original:
        return
    from tomoprof.instead import transform
    transform.LEAST_SART, least = 8, transform.LEAST_SART
    worst = dict.fromkeys(SART_LIMIT, 0.0)
    for size, views in ((8, 3), (9, 2), (33, 1), (48, 4), (65, 30), (128, 16)):
        for dtype in (np.float32, np.float64):
            sinogram = (original.radon(disk(size, size / 5), np.linspace(0, 180, views, endpoint=False)) + RANDOM.random((size, views))).astype(dtype)
            for name, options, given in sart_options(size, views, dtype):
                results, images = [], []
                for function in (transform.iradon_sart.ours, original.iradon_sart):
                    image = np.asfortranarray(disk(size, size / 4), dtype=dtype) if given else None
                    results.append(function(sinogram.copy(), image=image, **options))
                    images.append(image)
                ours, theirs = results
                error, what = relative(ours, theirs), f"iradon_sart of {sinogram.shape} {dtype.__name__}, {name}"
                worst[ours.dtype.name] = max(worst[ours.dtype.name], error)
                check.that(ours.dtype == theirs.dtype and ours.shape == theirs.shape and error <= SART_LIMIT[ours.dtype.name], f"{what}: {error:.2g}")
                if given:
                    error = relative(*images)
                    check.that(error <= SART_LIMIT[ours.dtype.name] and (ours is images[0]) == (theirs is images[1]), f"{what}, the image that was given: {error:.2g}")
    transform.LEAST_SART = least
    print(f"  largest relative l2 of iradon_sart: {worst}", flush=True)


def sart_arguments(check, folder):
    """Arguments without an equal go to scikit-image, which refuses some of them."""
    original = skimage_or_skip()
    if not original:
        return
    from tomoprof.instead import transform
    sinogram, theta = RANDOM.random((40, 6)), np.arange(0, 180, 30.0)
    shared = RANDOM.random((40, 40))
    fixed = np.zeros((40, 40))
    fixed.flags.writeable = False
    for given, options, says in ((sinogram[:12], {}, "faster from"), (sinogram.astype(int), {}, "int64"), (sinogram[:, :0], {}, "shape (40, 0)"), (sinogram, {"theta": theta[:5]}, "theta has shape"),
                                 (sinogram, {"theta": np.full(6, np.nan)}, "finite"), (sinogram, {"projection_shifts": [1, 2]}, "projection_shifts has shape"),
                                 (sinogram, {"relaxation": np.nan}, "relaxation"), (sinogram, {"relaxation": np.ones(3)}, "relaxation"), (sinogram, {"clip": (1, 0)}, "clip"),
                                 (sinogram, {"clip": (0, 1, 2)}, "clip"), (sinogram, {"dtype": np.float16}, "dtype is"), (sinogram.astype(">f8"), {}, "dtype is"),
                                 (sinogram, {"image": np.zeros((40, 39))}, "image is"), (sinogram, {"image": np.zeros((40, 40), "f4")}, "image is"), (sinogram, {"image": fixed}, "image is"),
                                 (shared, {"image": shared}, "image is"), (sinogram + np.inf, {}, "not finite"), (sinogram, {"image": np.full((40, 40), np.nan)}, "not finite")):
        check.that(says in str(module.raised(NotEqual, transform.iradon_sart.ours, given, **options)), f"{says}: {module.raised(NotEqual, transform.iradon_sart.ours, given, **options)}")
    check.that(relative(transform.iradon_sart(sinogram, clip=(0.2, 0.1)), original.iradon_sart(sinogram, clip=(0.2, 0.1))) == 0, "a clip without an equal: scikit-image's")
    check.that("does not match" in str(module.raised(ValueError, transform.iradon_sart, sinogram, theta[:5])), "scikit-image's own error")
    import tomoprof
    volume = tomoprof.sart(np.stack([sinogram.T, 2 * sinogram.T], 1), np.deg2rad(theta))
    check.that(volume.shape == (40, 40, 2) and relative(volume[:, :, 1], 2 * volume[:, :, 0]) < 1e-12, "two detector rows")
    check.that(relative(volume[:, :, 0], original.iradon_sart(sinogram, theta)) < 1e-12, "tomoprof.sart takes the same order")
    for wrong, options, says in ((sinogram, {}, "3 axes"), (volume[:2], {"angles": [0]}, "angles: shape is (1,)"), (volume[:2, :, :1], {"order": [0, 2]}, "order[1] is 2; expected 0 to 1"),
                                 (volume[:1], {"initial": volume}, "initial: shape is"), (volume[:1], {"relaxation": np.inf}, "relaxation=inf"), (volume[:1], {"clip": (2, 1)}, "clip is 2 to 1")):
        found = module.raised(ValueError, tomoprof.sart, wrong, **{"angles": np.zeros(len(wrong)), **options})
        check.that(says in str(found), f"{says}: {found}")




def places_of_originals(check, folder):
    """A call without an equal finds the original where ours was assigned in its place."""
    import tomoprof.instead as instead
    kept = scipy.ndimage.median_filter
    scipy.ndimage.median_filter = ndimage.median_filter
    try:
        volume = RANDOM.random((6, 6, 6)).astype(np.float32)
        check.that((ndimage.median_filter(volume, 5) == kept(volume, 5)).all(), "the original of scipy.ndimage")
        check.that(module.raised(NotEqual, instead.original_of, "tomoprof.instead.ndimage", "median_filter"), "ours everywhere")
    finally:
        scipy.ndimage.median_filter = kept


def results_are_compared(check, folder):
    """Arrays and numbers of a result, but no IDs, as ASTRA's are."""
    from tomoprof._replace.calls import compare_results

    def compared(ours, theirs):
        entry = dict.fromkeys(("relative_l2", "largest", "scale", "mismatch"))
        compare_results(entry, ours, theirs)
        return entry

    ones = np.ones(4)
    check.that(compared((3, ones), (4, ones))["relative_l2"] == 0, "an ID beside an array")
    check.that(compared(3, 4)["relative_l2"] is None, "an ID alone")
    check.that(compared([ones, 2.0], [ones, 1.0])["relative_l2"] == 1 and compared({"time": 1.0}, {"time": 2.0})["relative_l2"] is None, "numbers; no dictionaries")
    check.that(compared(ones * 1.5, ones) == {"relative_l2": 0.5, "largest": 0.5, "scale": 1.0, "mismatch": None}, f"{compared(ones * 1.5, ones)}")
    check.that("shape" in compared(ones, ones[:3])["mismatch"] and "2 arrays" in compared([ones, ones], [ones])["mismatch"], "other shapes")


def planes_of_astra(check, folder):
    """ASTRA's creators with a projector of strips; other projectors, geometries and algorithms are its own."""
    try:
        import astra
    except ImportError:
        print("  skipped: no ASTRA", flush=True)
        return
    from tomoprof.instead import astra as instead
    least, instead.LEAST = instead.LEAST, dict.fromkeys(instead.LEAST, 1)

    def projector(kind, pitch=1.0, window=(-32, 32, -24, 24), angles=None, beams="parallel"):
        angles = np.linspace(0, np.pi, 90, endpoint=False) if angles is None else angles
        geometry = astra.create_proj_geom(beams, pitch, 100, angles, *((300, 100) if beams == "fanflat" else ()))
        return instead.create_projector(kind, geometry, astra.create_vol_geom(48, 64, *window))

    y, x = np.mgrid[:48, :64]
    image = np.clip((14 - np.hypot(x - 30, y - 20)) / 3, 0, 1).astype(np.float32)
    for options in ({}, {"pitch": 0.7}, {"window": (-16, 16, -12, 12)}):
        strip = projector("strip", **options)
        (number, ours), (_, theirs) = (f(image, strip) for f in (instead.create_sino.ours, astra.create_sino))
        check.that(ours.shape == theirs.shape and relative(ours, theirs) < 0.002 and (astra.data2d.get(number) == ours).all(), f"create_sino {options}: {relative(ours, theirs):.2g}")
        for name, arguments in (("create_backprojection", (theirs, strip)), ("create_reconstruction", ("FBP", strip, theirs)), ("create_reconstruction", ("SIRT", strip, theirs, 20))):
            (number, ours), (_, second) = (f(*arguments) for f in (getattr(instead, name).ours, getattr(astra, name)))
            check.that(ours.shape == second.shape and relative(ours, second) < 0.005 and (astra.data2d.get(number) == ours).all(), f"{name} {arguments[0] if name == 'create_reconstruction' else ''} {options}: {relative(ours, second):.2g}")
    number = astra.data2d.create("-vol", astra.projector.volume_geometry(strip), image)
    check.that(relative(instead.create_sino.ours(number, strip)[1], astra.create_sino(image, strip)[1]) < 0.002 and type(instead.create_sino.ours(number, strip, returnData=False)) is int, "by ID")
    for kind, options, says in (("linear", {}, "'linear'"), ("line", {}, "'line'"), ("strip", {"window": (0, 64, 0, 48)}, "edges"), ("strip_fanflat", {"beams": "fanflat"}, "strip_fanflat")):
        number = projector(kind, **options)
        check.that(says in str(module.raised(NotEqual, instead.create_sino.ours, image, number)), f"{kind} {options}: {module.raised(NotEqual, instead.create_sino.ours, image, number)}")
        check.that((instead.create_sino(image, number)[1] == astra.create_sino(image, number)[1]).all(), f"{kind} {options}: ASTRA's")
    uneven = projector("strip", angles=np.array([0, 0.1, 1.0]))
    for function, arguments, says in ((instead.create_reconstruction, ("CGLS", strip, theirs), "'CGLS'"), (instead.create_reconstruction, ("SIRT", strip, theirs, 51), "iterations is 51"),
                                      (instead.create_reconstruction, ("SIRT", strip, theirs, 2, "no", None, "yes"), "use_minc"), (instead.create_sino, (image[:-1], strip), "has shape"),
                                      (instead.create_reconstruction, ("FBP", uneven, theirs[:3]), "not even"), (instead.create_sino, (image.astype(int), strip), "int64"),
                                      (instead.create_sino, (image, strip, True, 0), "GPU")):
        check.that(says in str(module.raised(NotEqual, function.ours, *arguments)), f"{says}: {module.raised(NotEqual, function.ours, *arguments)}")
    instead.LEAST = least
    check.that("faster from" in str(module.raised(NotEqual, instead.create_sino.ours, image, projector("strip", angles=np.array([0.0])))), "a small sinogram")
    check.that(instead.create_vol_geom is astra.create_vol_geom, "other names")


def medians_of_tomopy(check, folder):
    """tomopy's medians beside a slow copy of what its libtomo does: the 27 voxels, of which those beyond the edge are the border's."""
    from tomoprof.instead import tomopy

    def median(volume):
        padded = np.pad(volume, 1, mode="edge")
        places = [padded[z:z + volume.shape[0], y:y + volume.shape[1], x:x + volume.shape[2]] for z in range(3) for y in range(3) for x in range(3)]
        return np.sort(places, axis=0)[13]

    for shape in ((5, 6, 7), (1, 1, 1), (2, 1, 9)):
        for dtype, limit in (("float32", 0.4), ("uint16", 300), ("uint16", 299.5)):
            volume = (RANDOM.random(shape) * (1 if dtype == "float32" else 65535)).astype(dtype)
            smooth = median(volume)
            ours = tomopy.median_filter3d.ours(volume)
            check.that(ours.dtype == volume.dtype and (ours == smooth).all(), f"median_filter3d of {shape} {dtype}")
            wanted = np.where(np.abs(volume.astype(float) - smooth) >= limit, smooth, volume)
            ours = tomopy.remove_outlier3d.ours(volume, limit, 3, 2)
            check.that(ours.dtype == volume.dtype and (ours == wanted).all(), f"remove_outlier3d of {shape} {dtype} by {limit}")
    volume = np.ones((3, 3, 3), np.float32)
    for arguments, says in (((volume, 5), "size is 5"), ((volume.astype(float),), "float64"), ((volume[0],), "three axes"), ((volume[:0],), "three axes"), ((volume, 3.0), "size is 3.0")):
        check.that(says in str(module.raised(NotEqual, tomopy.median_filter3d.ours, *arguments)), f"{says}: {module.raised(NotEqual, tomopy.median_filter3d.ours, *arguments)}")
    check.that("more than 0" in module.raised(NotEqual, tomopy.remove_outlier3d.ours, volume, 0), "a limit of 0 is tomopy's median")
    try:
        import tomopy as original
    except ImportError:
        print("  tomopy is not installed: it was compared with a copy of its rule", flush=True)
        return
    volume = RANDOM.random((40, 41, 42)).astype(np.float32)
    for array, limit in ((volume, 0.3), ((volume * 65535).astype(np.uint16), 20000)):
        check.that((tomopy.median_filter3d.ours(array) == original.median_filter3d(array)).all(), f"tomopy's median_filter3d of {array.dtype}")
        check.that((tomopy.remove_outlier3d.ours(array, limit) == original.remove_outlier3d(array, limit)).all(), f"tomopy's remove_outlier3d of {array.dtype}")


def names_of_mbirjax(check, folder):
    """The module inside is the one that has MBIRJAX's other names, too, however it is imported."""
    import tomoprof.instead.mbirjax as mj
    import tomoprof.preprocess
    check.that(mj.preprocess.__name__ == "tomoprof.instead.mbirjax.preprocess" and mj.preprocess.scan_to_sino is tomoprof.preprocess.scan_to_sino, f"{mj.preprocess}")
    try:
        import mbirjax
    except ImportError:
        print("  mbirjax is not installed")
    else:
        missing = [name for name in dir(mbirjax.preprocess) if not name.startswith("_") and not hasattr(mj.preprocess, name)]
        check.that(not missing, f"mj.preprocess lacks {missing}")


main(names_of_mbirjax, medians, scalings, arrays_elsewhere, radon_transforms, orders_of_angles, sart_of_skimage, sart_arguments, places_of_originals, results_are_compared, planes_of_astra, medians_of_tomopy)
