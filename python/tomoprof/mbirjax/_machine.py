"""What MBIRJAX tells of the machine."""

from __future__ import annotations

import os
import resource
from typing import Any

from tomoprof import _library


def get_platform() -> str:
    """"GPU" or "CPU": what tomoprof computes on."""
    return "GPU" if _library.backend() == "cuda" else "CPU"


def get_device_platform(device: Any) -> str:
    """"CPU", "GPU" or "TPU" of a device of JAX."""
    return {"cpu": "CPU", "tpu": "TPU"}.get(device.platform, "GPU")


def _kibibytes(path, name):
    try:
        with open(path, encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name)), 0)
    except OSError:
        return 0


def get_memory_stats(print_results: bool = True, file: Any = None) -> list[dict]:
    """Returns, and prints, the memory of this process in bytes, and what the machine has left: one dict, of the host."""
    path = "/proc/self/smaps_rollup"
    used = sum(_kibibytes(path, name) for name in ("Private_Clean:", "Private_Dirty:")) or _kibibytes("/proc/self/status", "VmRSS:")
    record = {"id": "CPU", "bytes_in_use": 1024 * used, "peak_bytes_in_use": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
              "bytes_limit": 1024 * _kibibytes("/proc/meminfo", "MemAvailable:") or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")}
    if print_results:
        print(record["id"], file=file)
        for name in ("bytes_in_use", "peak_bytes_in_use", "bytes_limit"):
            print(f"  {name}:{record[name] / 2**30:{26 - len(name)}.3f}GB", file=file)
    return [record]
