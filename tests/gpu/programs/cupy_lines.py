"""CuPy: kernels, copies and events on lines of their own."""

import cupy
import numpy

from truth import Truth

SPIN = cupy.RawKernel(
    """extern "C" __global__ void spin(float *a, long long cycles)
       {
           long long begin = clock64();
           while (clock64() - begin < cycles)
               ;
           if (threadIdx.x == 0)
               a[blockIdx.x] += 1;
       }""",
    "spin",
)
LEAD, TIMED = 40_000_000, 6_000_000  # cycles: 20 ms and 3 ms


def main():
    truth, size = Truth(), 1 << 20
    host = numpy.zeros(size, numpy.float32)
    device = truth.on("h2d", cupy.asarray(host), bytes=host.nbytes)
    truth.on("kernel", SPIN((1,), (32,), (device, numpy.int64(1000))), detail="spin")
    cupy.cuda.Device().synchronize()
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    truth.on("kernel", SPIN((1,), (32,), (device, numpy.int64(LEAD))), detail="spin")
    begin.record()
    for _ in range(6):
        truth.on("timed", SPIN((8,), (64,), (device, numpy.int64(TIMED))), detail="spin")
    end.record()
    end.synchronize()
    truth.row("event_ns", int(cupy.cuda.get_elapsed_time(begin, end) * 1e6))
    for _ in range(10):
        truth.on("kernel", cupy.multiply(device, 2, out=device), detail="multiply")
    back = truth.on("d2h", device.get(), bytes=host.nbytes)
    print("cupy", float(back[100]))
    truth.write()


main()
