"""PyTorch: kernels, copies and events on lines of their own. With the word "profiler", the work happens under
torch.profiler, which is a client of CUPTI as well."""

import contextlib
import sys

import torch

from truth import Truth

LEAD, TIMED = 40_000_000, 6_000_000  # cycles: 20 ms and 3 ms


def work(truth):
    size = 1 << 20
    host = torch.zeros(size)
    pinned = torch.zeros(size // 2).pin_memory()
    device = truth.on("h2d", host.to("cuda"), bytes=4 * size, detail="pageable")
    other = truth.on("h2d", pinned.to("cuda", non_blocking=True), bytes=2 * size, detail="pinned")
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    truth.on("kernel", torch.cuda._sleep(LEAD), detail="sleep")
    begin.record()
    for _ in range(6):
        truth.on("timed", torch.cuda._sleep(TIMED), detail="sleep")
    end.record()
    end.synchronize()
    truth.row("event_ns", int(begin.elapsed_time(end) * 1e6))
    for _ in range(10):
        truth.on("kernel", device.mul_(2), detail="mul")
    for _ in range(10):
        truth.on("kernel", other.add_(1), detail="add")
    back = truth.on("d2h", device.cpu(), bytes=4 * size, detail="pageable")
    torch.cuda.synchronize()
    print("torch", float(back[100]))


def main():
    truth, around = Truth(), contextlib.nullcontext()
    if "profiler" in sys.argv[1:]:
        kinds = torch.profiler.ProfilerActivity
        around = torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA])
    with around:
        work(truth)
    truth.write()


main()
