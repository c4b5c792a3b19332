/* The variables TOMOPROF_CAPTURE_* that configure the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/core/core.h"

static const char *const mode_names[] = {"cpu",  "wait", "memory",  "copies", "python",
                                         "nvtx", "cuda", "objects", "io",     "locks"};
#define MODES (sizeof mode_names / sizeof *mode_names)

enum config_type { MODE_LIST, NUMBER, SIGNAL_NUMBER, BYTES, HEX16 };

/* Every variable but TOMOPROF_CAPTURE_DIR, which switches capture on. */
static const struct config_row {
    const char *name, *wants;
    enum config_type type;
    size_t offset;
    double low, high;
} rows[] = {
#define FIELD(f) offsetof(struct capture_config, f)
    {"TOMOPROF_CAPTURE_MODES", "a list of cpu,wait,memory,copies,python,nvtx,cuda,objects,io,locks",
     MODE_LIST, FIELD(modes), 0, 0},
    {"TOMOPROF_CAPTURE_RATE", "samples per second, 1 to 10000", NUMBER, FIELD(cpu_hz), 1, 1e4},
    {"TOMOPROF_CAPTURE_WAIT_RATE", "polls per second, 1 to 200", NUMBER, FIELD(wait_hz), 1, 200},
    {"TOMOPROF_CAPTURE_ALLOC_MEAN", "bytes, 1 to 1e12", NUMBER, FIELD(alloc_mean), 1, 1e12},
    {"TOMOPROF_CAPTURE_COPY_MEAN", "bytes, 1 to 1e12", NUMBER, FIELD(copy_mean), 1, 1e12},
    {"TOMOPROF_CAPTURE_CALLS", "a share of the CPU time, 0 to 1", NUMBER, FIELD(calls_share), 0, 1},
    {"TOMOPROF_CAPTURE_SIGNAL", "a real-time signal number", SIGNAL_NUMBER, FIELD(signal), 0, 0},
    {"TOMOPROF_CAPTURE_LIMIT", "bytes of one trace file", BYTES, FIELD(byte_limit), 1 << 16, 1e18},
    {"TOMOPROF_CAPTURE_UNTIL", "nanoseconds of CLOCK_MONOTONIC", NUMBER, FIELD(until_ns), 1, 9e15},
    {"TOMOPROF_CAPTURE_LAUNCHER", "a process number", NUMBER, FIELD(launcher), 1, 1e9},
    {"TOMOPROF_CAPTURE_RUN", "32 hexadecimal digits", HEX16, FIELD(run_id), 0, 0},
#undef FIELD
};

static int read_modes(const char *text, unsigned *modes)
{
    unsigned found = 0;
    while (*text) {
        size_t n = strcspn(text, ","), i = 0;
        while (i < MODES && (strlen(mode_names[i]) != n || memcmp(mode_names[i], text, n)))
            i++;
        if (i == MODES)
            return 0;
        found |= 1u << i;
        text += n + (text[n] == ',');
    }
    *modes = found;
    return 1;
}

static int read_hex(const char *text, uint8_t out[16])
{
    uint8_t bytes[16];
    if (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
        return 0;
    for (int i = 0; i < 16; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    memcpy(out, bytes, 16);
    return 1;
}

static int read_value(const struct config_row *r, const char *text, void *field)
{
    char *end;
    if (r->type == MODE_LIST)
        return read_modes(text, field);
    if (r->type == HEX16)
        return read_hex(text, field);
    double low = r->type == SIGNAL_NUMBER ? SIGRTMIN : r->low;
    double high = r->type == SIGNAL_NUMBER ? SIGRTMAX : r->high;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= low && v <= high))
        return 0;
    if (r->type == NUMBER)
        *(double *)field = v;
    else if (r->type == BYTES)
        *(uint64_t *)field = (uint64_t)v;
    else
        *(int *)field = (int)v;
    return 1;
}

int config_read(struct capture_config *c, char *bad, size_t bad_bytes)
{
    const char *folder = secure_getenv("TOMOPROF_CAPTURE_DIR");
    size_t used = 0;
    *c = (struct capture_config){.modes = ((1u << MODES) - 1) & ~(unsigned)CAPTURE_OBJECTS,
                                 .cpu_hz = 100,
                                 .wait_hz = 20,
                                 .alloc_mean = 512 * 1024,
                                 .copy_mean = 8 * 1024 * 1024,
                                 .calls_share = 0.02};
    bad[0] = 0;
    if (!folder || !*folder || strlen(folder) >= sizeof c->folder)
        return 0;
    strcpy(c->folder, folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = secure_getenv(rows[i].name);
        if (!text || !*text || read_value(&rows[i], text, (char *)c + rows[i].offset))
            continue;
        int n = snprintf(bad + used, bad_bytes - used, "%s%s=%.64s is not %s", used ? "; " : "",
                         rows[i].name, text, rows[i].wants);
        used += n > 0 && (size_t)n < bad_bytes - used ? (size_t)n : 0;
    }
    return 1;
}

void config_mode_names(unsigned modes, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < MODES; i++)
        if (modes & 1u << i && used + strlen(mode_names[i]) + 2 < bytes)
            used +=
                (size_t)snprintf(out + used, bytes - used, "%s%s", used ? "," : "", mode_names[i]);
}
