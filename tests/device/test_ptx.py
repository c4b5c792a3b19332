"""Arithmetic of volumes as nvcc compiles it: its PTX, translated to C and executed here, gives the host's places for all pairs of sizes up
to 512, and the host's integers. PTX of places has no multiplication or sum in floats, which ptxas might still contract. Needs nvcc, no GPU."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "ptx"))
import translate  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["compute_75", "compute_120"]  # two compilers of nvcc 13: before Blackwell, and from it on
# `before`: places as they were until integers decided. Both checks must find it.
KERNELS = """
#include "host/backend/volume_math.h"
extern "C" __global__ void place(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at, float *t)
{
    volume_axis(kind, from, n, i, at, t);
}
extern "C" __global__ void before(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at, float *t)
{
    const double x = ((double)i + 0.5) * ((double)from / (double)n) - 0.5;
    const double last = (double)(from - 1);
    const double inside = x < 0 ? 0 : x > last ? last : x;
    const double low = floor(kind == VOLUME_NEAREST ? inside + 0.5 : inside);
    *at = (int32_t)(low > last ? last : low);
    *t = kind == VOLUME_NEAREST ? 0 : (float)(inside - low);
}
extern "C" __global__ void mapped(float x, float less, float factor, float plus, float *y, int32_t *whole)
{
    const struct volume_map m = {less, factor, plus, -INFINITY, INFINITY};
    *y = volume_mapped(x, &m);
    *whole = volume_whole(*y, -32768, 32767);
}
"""
DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/volume_math.h"
#include "tests/device/ptx/host.h"

typedef void (*kernel)(void *const *parameters);
extern "C" const struct ptx_file *ptx_open(const struct ptx_host *host);

static void *no_shared(void)
{
    return NULL;
}
static kernel find(const char *name)
{
    static struct ptx_host services;
    services.shared = no_shared;
    for (const struct ptx_file *file = ptx_open(&services); file; file = file->next)
        for (size_t i = 0; i < file->count; i++)
            if (!strcmp(file->kernels[i].name, name))
                return file->kernels[i].run;
    fprintf(stderr, "no kernel %s\\n", name);
    exit(1);
}
static long pairs(kernel run, enum volume_kind kind)
{
    long differ = 0;
    for (int64_t from = 1; from <= 512; from++)
        for (int64_t n = 1; n <= 512; n++) {
            int same = 1;
            for (int64_t i = 0; i < n; i++) {
                int32_t at, host_at, *to = &at;
                float t, host_t, *share = &t;
                void *const parameters[] = {&kind, &from, &n, &i, &to, &share};
                volume_axis(kind, from, n, i, &host_at, &host_t);
                run(parameters);
                same &= at == host_at && t == host_t;
            }
            differ += !same;
        }
    return differ;
}
int main(void)
{
    const kernel mapped = find("mapped"), place = find("place"), before = find("before");
    long values = 0;
    uint32_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        float x = (float)((state = state * 1664525u + 1013904223u) >> 16) - 32768;
        struct volume_map m = {-1000, 65535.0f / (float)(1 + i % 4000), -32767.5f, -INFINITY, INFINITY};
        const float host_y = volume_mapped(x, &m);
        float y, *to = &y;
        int32_t whole, *rounded = &whole;
        void *const parameters[] = {&x, &m.less, &m.factor, &m.plus, &to, &rounded};
        mapped(parameters);
        values += y != host_y || whole != volume_whole(host_y, -32768, 32767);
    }
    printf("%ld %ld %ld %ld %ld\\n", pairs(place, VOLUME_NEAREST), pairs(place, VOLUME_LINEAR), pairs(before, VOLUME_NEAREST), pairs(before, VOLUME_LINEAR),
           values);
    return 0;
}
"""


def find_nvcc():
    cache = pathlib.Path(os.environ.get("TOMOPROF", "nowhere/tomoprof")).parent / "CMakeCache.txt"
    found = re.findall(r"^TP_CUDA\d+_NVCC:INTERNAL=(.+)$", cache.read_text(), re.M) if cache.exists() else []
    return next((n for n in [*found, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"] if n and pathlib.Path(n).exists()), None)


def body_of(ptx, kernel):
    return re.search(r"\.entry\s+" + kernel + r"\s*\(.*?\)[^{]*\{(.*?)\n\}", ptx, re.S)[1]


def contractible(body):
    """Sums and products in floats: a compiler may still make one rounding of two."""
    return re.findall(r"\b(?:add|sub|mul|mad|fma)(?:\.\w+)*\.f(?:32|64)\b[^;]*", body)


def check_target(nvcc, target, folder):
    source, ptx, program = folder / "kernels.cu", folder / f"{target}.ptx", folder / target
    source.write_text(KERNELS)
    done = subprocess.run([nvcc, "-ptx", "-std=c++17", "-O3", f"-arch={target}", f"-I{ROOT}", source, "-o", ptx], capture_output=True, text=True, timeout=600)
    if done.returncode:
        if "Unsupported gpu architecture" in done.stderr or "is not defined for option 'gpu-architecture'" in done.stderr:
            print(f"{target}: this nvcc does not know it")
            return []
        return [f"{target}: nvcc: {done.stderr.strip()[-400:]}"]
    text = ptx.read_text()
    try:
        (folder / f"{target}.cpp").write_text(translate.translated(text, ptx))
    except translate.Unknown as e:
        return [f"{target}: PTX that this test does not know: {e}"]
    (folder / "driver.cpp").write_text(DRIVER)
    subprocess.run(["c++", "-std=c++17", "-O2", "-ffp-contract=off", "-fno-strict-aliasing", "-w", f"-I{ROOT}", folder / f"{target}.cpp",
                    folder / "driver.cpp", ROOT / "tests/device/ptx/library.cpp", "-o", program], check=True, timeout=600)
    counts = subprocess.run([program], capture_output=True, text=True, check=True, timeout=1200).stdout
    nearest, linear, before_nearest, before_linear, values = map(int, counts.split())
    print(f"{target}: of 262144 pairs of sizes differ {nearest} (nearest) and {linear} (linear), before {before_nearest} and {before_linear}; "
          f"of 1000000 mapped values {values}")
    problems = [f"{target}: place has {line}, which may be contracted" for line in contractible(body_of(text, "place"))]
    if nearest or linear:
        problems.append(f"{target}: places of {nearest} (nearest) and {linear} (linear) of 262144 pairs of sizes are not the host's")
    if values:
        problems.append(f"{target}: {values} of 1000000 mapped values are not the host's")
    if not contractible(body_of(text, "before")) or not before_nearest:
        problems.append(f"{target}: the check overlooks places in float64")
    return problems


def main():
    nvcc = find_nvcc()
    if not nvcc:
        print("skipped: no nvcc was found")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        problems = [p for target in TARGETS for p in check_target(nvcc, target, pathlib.Path(folder))]
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
