"""Clocks of a GPU while the program runs, through a stand-in of the driver's management library: what the launcher notes of
them, which device of the recording they belong to, and the reason where the library is missing."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fakes"))
import fake_gpu  # noqa: E402
from recorded import command, compiled, main, need_library, newest, profile, run  # noqa: E402

NVML = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int looks;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(size_t)(i + 1); return 0; }
int nvmlDeviceGetUUID(void *d, char *text, unsigned room)
{
    snprintf(text, room, "GPU-%s", (size_t)d == 1 ? getenv("NVML_UUID") : "ffffffff-0000");
    return 0;
}
int nvmlDeviceGetMaxClockInfo(void *d, int kind, unsigned *mhz) { (void)d; *mhz = 2000; return kind != 1; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned *percent)
{
    percent[0] = (size_t)d == 1 ? 90 : 0; /* the second never works */
    return 0;
}
int nvmlDeviceGetClockInfo(void *d, int kind, unsigned *mhz)
{
    (void)d;
    *mhz = looks++ ? 1500 : 1200;
    if (looks == 3)
        fclose(fopen(getenv("NVML_LOOKED"), "w"));
    return kind != 1;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *why)
{
    (void)d;
    *why = 0x4; /* the power cap */
    return 0;
}
"""


def recorded(folder, env):
    """The shell waits until the clock was looked at three times."""
    wait = 'while [ -n "$NVML_LOOKED" ] && [ ! -e "$NVML_LOOKED" ]; do sleep 0.05; done; exec "$0" "$@"'
    done = run(command(folder / "runs", "--", "/bin/sh", "-c", wait, fake_gpu.APP, "all"), env=env)
    return done, json.loads((newest(folder / "runs") / "record.json").read_text()), profile(folder / "runs")


def test(check, folder):
    env = fake_gpu.environment(folder)
    for name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "TOMOPROF_CAPTURE_DIR"):
        del env[name]
    done, facts, model = recorded(folder, env)
    check.must(done.returncode == 0, f"{done}")
    check.that(facts["clocks"] or facts["clocks_reason"], f"neither clocks nor a reason: {facts}")
    check.must(len(model["devices"]) > 0, "the recording has no device")
    library = compiled(folder, "libnvidia-ml.so.1", NVML, "-shared", "-fPIC")
    if not library:
        return print("skipped: no compiler")
    uuid = model["devices"][0]["uuid"]
    env.update(LD_LIBRARY_PATH=str(folder), NVML_UUID=f"{uuid[:8]}-{uuid[8:]}", NVML_LOOKED=str(folder / "looked"))
    done, facts, model = recorded(folder, env)
    check.must(done.returncode == 0, f"{done}")
    first, second = facts["clocks"]
    check.that(first["uuid"] == uuid and first["most_mhz"] == 2000 and first["least_mhz"] == 1200, f"{first}")
    check.that(first["samples"] >= 3 and first["limited"] == first["samples"], f"{first}")
    mean = (1200 + 1500 * (first["samples"] - 1)) / first["samples"]
    check.that(abs(first["mean_mhz"] - mean) < 1e-6, f"mean {first['mean_mhz']} instead of {mean}")
    check.that(second["samples"] == 0 and second["mean_mhz"] is None, f"a device that never worked: {second}")
    device = next(d for d in model["devices"] if d["uuid"] == uuid)
    check.that(device["busy_mhz"] == first["mean_mhz"] and device["limited_by"] == "the power cap", f"{device}")
    check.that(all(d["busy_mhz"] is None for d in model["devices"] if d["uuid"] != uuid), f"{model['devices']}")


need_library()
main(test)
