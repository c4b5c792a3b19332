"""Figures of mbirjax.utilities and mbirjax.vcls: partitions, losses, translations, rays, and volumes as moving pictures."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence

import numpy

from tomoprof.mbirjax._viewer import pyplot


def make_figure_folder(fig_folder_name: Optional[str] = None) -> str:
    """Makes a folder, "figs" by default, and returns its name."""
    name = "figs" if fig_folder_name is None else fig_folder_name
    os.makedirs(name, exist_ok=True)
    return name


def makedirs(filepath: Any) -> None:
    """Makes the folder of a file."""
    folder = os.path.dirname(filepath)
    if folder:
        os.makedirs(folder, exist_ok=True)


def display_translation_vectors(translation_vectors: Any, recon_shape: Sequence[int]) -> None:
    """Shows x and z of translation vectors (views, 3) with the outline of the volume, in voxels."""
    vectors, plt = numpy.asarray(translation_vectors), pyplot()
    width, height = recon_shape[1] / 2, recon_shape[2] / 2
    plt.figure(figsize=(6, 6))
    plt.scatter(vectors[:, 0], vectors[:, 2], label="Translations")
    plt.plot([-width, width, width, -width, -width], [-height, -height, height, height, -height], "r--", label="Reconstruction region")
    plt.title("Translations and outline of the volume")
    plt.xlabel("Horizontal translation in ALU")
    plt.ylabel("Vertical translation in ALU")
    plt.axis("equal")
    plt.legend(loc="upper right")
    plt.show()


def debug_plot_partitions(partitions: Sequence[Any], recon_shape: Sequence[int]) -> None:
    """Shows each partition of the pixels as an image with a color for each subset."""
    figure, axes = pyplot().subplots(1, len(partitions), figsize=(5 * len(partitions), 5), squeeze=False)
    for one, partition in zip(axes[0], partitions):
        image = numpy.zeros(recon_shape[0] * recon_shape[1], int)
        for number, pixels in enumerate(partition):
            image[numpy.asarray(pixels).ravel()] = number + 1
        one.imshow(image.reshape(recon_shape[:2]), cmap="nipy_spectral", interpolation="nearest")
        one.set_title(f"{len(partition)} subsets")
        one.axis("off")
    figure.tight_layout()
    pyplot().show()


def debug_plot_indices(num_recon_rows: int, num_recon_cols: int, indices: Any, recon_at_indices: Any = None, num_recon_slices: int = 1,
                       title: str = "Debug Plot") -> None:
    """Shows which pixels `indices` name, and recon_at_indices (pixels, slices), their values in the first slice."""
    figure, axes = pyplot().subplots(1, 2, figsize=(10, 5))
    pixels, shape = numpy.asarray(indices).ravel(), (num_recon_rows, num_recon_cols)
    mask = numpy.zeros(num_recon_rows * num_recon_cols)
    mask[pixels] = 1
    figure.colorbar(axes[0].imshow(mask.reshape(shape)), ax=axes[0])
    axes[0].set_title("Mask of indices")
    if recon_at_indices is None:
        axes[1].axis("off")
    else:
        values = numpy.zeros(num_recon_rows * num_recon_cols)
        numpy.add.at(values, pixels, numpy.asarray(recon_at_indices).reshape(len(pixels), -1)[:, 0])
        figure.colorbar(axes[1].imshow(values.reshape(shape)), ax=axes[1])
        axes[1].set_title(f"{title} at indices")
    figure.suptitle(title)
    figure.tight_layout()
    pyplot().show()


def plot_granularity_and_loss(granularity_sequences: Sequence[Any], fm_losses: Sequence[Any], prior_losses: Sequence[Any], labels: Sequence[str],
                              granularity_ylim: Any = None, loss_ylim: Any = None, fig_title: str = "granularity") -> None:
    """Plots the subsets and the two losses of each iteration, one column for each run, and writes figs/FIG_TITLE_plots.png."""
    count = len(granularity_sequences)
    figure, axes = pyplot().subplots(1, count, figsize=(6 * count, 7), sharey="row", squeeze=False)
    figure.suptitle(fig_title)
    for left, subsets, data, prior, label in zip(axes[0], granularity_sequences, fm_losses, prior_losses, labels):
        iterations, right = numpy.arange(len(subsets)) + 1, left.twinx()
        left.stem(iterations, subsets, label="Number of subsets", basefmt=" ", linefmt="b", markerfmt="bo")
        right.plot(iterations, data, "r", label="Data loss")
        right.plot(iterations, prior, "g", label="Prior loss")
        right.set_yscale("log")
        if granularity_ylim:
            left.set_ylim(granularity_ylim)
        if loss_ylim:
            right.set_ylim(loss_ylim)
        left.set(xlabel="Iteration", ylabel="Number of subsets", title=label)
        right.set_ylabel("Loss")
        lines = [part for one in (left, right) for part in one.get_legend_handles_labels()]
        right.legend(lines[0] + lines[2], lines[1] + lines[3], loc="upper right")
    figure.tight_layout()
    pyplot().show()
    figure.savefig(os.path.join(make_figure_folder(), fig_title + "_plots.png"), bbox_inches="tight")


def show_image_with_projection_rays(image: Any, *, rotation_angles_deg: Any = None, rotation_angles_rad: Any = None, title: Optional[str] = None) -> None:
    """Shows an image with an arrow from the source to the detector for each angle, in degrees or in radians."""
    if numpy.ndim(image) != 2:
        raise ValueError("Image must be a 2D array")
    if (rotation_angles_deg is None) == (rotation_angles_rad is None):
        raise ValueError("Exactly one of rotation_angles_deg or rotation_angles_rad must be None, and the other must be an array of floats")
    angles = numpy.pi / 2 + (numpy.deg2rad(rotation_angles_deg) if rotation_angles_rad is None else numpy.asarray(rotation_angles_rad))
    rows, columns = numpy.shape(image)
    radius, plt = 0.95 * min(rows, columns) / 2, pyplot()
    plt.imshow(image, cmap="gray", extent=(0, columns, rows, 0))
    for i, angle in enumerate(angles):
        plt.arrow(columns / 2, rows / 2, radius * numpy.cos(angle), -radius * numpy.sin(angle), color=f"C{i % 10}", linewidth=1.75,
                  head_width=min(rows, columns) * 0.02, length_includes_head=True)
    plt.title(title or "Image with Overlaid Angles")
    plt.axis("off")
    plt.show()


def _frames(volume, frame_axis, slice_axis, slice_index):
    """The frames of a moving picture along their first axis, and the title of each."""
    names = "xyz" if volume.ndim == 3 else "txyz"
    frame_axis, slice_axis = (axis + volume.ndim if axis is not None and -volume.ndim <= axis < 0 else axis for axis in (frame_axis, slice_axis))
    if volume.ndim == 3:
        if slice_axis is not None or slice_index is not None:
            raise ValueError("slice_axis and slice_index apply only to a 4D volume; fixing an axis of a 3D volume would leave a single image, not a movie.")
        frame_axis = frame_axis or 0
        frames = numpy.moveaxis(volume, frame_axis, 0)
        return frames, [f"{names[frame_axis]} = {i}" for i in range(len(frames))]
    slice_axis = 1 if slice_axis is None else slice_axis
    frame_axis = (1 if slice_axis == 0 else 0) if frame_axis is None else frame_axis
    if frame_axis == slice_axis:
        raise ValueError(f"frame_axis and slice_axis must differ; both are {frame_axis} ({names[frame_axis]}).")
    index = volume.shape[slice_axis] // 2 if slice_index is None else slice_index
    plane = numpy.moveaxis(volume, slice_axis, 0)[index]
    frames = numpy.moveaxis(plane, frame_axis - (frame_axis > slice_axis), 0)
    return frames, [f"{names[slice_axis]} slice = {index}, {names[frame_axis]} = {i}" for i in range(len(frames))]


def save_volume_as_gif(volume: Any, filename: Any, frame_axis: Optional[int] = None, slice_axis: Optional[int] = None, slice_index: Optional[int] = None,
                       vmin: Optional[float] = None, vmax: Optional[float] = None, fps: float = 5) -> None:
    """Writes a volume (x, y, z), or volumes in time (time, x, y, z), as an animated GIF. Needs matplotlib and Pillow.

    frame_axis: a frame for each index along it, the first axis by default. slice_axis, slice_index: for four axes, what stays the same: the
    middle of x by default. vmin is black, vmax white; None for the least and the largest value that is shown."""
    array = numpy.asarray(volume)
    if array.ndim not in (3, 4):
        raise ValueError(f"volume must be 3D (nx, ny, nz) or 4D (num_times, nx, ny, nz); got shape {array.shape}.")
    if fps <= 0:
        raise ValueError(f"fps must be positive; got {fps}.")
    frames, titles = _frames(array, frame_axis, slice_axis, slice_index)
    finite = frames[numpy.isfinite(frames)]
    low, high = ((finite.min() if vmin is None else vmin), (finite.max() if vmax is None else vmax)) if finite.size else (0.0, 1.0)
    if low == high:
        low, high = low - max(1e-6 * abs(low), 1e-6), high + max(1e-6 * abs(high), 1e-6)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image
    figure, axes = pyplot().subplots()
    canvas, image, pictures = FigureCanvasAgg(figure), axes.imshow(frames[0], cmap="gray", vmin=low, vmax=high), []
    axes.axis("off")
    for frame, title in zip(frames, titles):
        image.set_data(frame)
        axes.set_title(title)
        canvas.draw()
        pictures.append(Image.fromarray(numpy.asarray(canvas.buffer_rgba())[..., :3].copy()))
    pyplot().close(figure)
    pictures[0].save(filename, format="GIF", save_all=True, append_images=pictures[1:], duration=1000 / fps, loop=0)
