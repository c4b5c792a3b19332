/* Numbers that decide whether a rule fires, by name. Shares are in percent, and of the run's wall
 * time unless the name tells otherwise. rules.c writes them into the table of the docs. */
#ifndef TP_FINDINGS_THRESHOLDS_H
#define TP_FINDINGS_THRESHOLDS_H

#include "base/rootcause/rootcause.h"

#define LEAST 5 /* less is not worth a finding, unless its rule has a number of its own */

/* Copies to and from the device, and its kernels. */
#define PAGEABLE_LEAST       1
#define PAGEABLE_ASYNC_LEAST 0.5
#define SYNC_LEAST           2
#define IDLE_LEAST           10
#define SMALL_LAUNCHES       100 /* of one kernel */
#define SMALL_LEAST          2
#define JIT_LEAST            2
#define OCCUPANCY_KERNEL     20 /* of the kernel time */
#define OCCUPANCY_LOW        34 /* of the warps that fit */
#define INSIDE_KERNEL        10 /* of the kernel time */
#define INSIDE_STALLS        20 /* of the kernel's samples, for one reason at one line */
#define INSIDE_EXCESS        30 /* of what the line moves */
#define COPIES_OF_DEVICE     30
#define FIRST_CALLS          4
#define FIRST_TIMES          10
#define CLOCK_LOW            90 /* of the highest clock */
#define HIDDEN_LAUNCHES      5  /* of all launches */

/* Memory and CPU of the host. */
#define CHURN_TIMES     10 /* allocated in all, over the peak */
#define CHURN_MIB       1024
#define HOST_COPY_MIB_S 1024
#define HOST_COPY_MOST  10240 /* MiB/s that a copy reaches: what is copied costs its share */
#define SYSTEM_OF_CPU   25
#define COMPUTES        20 /* of the busiest thread's CPU time: it computes too */
#define CROWD_OF_CPU    20 /* in which a pool wakes its threads, and these wait */
#define PYTHON_OF_CPU   30
#define PYTHON_LEAST    10

/* Input and output. A run without its waits for a CPU is "quiet". */
#define STORAGE_WAITED  60 /* of the quiet run */
#define STORAGE_CPU     40 /* likewise, at most */
#define DISK_SLOW_MS    20 /* a read */
#define DISK_FULL       80 /* busy, of the time */
#define REAL_WAITS      95 /* of the waits: below it, those for a CPU are told */
#define DECODE_OF_CPU   60
#define DECODE_QUIET    20 /* of the quiet run */
#define DECODE_WAITED   30 /* likewise, at most */
#define UNNAMED_SOME    5  /* of decoding, in functions without a name */
#define UNNAMED_MUCH    50
#define REREAD_TIMES    1.5
#define REREAD_MIB      1
#define REREAD_LEAST    2
#define STREAM_OPENS    6
#define STREAM_IN_ORDER 90 /* of the bytes */
#define SMALL_CALLS     1000
#define SMALL_WAITED    80 /* of the calls' time: then storage is slow, not the calls */
#define SMALL_OF_CALLS  50 /* up to 10 KiB */
#define JUMPS_IN_ORDER  50 /* of the bytes, at most */
#define JUMPS_CALLS     1000
#define REQUESTS        10
#define REQUEST_MS      20 /* to the first byte */
#define REQUEST_MIB     1  /* at most, mean */
#define LINE_READS_MIB                                                                             \
    1.0 /* a line that reads less loads nothing: it starts a server, or imports */
#define LINE_OF_RUN      50
#define LINE_WAITED      20 /* of the line's time, at most */
#define LINE_DECODES     30 /* of the line's time or CPU time: most of it a codec's */
#define NETWORK_WAITED   40 /* of the quiet run */
#define NETWORK_CPU      60 /* likewise, at most */
#define FAULTS           100
#define FAULTS_MIB       1 /* touched */
#define PLACING_LEAST    10
#define FAULTS_MANY      1000
#define PROCESSES        3
#define PROCESSES_OF_CPU 20
#define PART_CALLS       5
#define PART_SLOW_S      0.1 /* a tile */
#define PART_READ_MIB    1
#define MEMORY_MIB       1024
#define MEMORY_TIMES     4
#define MEMORY_READ_MIB  16
#define UNEVEN_READS     20
#define UNEVEN_TIMES     1.5 /* p95 over p50 */
#define UNEVEN_WAITED    2   /* of the reads at least; as many did not wait */
#define UNEVEN_LEAST     10

/* Locks and ranks. */
#define LOCK_GAIN    2
#define LOCK_ASLEEP  50  /* of the time that the lock was held */
#define LOCK_PYTHON  50  /* of the GIL's holders */
#define LOCK_CODEC   50  /* of the CPU time: its holders decode */
#define LOCK_KNOWN   50  /* of the waits, by one line: confidence is high */
#define LOCK_CROWDED 0.2 /* threads that wait for a CPU: worth a word */
#define LATE_LEAST   5   /* of the time of all ranks */
#define LATE_MOST    50  /* of it, by one rank or for the rank that has the data */
#define TRANSFER     20  /* of the time of all ranks */

#endif
