/* The file of a kept calibration: a line with its version, what it depends on, the rates, "end". A process
 * that finds another processor, limit, kernel or build there measures anew. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "host/backend/cpu_name.h"
#include "host/suite/run/rate_file.h"

#define RATES_VERSION "tomoprof calibration 1"
#define RATES_BYTES   ((size_t)64 << 10)
#define RATE_MOST     1e18

/* Appends the first line of a file, where there is one. */
static void rate_file_add_file(struct rate_file *k, const char *name, const char *path)
{
    char line[128] = "";
    FILE *f = fopen(path, "re");
    if (f && fgets(line, sizeof line, f))
        text_append(k->about, sizeof k->about, "%s: %.*s\n", name, (int)strcspn(line, "\n"), line);
    if (f)
        fclose(f);
}

/* The limits that a system sets by hand or by its power saving: those of the first processor. */
static void rate_file_about_frequency(struct rate_file *k)
{
    static const char *const files[][2] = {
        {"most, kHz", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"},
        {"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
        {"boost", "/sys/devices/system/cpu/cpufreq/boost"},
        {"no turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
        {"quota", "/sys/fs/cgroup/cpu.max"},
        {"memory", "/sys/fs/cgroup/memory.max"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        rate_file_add_file(k, files[i][0], files[i][1]);
}

static void rate_file_about(const struct backend *be, struct rate_file *k)
{
    char cpu[CPU_NAME];
    struct utsname u = {0};
    struct stat program = {0};
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    uname(&u);
    stat("/proc/self/exe", &program);
    cpu_name(cpu);
    text_print(k->about, sizeof k->about,
               "processor: %s, %ld\ndevice: %s, %.100s\nthreads: %d of %d\nkernel: %.60s\n"
               "build: %lld bytes, %lld.%09ld\n",
               cpu, sysconf(_SC_LEVEL3_CACHE_SIZE), be->ops->name, be->device, be->threads,
               CPU_COUNT(&set), u.release, (long long)program.st_size,
               (long long)program.st_mtim.tv_sec, program.st_mtim.tv_nsec);
    rate_file_about_frequency(k);
}

/* A file for each device and number of threads; what changes on one machine is in it. */
static int rate_file_path(const struct backend *be, struct rate_file *k)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char name[256];
    text_print(name, sizeof name, "%s %s %d", be->ops->name, be->device, be->threads);
    const unsigned long long key = table_hash(name, strlen(name));
    if (cache && *cache == '/')
        return text_print(k->path, sizeof k->path, "%s/tomoprof/calibration-%016llx", cache, key);
    return home && *home == '/' &&
           text_print(k->path, sizeof k->path, "%s/.cache/tomoprof/calibration-%016llx", home, key);
}

static int rate_file_is_rate(double v)
{
    return isfinite(v) && v > 0 && v < RATE_MOST;
}

enum rates_found { RATES_DAMAGED, RATES_OTHER, RATES_GOOD };

/* Reads the rates behind what they depend on. */
static enum rates_found rate_file_parse_rates(struct rate_file *k, const char *text)
{
    double measured, bytes, rate;
    int n = 0;
    if (sscanf(text, "peak %lf %lf %lf\n%n", &k->peak.flops_per_s, &k->peak.bytes_per_s, &measured,
               &n) != 3 ||
        !n || !rate_file_is_rate(k->peak.flops_per_s) || !rate_file_is_rate(k->peak.bytes_per_s) ||
        !rate_file_is_rate(measured))
        return RATES_DAMAGED;
    text += n;
    for (n = 0; sscanf(text, "copy %lf %lf\n%n", &bytes, &rate, &n) == 2 && n; text += n, n = 0) {
        if (!rate_file_is_rate(bytes) || !rate_file_is_rate(rate) ||
            k->copies_count == RATES_COPIES)
            return RATES_DAMAGED;
        k->copies[k->copies_count++] = (struct rate_copy){bytes, rate};
    }
    k->age_s = fmax(1, (double)time(NULL) - measured);
    return strcmp(text, "end\n") ? RATES_DAMAGED : RATES_GOOD;
}

static enum rates_found rate_file_parse(struct rate_file *k, const char *text)
{
    const size_t version = strlen(RATES_VERSION "\n"), about = strlen(k->about);
    if (strncmp(text, RATES_VERSION "\n", version) != 0)
        return RATES_DAMAGED;
    text += version;
    if (!strncmp(text, k->about, about) && !strncmp(text + about, "peak ", 5))
        return rate_file_parse_rates(k, text + about);
    return strstr(text, "\npeak ") ? RATES_OTHER : RATES_DAMAGED;
}

void rate_file_forget(struct rate_file *k)
{
    k->peak = (struct peak){0, 0};
    k->copies_count = 0;
    k->age_s = 0;
}

void rate_file_read(const struct backend *be, struct rate_file *k)
{
    char *text;
    size_t bytes;
    *k = (struct rate_file){0};
    rate_file_about(be, k);
    if (!rate_file_path(be, k)) {
        k->path[0] = 0;
        return;
    }
    if (access(k->path, F_OK))
        return;
    enum rates_found found = RATES_DAMAGED;
    if (!file_read_all(k->path, RATES_BYTES, &text, &bytes)) {
        found = strlen(text) == bytes ? rate_file_parse(k, text) : RATES_DAMAGED;
        free(text);
    }
    if (found == RATES_DAMAGED)
        log_info("%s: not a calibration that tomoprof wrote; it is measured and written again",
                 k->path);
    if (found != RATES_GOOD)
        rate_file_forget(k);
}

int rate_file_copy_rate(const struct rate_file *k, double bytes, double *bytes_per_s)
{
    for (int i = 0; i < k->copies_count; i++)
        if (k->copies[i].bytes == bytes) {
            *bytes_per_s = k->copies[i].bytes_per_s;
            return 1;
        }
    return 0;
}

/* Removes the oldest where they fill their room. */
void rate_file_add_copy(struct rate_file *k, double bytes, double bytes_per_s)
{
    const int n = k->copies_count < RATES_COPIES ? k->copies_count : RATES_COPIES - 1;
    if (!rate_file_is_rate(bytes) || !rate_file_is_rate(bytes_per_s))
        return;
    memmove(k->copies + 1, k->copies, (size_t)n * sizeof *k->copies);
    k->copies[0] = (struct rate_copy){bytes, bytes_per_s};
    k->copies_count = n + 1;
}

static enum err rate_file_save(const struct rate_file *k)
{
    char folder[PATH_MAX];
    struct outfile f;
    path_folder(k->path, folder, sizeof folder);
    TRY(dir_make(folder));
    TRY(outfile_open(&f, k->path));
    fprintf(f.stream, RATES_VERSION "\n%speak %.17g %.17g %.0f\n", k->about, k->peak.flops_per_s,
            k->peak.bytes_per_s, (double)time(NULL) - k->age_s);
    for (int i = 0; i < k->copies_count; i++)
        fprintf(f.stream, "copy %.17g %.17g\n", k->copies[i].bytes, k->copies[i].bytes_per_s);
    fputs("end\n", f.stream);
    return outfile_commit(&f);
}

void rate_file_write(const struct rate_file *k)
{
    if (*k->path && rate_file_is_rate(k->peak.flops_per_s) &&
        rate_file_is_rate(k->peak.bytes_per_s) && rate_file_save(k))
        log_info("the calibration is not kept: %s", err_text());
}
