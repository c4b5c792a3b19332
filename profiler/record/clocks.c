/* Reads the clocks that GPUs really have while the program runs, from the driver's management
 * library (NVML), four times a second on a thread of this process. Only samples in which the GPU
 * worked count.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/record/record.h"

enum { PERIOD_MS = 250, SM_CLOCK = 1, UUID_BYTES = 96 };

/* As its header declares them; 0 is success. */
struct nvml {
    int (*init)(void);
    int (*count)(unsigned *n);
    int (*handle)(unsigned i, void **device);
    int (*uuid)(void *device, char *text, unsigned room);
    int (*clock)(void *device, int kind, unsigned *mhz);
    int (*most)(void *device, int kind, unsigned *mhz);
    int (*use)(void *device, unsigned percent[2]); /* of GPU and memory */
    int (*limits)(void *device, unsigned long long *why);
};
static struct {
    struct record_clocks out;
    double sum[RECORD_GPUS];
    pthread_t thread;
    int running, begun, wake[2];
} clocks;

static const char *nvml_open(struct nvml *n)
{
    const struct {
        const char *name;
        void *to;
    } wanted[] = {{"nvmlInit_v2", &n->init},
                  {"nvmlDeviceGetCount_v2", &n->count},
                  {"nvmlDeviceGetHandleByIndex_v2", &n->handle},
                  {"nvmlDeviceGetUUID", &n->uuid},
                  {"nvmlDeviceGetClockInfo", &n->clock},
                  {"nvmlDeviceGetMaxClockInfo", &n->most},
                  {"nvmlDeviceGetUtilizationRates", &n->use},
                  {"nvmlDeviceGetCurrentClocksThrottleReasons", &n->limits}};
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return "libnvidia-ml.so.1 is not here";
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *f = dlsym(library, wanted[i].name);
        if (!f)
            return "libnvidia-ml.so.1 lacks a function";
        memcpy(wanted[i].to, &f, sizeof f);
    }
    return n->init() ? "NVML cannot be started: no driver answers" : NULL;
}

/* "GPU-0f0f..." with dashes to 32 hexadecimal digits. */
static void plain_uuid(const char *text, char out[40])
{
    size_t n = 0;
    for (text += strncmp(text, "GPU-", 4) ? 0 : 4; *text && n < 39; text++)
        if (*text != '-')
            out[n++] = *text;
    out[n] = 0;
}

static int nvml_devices(const struct nvml *n, void *device[RECORD_GPUS])
{
    unsigned count = 0;
    int kept = 0;
    if (n->count(&count))
        return 0;
    for (unsigned i = 0; i < count && kept < RECORD_GPUS; i++) {
        char text[UUID_BYTES];
        unsigned mhz;
        struct record_clock *c = &clocks.out.row[kept];
        if (n->handle(i, &device[kept]) || n->uuid(device[kept], text, sizeof text) ||
            n->most(device[kept], SM_CLOCK, &mhz) || !mhz)
            continue;
        plain_uuid(text, c->uuid);
        c->most_mhz = mhz;
        kept++;
    }
    return kept;
}

static void nvml_sample(const struct nvml *n, void *device, struct record_clock *c, double *sum)
{
    unsigned percent[2] = {0, 0}, mhz = 0;
    unsigned long long why = 0;
    if (n->use(device, percent) || !percent[0] || n->clock(device, SM_CLOCK, &mhz) || !mhz)
        return;
    if (!n->limits(device, &why) && why & RECORD_LIMITS) {
        c->limited++;
        c->why |= why & RECORD_LIMITS;
    }
    c->samples++;
    *sum += mhz;
    c->least_mhz = c->samples == 1 || mhz < c->least_mhz ? mhz : c->least_mhz;
}

static void *each_period(void *unused)
{
    (void)unused;
    struct nvml n;
    void *device[RECORD_GPUS];
    struct pollfd end = {clocks.wake[0], POLLIN, 0};
    const char *why = nvml_open(&n);
    int count = why ? 0 : nvml_devices(&n, device);
    if (!count)
        snprintf(clocks.out.reason, sizeof clocks.out.reason, "%s",
                 why ? why : "NVML lists no GPU");
    clocks.out.count = count;
    __atomic_store_n(&clocks.begun, 1, __ATOMIC_RELEASE);
    while (count && poll(&end, 1, PERIOD_MS) == 0)
        for (int i = 0; i < count; i++)
            nvml_sample(&n, device[i], &clocks.out.row[i], &clocks.sum[i]);
    return NULL;
}

void record_clocks_begin(void)
{
    sigset_t all, old;
    memset(&clocks, 0, sizeof clocks);
    if (pipe2(clocks.wake, O_CLOEXEC)) {
        snprintf(clocks.out.reason, sizeof clocks.out.reason, "no pipe could be made");
        return;
    }
    sigfillset(&all); /* signals are the launcher's */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    clocks.running = !pthread_create(&clocks.thread, NULL, each_period, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!clocks.running) {
        snprintf(clocks.out.reason, sizeof clocks.out.reason, "no thread could be made");
        close(clocks.wake[0]);
        close(clocks.wake[1]);
    }
}

void record_clocks_end(struct record_clocks *out)
{
    if (clocks.running && !__atomic_load_n(&clocks.begun, __ATOMIC_ACQUIRE)) {
        pthread_detach(clocks.thread); /* a driver that wakes up takes a second */
        *out = (struct record_clocks){.reason = "the run ended before NVML had started"};
        return;
    }
    if (clocks.running) {
        close(clocks.wake[1]); /* ends the wait */
        pthread_join(clocks.thread, NULL);
        close(clocks.wake[0]);
    }
    for (int i = 0; i < clocks.out.count; i++)
        if (clocks.out.row[i].samples)
            clocks.out.row[i].mean_mhz = clocks.sum[i] / (double)clocks.out.row[i].samples;
    *out = clocks.out;
}
