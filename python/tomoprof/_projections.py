"""Projections and direct reconstruction of all models."""

from __future__ import annotations

from typing import Optional

import numpy
from numpy import ndarray

from tomoprof import _library
from tomoprof._arrays import FLOAT32, Array, Callback, address, differentiable, host, indices, like, located, new, output, require_flag
from tomoprof._calls import OTHER_Y, SINOGRAM, VOLUME, Call, X, Y, header
from tomoprof._devices import DeviceArray, is_on_device
from tomoprof._geometry import Geometry
from tomoprof._library import acquire, release

METHODS = {"adjoint": 0, "voxel": 1, "fourier": 2}


class Projections(Geometry):
    """A x, A' y and what is made of them without iterations."""

    def _mask(self):
        """Pixel indices of a mask that the caller made; None for the two that the library knows."""
        if not self._masked:
            return None
        mask, shape = numpy.asarray(self.params["use_ror_mask"].val), tuple(self.get_params("recon_shape")[:2])
        if mask.shape != shape:
            raise ValueError(f"use_ror_mask: shape is {mask.shape}; expected {shape}, that of recon_shape[:2]")
        if not numpy.isin(mask, (0, 1)).all():
            raise ValueError("use_ror_mask: expected True, False, or an array of 0 and 1")
        return numpy.flatnonzero(mask).astype(numpy.int32)

    def _refuse_mask(self, name, *arrays):
        if self._masked and any(type(array) is DeviceArray for array in arrays):
            raise TypeError(f"{name}: lies on a GPU; a model whose use_ror_mask is an array takes arrays in host memory")

    def _is_long(self, callback, *arrays):
        """Whether a call needs more than arrays in host memory and a model without a mask of the caller's."""
        if callback is not None or self._masked:
            return True
        for array in arrays:
            if array is not None and type(array) is not ndarray and is_on_device(array):
                return True
        return False

    def _short(self, function, start, end, array, name, out, *between):
        """A call by the shortest way: nothing is made anew but the result. start, end: which of the plan's ends the arrays are; None for no input."""
        context = acquire()
        try:
            plan = self._plans.get(context) or self._plan(context)
            result_shape, result_header, second, _ = plan.ends[end]
            shape, source_header, first, axes = plan.ends[start] if start is not None else (None,) * 4
            if start is None:
                source = None
            elif type(array) is ndarray and array.dtype is FLOAT32 and array.shape == shape and (flags := array.flags).c_contiguous and flags.aligned:
                source = array
            else:
                source = host(array, name, shape, axes)
            result = new(result_shape) if out is None else output(out, result_shape)
            if start is not None:
                source_header.data = address(source)
            result_header.data = address(result)
            status = function(context.pointer, plan.pointer, *between, first, second)
            if status:
                raise context.error(status)
        finally:
            release(context)
        if out is not None:
            return out
        return result if source is array else like(array, result)

    def _project(self, function, forward, array, name, out, callback):
        traced = differentiable(array) if type(array) is not ndarray and out is None and callback is None else None
        if traced is not None:
            return (traced.forward_project if forward else traced.back_project)(self, array)
        if self._is_long(callback, array, out):
            return self._project_long(function, forward, array, name, out, callback)
        return self._short(function, X if forward else Y, Y if forward else X, array, name, out)

    def _project_long(self, function, forward, array, name, out, callback):
        pixels = self._mask()
        shapes = self.get_params(["recon_shape", "sinogram_shape"])
        shape, result_shape = shapes if forward else shapes[::-1]
        source = located(array, name, tuple(shape), VOLUME if forward else SINOGRAM)
        result = output(out, tuple(result_shape), beside=source)
        self._refuse_mask(name, source, result)
        if pixels is None:
            name = "forward_project" if forward else "back_project"
            with Call(callback) as call:
                call(name, self._plan(call.context).handle, header(source), header(result))
        elif forward:
            cylinders = source.reshape(-1, shape[2])[pixels]
            self.sparse_forward_project(cylinders, pixels, out=result, callback=callback)
        else:
            result[...] = 0
            result.reshape(-1, result_shape[2])[pixels] = self.sparse_back_project(source, pixels, callback=callback)
        return out if out is not None else like(array, result)

    def forward_project(self, recon: Array, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Projects a volume (rows, columns, slices) of attenuation per ALU over the region of reconstruction.

        Returns the sinogram (views, detector rows, channels) of line integrals. output_sharded has no effect."""
        if output_sharded is not False:
            require_flag("output_sharded", output_sharded)
        return self._project(_library.forward_project, True, recon, "recon", out, callback)

    def back_project(self, sinogram: Array, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Applies the exact adjoint of `forward_project` to a sinogram (views, detector rows, channels).

        Returns a volume (rows, columns, slices), 0 outside of the region of reconstruction. output_sharded has no effect."""
        if output_sharded is not False:
            require_flag("output_sharded", output_sharded)
        return self._project(_library.back_project, False, sinogram, "sinogram", out, callback)

    def sparse_forward_project(self, voxel_values: Array, pixel_indices: Array, *, out: Array = None, callback: Callback = None) -> Array:
        """Projects some pixels: voxel_values (pixels, slices), pixel_indices row * columns + column of each, which may repeat.

        Returns the sinogram (views, detector rows, channels)."""
        rows, columns, slices = self.get_params("recon_shape")
        pixels = indices(pixel_indices, "pixel_indices", rows * columns)
        values = located(voxel_values, "voxel_values", (len(pixels), slices), "pixels, slices")
        result = output(out, tuple(self.get_params("sinogram_shape")), beside=values)
        pixels = pixels.copy() if type(result) is ndarray and numpy.may_share_memory(pixels, result) else pixels
        with Call(callback) as call:
            call("sparse_forward_project", self._plan(call.context).handle, header(values), pixels.ctypes.data, len(pixels),
                 header(result))
        return out if out is not None else like(voxel_values, result)

    def sparse_back_project(self, sinogram: Array, pixel_indices: Array, coeff_power: int = 1, *, out: Array = None, callback: Callback = None) -> Array:
        """Applies the adjoint of `sparse_forward_project`; coeff_power 2 squares the entries of the matrix.

        Returns (pixels, slices)."""
        if coeff_power not in (1, 2):
            raise ValueError(f"coeff_power is {coeff_power!r}; expected 1 or 2")
        shape = self.get_params("recon_shape")
        pixels = indices(pixel_indices, "pixel_indices", shape[0] * shape[1])
        source = located(sinogram, "sinogram", tuple(self.get_params("sinogram_shape")), SINOGRAM)
        result = output(out, (len(pixels), shape[2]), beside=source)
        pixels = pixels.copy() if type(result) is ndarray and numpy.may_share_memory(pixels, result) else pixels
        with Call(callback) as call:
            call("sparse_back_project", self._plan(call.context).handle, header(source), pixels.ctypes.data, len(pixels),
                 int(coeff_power), header(result))
        return out if out is not None else like(sinogram, result)

    def compute_hessian_diagonal(self, weights: Array = None, output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Back projects weights (views, detector rows, channels), None for ones, with the squared matrix over all pixels.

        Returns a volume (rows, columns, slices): the diagonal of A' W A. output_sharded has no effect."""
        if output_sharded is not False:
            require_flag("output_sharded", output_sharded)
        if not self._is_long(callback, weights, out):
            return self._short(_library.hessian_diagonal, None if weights is None else Y, X, weights, "weights", out)
        sinogram_shape, recon_shape = self.get_params(["sinogram_shape", "recon_shape"])
        source = None if weights is None else located(weights, "weights", tuple(sinogram_shape), SINOGRAM)
        result = output(out, tuple(recon_shape), beside=source)
        with Call(callback) as call:
            plan = self._plan(call.context)
            call("hessian_diagonal", plan.handle, header(source), header(result))
        return out if out is not None else like(weights, result)

    def get_voxels_at_indices(self, recon: Array, indices):
        """Returns the voxels (pixels, slices) of a volume at pixel indices."""
        return recon.reshape((-1, recon.shape[-1]))[indices]

    def reshape_recon(self, recon: Array):
        """Returns `recon` with the shape recon_shape."""
        return recon.reshape(self.get_params("recon_shape"))

    # ---- Direct reconstruction ----

    def _filter_name(self, name):
        require_flag("filter_name", name, "None or a name")
        if name not in (None, "ramp"):
            raise NotImplementedError(f"filter_name is {name!r}; tomoprof has 'ramp'")

    def direct_filter(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, out: Array = None, callback: Callback = None) -> Array:
        """Filters a sinogram so that its back projection is the volume: the ramp of FBP, for cone beams FDK's with its weights.

        Returns a sinogram (views, detector rows, channels). The views are taken as evenly spaced."""
        self._filter_name(filter_name)
        if not self._is_long(callback, sinogram, out):
            return self._short(_library.direct_filter, Y, OTHER_Y, sinogram, "sinogram", out)
        shape = tuple(self.get_params("sinogram_shape"))
        source = located(sinogram, "sinogram", shape, SINOGRAM)
        result = output(out, shape, beside=source)
        with Call(callback) as call:
            plan = self._plan(call.context)
            call("direct_filter", plan.handle, header(source), header(result))
        return out if out is not None else like(sinogram, result)

    def direct_recon(self, sinogram: Array, filter_name: Optional[str] = "ramp", output_sharded: bool = False, *, method: str = "adjoint", out: Array = None, callback: Callback = None) -> Array:
        """Reconstructs without iterations: FBP for parallel beams, FDK for cone beams. The views are taken as evenly spaced.

        method: "adjoint" is MBIRJAX's back_project(direct_filter(sinogram)). "voxel" (cone beams) interpolates at each voxel's centre,
        "fourier" (parallel beams) goes through the plane of frequencies; both are faster and differ slightly.
        Returns a volume (rows, columns, slices) of attenuation per ALU."""
        self._filter_name(filter_name)
        if method not in METHODS:
            raise ValueError(f"method is {method!r}; expected 'adjoint', 'voxel' or 'fourier'")
        if not self._is_long(callback, sinogram, out):
            return self._short(_library.direct_recon, Y, X, sinogram, "sinogram", out, METHODS[method])
        sinogram_shape, recon_shape = self.get_params(["sinogram_shape", "recon_shape"])
        source = located(sinogram, "sinogram", tuple(sinogram_shape), SINOGRAM)
        self._refuse_mask("sinogram", source)
        if self._mask() is not None:
            return self.back_project(like(sinogram, self.direct_filter(source)), out=out, callback=callback)
        result = output(out, tuple(recon_shape), beside=source)
        with Call(callback) as call:
            plan = self._plan(call.context)
            call("direct_recon", plan.handle, METHODS[method], header(source), header(result))
        return out if out is not None else like(sinogram, result)
