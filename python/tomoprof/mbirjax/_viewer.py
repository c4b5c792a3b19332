"""slice_viewer: volumes side by side in a window of matplotlib, with sliders for the slice and the gray levels."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import numpy

from tomoprof._arrays import host
from tomoprof._records import Records

HELP = "arrow keys, wheel: slice    a: next axis    d: the record of a volume on the terminal"


def pyplot() -> Any:
    """matplotlib.pyplot, which only windows and figures need."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("figures need matplotlib: pip install matplotlib") from None
    return matplotlib.pyplot


def _volume(data, number):
    """A volume of three axes; None is an empty one."""
    if data is None:
        return numpy.zeros((20, 20, 20), numpy.float32)
    axes = getattr(data, "ndim", None) or numpy.asarray(data).ndim
    if axes not in (2, 3):
        raise ValueError(f"data set {number}: {axes} axes; expected 2 or 3")
    view = host(data, f"data set {number}", (None,) * axes)
    return view if axes == 3 else view[..., None]


class SliceViewer:
    """A window with a slice of each data set; `slice_viewer` has the arguments."""

    def __init__(self, *datasets: Any, data_dicts: Any = None, title: str = "", vmin: Optional[float] = None, vmax: Optional[float] = None,
                 slice_label: Union[str, Sequence[str], None] = None, slice_axis: Union[int, Sequence[int], None] = None, cmap: str = "gray",
                 show_instructions: bool = True, block: bool = True) -> None:
        count = len(datasets)
        if not count:
            raise ValueError("slice_viewer needs a volume; none was given")
        dicts = [None] * count if data_dicts is None else [data_dicts] if isinstance(data_dicts, dict) else list(data_dicts)
        if len(dicts) != count or not all(entry is None or isinstance(entry, dict) for entry in dicts):
            raise ValueError("data_dicts must be single dict or a list of dicts of the same length as the number of datasets")
        self.data_dicts = [Records.convert_subdicts_to_strings(entry) for entry in dicts]
        self.data = [_volume(data, i) for i, data in enumerate(datasets)]
        self.labels = ["Slice" if slice_label is None else slice_label] * count if not isinstance(slice_label, (list, tuple)) else list(slice_label)
        self.slice_axes = [2 if slice_axis is None else slice_axis] * count if not isinstance(slice_axis, (list, tuple)) else list(slice_axis)
        if len(self.labels) != count or len(self.slice_axes) != count or any(axis not in (0, 1, 2) for axis in self.slice_axes):
            raise ValueError(f"slice_label, slice_axis: expected one, or {count}, and axes of 0, 1 or 2")
        least, largest = (choose([choose(data) for data in self.data]) for choose in (numpy.min, numpy.max))
        self.vmin, self.vmax = float(least if vmin is None else vmin), float(largest if vmax is None else vmax)
        if self.vmin == self.vmax:
            self.vmin, self.vmax = self.vmin - max(1e-6 * abs(self.vmin), 1e-6), self.vmax + max(1e-6 * abs(self.vmax), 1e-6)
        self.cur_slices = [data.shape[axis] // 2 for data, axis in zip(self.data, self.slice_axes)]
        self._build(title, cmap, show_instructions)
        self.show(block)

    def _build(self, title, cmap, show_instructions):
        from matplotlib.widgets import RangeSlider, Slider
        count = len(self.data)
        self.fig = pyplot().figure(figsize=(max(6 * count, 6), 8))
        self.fig.suptitle(title)
        grid = self.fig.add_gridspec(nrows=3, ncols=count, height_ratios=[15, 1, 1])
        self.axes, self.images = [], []
        for i in range(count):
            axes = self.fig.add_subplot(grid[0, i])
            image = axes.imshow(self._plane(i), cmap=cmap, vmin=self.vmin, vmax=self.vmax)
            self.fig.colorbar(image, ax=axes, fraction=0.046, pad=0.04)
            self.axes.append(axes)
            self.images.append(image)
        last = max(data.shape[axis] for data, axis in zip(self.data, self.slice_axes)) - 1
        self.slice_slider = Slider(self.fig.add_subplot(grid[1, :]), "Slice", 0, max(last, 0.1), valinit=self.cur_slices[0], valfmt="%0.0f")
        self.intensity_slider = RangeSlider(self.fig.add_subplot(grid[2, :]), "Intensity range", self.vmin, self.vmax, valinit=(self.vmin, self.vmax))
        self.slice_slider.on_changed(self._choose_slice)
        self.intensity_slider.on_changed(self._choose_levels)
        self.fig.canvas.mpl_connect("key_press_event", self._key)
        self.fig.canvas.mpl_connect("scroll_event", lambda event: self._move(1 if event.button == "up" else -1))
        if show_instructions:
            self.fig.text(0.01, 0.01, HELP, color="gray")
        self._draw()

    def _plane(self, i):
        return numpy.take(self.data[i], self.cur_slices[i], self.slice_axes[i])

    def _draw(self):
        for i, (axes, image) in enumerate(zip(self.axes, self.images)):
            plane = self._plane(i)
            image.set_data(plane)
            image.set_extent((-0.5, plane.shape[1] - 0.5, plane.shape[0] - 0.5, -0.5))
            axes.set_title(f"{self.labels[i]} {self.cur_slices[i]}\nShape: {self.data[i].shape}, axis {self.slice_axes[i]}")
        self.fig.canvas.draw_idle()

    def _choose_slice(self, value):
        self.cur_slices = [min(max(round(value), 0), data.shape[axis] - 1) for data, axis in zip(self.data, self.slice_axes)]
        self._draw()

    def _choose_levels(self, levels):
        for image in self.images:
            image.set_clim(*levels)
        self.fig.canvas.draw_idle()

    def _move(self, by):
        slider = self.slice_slider
        slider.set_val(min(max(round(slider.val) + by, slider.valmin), slider.valmax))

    def _key(self, event):
        if event.key in ("up", "right", "down", "left"):
            self._move(1 if event.key in ("up", "right") else -1)
        elif event.key == "a":
            self.slice_axes = [(axis + 1) % 3 for axis in self.slice_axes]
            self._choose_slice(self.slice_slider.val)
        elif event.key == "d" and event.inaxes in self.axes:
            for name, text in (self.data_dicts[self.axes.index(event.inaxes)] or {"": "No record was given."}).items():
                print(name, text, sep="\n")

    def show(self, block: bool = True) -> None:
        """Shows the window. block: until all windows are closed; a back end without windows goes on at once."""
        pyplot().show(block=block)


_open: list[SliceViewer] = []


def slice_viewer(*datasets: Any, data_dicts: Any = None, title: str = "", vmin: Optional[float] = None, vmax: Optional[float] = None,
                 slice_label: Union[str, Sequence[str], None] = None, slice_axis: Union[int, Sequence[int], None] = None, cmap: str = "gray",
                 show_instructions: bool = True, block: bool = True) -> None:
    """Shows volumes side by side in a window of matplotlib.

    datasets: arrays of 2 or 3 axes; None for an empty one. data_dicts: their records, as `recon` returns them. vmin is black, vmax white;
    None for the least and the largest value of all. slice_label, slice_axis: one for all, or one for each. block: waits until all windows
    are closed. tomoprof.picture makes a picture without matplotlib."""
    viewer = SliceViewer(*datasets, data_dicts=data_dicts, title=title, vmin=vmin, vmax=vmax, slice_label=slice_label, slice_axis=slice_axis,
                         cmap=cmap, show_instructions=show_instructions, block=block)
    if not block:
        _open.append(viewer)
        return
    for one in (viewer, *_open):
        pyplot().close(one.fig)
    _open.clear()
