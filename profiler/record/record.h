/* Running a program with the capture library in it, and staying out of its way: its files,
 * terminal, signals and exit status are those of a bare run. */
#ifndef TP_RECORD_RECORD_H
#define TP_RECORD_RECORD_H

#include <stdint.h>

#include "base/run_folder.h"

struct record_target {
    char path[RUN_PATH];  /* what will be executed */
    char image[RUN_PATH]; /* the machine code in the end: of a script, its interpreter */
    int preload;          /* LD_PRELOAD does no harm here */
    char limits[512]; /* what of it will not be seen and why; "" nothing is known to be missed */
};
/* A Python script that no kernel would run: it is given to python3. */
int record_is_script(const char *name);
/* Looks at `program` as a shell would find it. ERR_INPUT when it cannot be executed. */
enum err record_target(const char *program, struct record_target *out);

/* The capture library beside `program` (this one, absolute) or in ../lib/tomoprof, in a form that
 * fits into LD_PRELOAD. */
enum err record_library(const char *program, char path[RUN_PATH]);

/* The one for MPI beside it, or "" where there is none: for a command that starts ranks, or one
 * that is a rank (mpirun, srun, ...). */
void record_mpi_library(const char *library, const char *command, char path[RUN_PATH]);

#define RECORD_RUN "TOMOPROF_RUN" /* of `record`: the run's folder, which is there */

struct record_settings {
    const char *mpi_library;      /* "": none */
    const char *library, *folder; /* absolute; `folder` receives the trace files */
    const char *modes;            /* comma list, NULL: all */
    double rate_hz;               /* 0: the library's own */
    double seconds;               /* the recording ends so long after this call; 0: never */
    int preload, whole_graphs;    /* whole_graphs: CUDA graphs without their nodes */
    int kernel_lines;             /* samples inside kernels */
};
/* The environment `base` with what the library needs, earlier preloads and injections kept.
 * malloc'ed, record_environment_free(). `note` says what could not be had, else "". */
enum err record_environment(const struct record_settings *s, char *const *base, char ***out,
                            char note[256]);
void record_environment_free(char **environment);

struct record_end {
    int exit_code, signal;           /* signal 0: it exited */
    double wall_s, user_s, system_s; /* CPU time of the program and of what it and we waited for */
    double own_user_s, own_system_s; /* of its own process alone; 0, 0 unknown */
    int64_t peak_rss_bytes;
    int pid, left_running; /* processes of it that live on */
    int exit_unknown;      /* it was not started here */
};

/* prices.c: what recording costs one of each, measured after the run; CPU seconds, 0 unknown. */
struct record_prices {
    double fork_s, load_s; /* processes that do nothing: a forked one, a program */
    double start_s;        /* such a program as the one that is recorded, which is never asleep */
    double signal_s;       /* delivery of a sample's signal, without the handler */
};
/* Pairs of runs of a program take 20 ms, those of all processes 50. */
enum record_priced { PRICED_SIGNALS, PRICED_START, PRICED_PROCESSES };
/* `s`: as the program was recorded, with a folder that is made and removed. */
void record_prices_measure(const struct record_settings *s, enum record_priced what,
                           struct record_prices *out);

/* disks.c: the kernel's counters of block devices and of this process's control group, read before,
 * after and each second meanwhile by a thread of this process. */
enum { RECORD_DISKS = 64 };
struct record_disk { /* since the begin */
    char name[40];
    uint64_t reads, read_sectors, read_ms, writes, write_sectors, write_ms, busy_ms, queue_ms;
    double busy_most; /* of the busiest second; below 0: the run was shorter */
};
struct record_disks {
    struct record_disk row[RECORD_DISKS];
    int count;
    double seconds;
    char reason[120], group_reason[120];            /* "" it is known */
    uint64_t group_reads, group_read, group_writes, /* requests and bytes */
        group_write;
};
void record_disks_begin(void);
void record_disks_end(struct record_disks *out);

/* clocks.c: the clocks of GPUs while they worked, by NVML. */
enum { RECORD_GPUS = 16 };
enum record_limit { /* why a clock is below what it could be, as NVML numbers them */
                    RECORD_LIMIT_POWER = 0x4 | 0x80, /* its cap; a brake from outside */
                    RECORD_LIMIT_HEAT = 0x20 | 0x40,
                    RECORD_LIMIT_OTHER = 0x2 | 0x8 | 0x10, /* a set clock, hardware, its group */
                    RECORD_LIMITS = RECORD_LIMIT_POWER | RECORD_LIMIT_HEAT | RECORD_LIMIT_OTHER,
};
struct record_clock {
    char uuid[40]; /* hex */
    double most_mhz, mean_mhz, least_mhz;
    long long samples, limited; /* in which it worked; of them: with a limit */
    unsigned long long why;     /* enum record_limit */
};
struct record_clocks {
    struct record_clock row[RECORD_GPUS];
    int count;
    char reason[120]; /* "" it is known */
};
void record_clocks_begin(void);
void record_clocks_end(struct record_clocks *out);

/* When the recording ends before the program does. */
struct record_until {
    double seconds; /* 0: it does not */
    void (*ended)(void *context, const struct record_end *then);
    void *context;
    const volatile int *stop; /* set by a signal that came before: nothing is executed */
};
/* Executes it, waits, and forwards signals meanwhile. `silent`: on /dev/null. Times and memory in
 * `out` are those of the recording, its end is the program's. */
enum err record_launch(const char *path, char *const *argv, char *const *environment, int silent,
                       const struct record_until *until, struct record_end *out);

#endif
