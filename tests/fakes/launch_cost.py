"""What a GPU call from Python costs under the recorder, by depth of the stack, on the emulated GPU. On request:

    TOMOPROF=build/tomoprof python3 tests/fakes/launch_cost.py [PAIRS [PYTHON]]

CPU time of the calling thread per call, bare and recorded in turn; least and median of the differences. The emulated GPU and
its CUPTI are in it. "C": each call goes through max and map; generators and coroutines: each resumes the next."""

import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CALLS = 20000


def inner(library, how, depth):
    gpu = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    place = ctypes.c_void_p()
    gpu.cudaMalloc(ctypes.byref(place), 4096)
    call = gpu.cudaMemset
    call.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)

    def work():
        begin = time.thread_time()
        for _ in range(CALLS):
            call(place, 0, 16)
        return time.thread_time() - begin

    def functions(n):
        return functions(n - 1) if n else work()

    def through_c(n):
        return max(map(through_c, [n - 1])) if n else work()

    def generators(n):
        yield next(generators(n - 1)) if n else work()

    async def coroutine(n):
        return await coroutine(n - 1) if n else work()

    def coroutines(n):
        try:
            coroutine(n).send(None)
        except StopIteration as end:
            return end.value

    print({"functions": functions, "C": through_c, "generators": lambda n: next(generators(n)), "coroutines": coroutines}[how](depth))


def main(pairs=5, python=sys.executable):
    import fake_gpu

    print(f"| {pathlib.Path(python).name}: stack | depth | bare us | recorded, least us more | median us more |\n|---|---|---|---|---|")
    for how in ("functions", "C", "generators", "coroutines"):
        for depth in (1, 30):
            bare, more = [], []
            for _ in range(int(pairs)):
                with tempfile.TemporaryDirectory(prefix="tomoprof-launch-") as folder:
                    recorded = fake_gpu.environment(folder, TOMOPROF_CAPTURE_MODES="python,cuda")
                    words = [python, __file__, "--inner", str(fake_gpu.FAKES / "fake_gpu.so"), how, str(depth)]
                    own = {k: v for k, v in recorded.items() if k not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}
                    took = [float(subprocess.run(words, env=e, stdout=subprocess.PIPE, check=True).stdout) for e in (own, recorded)]
                bare.append(1e6 * took[0] / CALLS)
                more.append(1e6 * (took[1] - took[0]) / CALLS)
            print(f"| {how} | {depth} | {min(bare):.1f} | {min(more):.1f} | {statistics.median(more):.1f} |", flush=True)


if __name__ == "__main__":
    inner(sys.argv[2], sys.argv[3], int(sys.argv[4])) if sys.argv[1:2] == ["--inner"] else main(*sys.argv[1:])
