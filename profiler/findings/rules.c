/* The table of rules, a row for each. docs/internals/report.md has it too, as `tomoprof reference
 * rules` prints it. */
#include "profiler/findings/rules.h"

#define THEN_COMPARE " tomoprof compare RUN1 RUN2."
#define AGAIN                                                                                      \
    "Record it again after the change, then compare both runs (tomoprof compare RUN1 RUN2)."
#define AT_ONCE    "Record it again at once: %s; then" THEN_COMPARE
#define COUNT_THEM "Count them: tomoprof record --with ncu -- COMMAND."
#define OF_RUN     " of the run"
#define INSIDE_TEXT                                                                                \
    "at a line more than " PERCENT(INSIDE_STALLS) " of the kernel's samples (`kernel-lines`)"
#define LEAST_TEXT "more than " PERCENT(LEAST) OF_RUN

#define LOCK_TEST                                                                                  \
    .refuted_by =                                                                                  \
        "The lock is not the cause if one thread takes 1.5 times as long as all of them, "         \
        "or longer.",                                                                              \
    .test = "Record the program with one thread (tomoprof record -- COMMAND), then compare both "  \
            "runs (tomoprof compare RUN1 RUN2)."
#define RANK_TEST                                                                                  \
    .refuted_by = "The work is not the cause if the same rank is not late with the same work on "  \
                  "another machine, or another CPU.",                                              \
    .test = "Bind each rank to CPUs of its own (mpirun --bind-to core), record again and compare " \
            "(tomoprof compare RUN1 RUN2)."

/* clang-format off */
const struct finding_rule finding_rules[] = {
    /* input and output */
    {{"io.storage", "D-IO", "warning", "Storage bound",
      {{"Ask for more at once (threads that read ahead, larger requests), or move the data to "
        "faster storage.", EFFORT_CODE}},
      "Refuted if a second run, with the files in the page cache, takes as long.", AT_ONCE,
      .fires = "reads and writes wait for more than " PERCENT(STORAGE_WAITED) OF_RUN
               ", and the CPU works for less than " PERCENT(STORAGE_CPU)
               "; names the busiest disk"},
     .of_io = 1, .evaluate = rule_io_storage},
    {{"io.decode", "D-DEC", "warning", "Decoding bound",
      {{"Decode with more threads or processes, or store the data with a faster codec or none "
        "(tomoprof convert).", EFFORT_CODE}},
      "Refuted if an uncompressed copy of the file is read as slowly.",
      "Make an uncompressed copy (tomoprof convert FILE COPY.zarr --codec raw, for one), then with "
      "that path: %s.",
      .fires = "codecs (zlib, zstd, JPEG XR and others) take more than " PERCENT(DECODE_OF_CPU)
               " of the CPU time and " PERCENT(DECODE_QUIET) OF_RUN ", and reads wait for less "
               "than " PERCENT(DECODE_WAITED)},
     .of_io = 1, .evaluate = rule_io_decode},
    {{"io.not_storage", "D-DEC?", "warning", "Decoding or a lock takes the time, not storage",
      {{"Look at what the line calls: a codec, a lock (the GIL), a conversion.", EFFORT_CODE}},
      "Refuted if the same calls on a file in /dev/shm are much faster.",
      "Copy the file to /dev/shm, then with that path: %s.",
      .fires = "a line that reads takes more than " PERCENT(LINE_OF_RUN) OF_RUN ", and its reads "
               "wait for less than " PERCENT(LINE_WAITED) " of that; says what seeks of a "
               "slow disk could cost at most"},
     .of_io = 1, .evaluate = rule_io_not_storage},
    {{"io.placing", "D1", "warning", "Placing takes longer than reading",
      {{"Read into the array that is used (readinto, out=), in its type and order.", EFFORT_CODE}},
      "Refuted if a run without the copies takes as long.",
      "Leave out the copies and conversions, then: %s.",
      .fires = "copies and changes of type take longer than reading and decoding, and more than "
               PERCENT(PLACING_LEAST) OF_RUN ", in lines that read a MiB or more"},
     .of_io = 1, .evaluate = rule_io_placing},
    {{"io.processes", "D3", "warning", "Starting processes costs much of the work",
      {{"Keep the processes and give each at least 50 tiles at a time, or use threads where the "
        "reader releases the GIL. Return results through shared memory.", EFFORT_SETTING}},
      "Refuted if ten times as many tiles need nearly ten times as long.",
      "Ten times the tiles: %s;" THEN_COMPARE,
      .fires = "starting " AS_TEXT(PROCESSES) " or more processes of Python takes more than "
               PERCENT(PROCESSES_OF_CPU) " of the CPU time"},
     .of_io = 1, .evaluate = rule_io_processes},
    {{"io.slow_part", "D4", "info", "Each part takes long",
      {{"See which finding names its time: storage, decoding or a lock. Smaller chunks or a faster "
        "codec help where decoding leads.", EFFORT_CODE}},
      "Refuted if a second run, with the files in the page cache, is below 0.1 s a part.",
      "Record it again at once: %s.",
      .fires = "an NVTX range without GPU work, off the CPU for half of its time, has a median above "
               AS_TEXT(PART_SLOW_S) " s in " AS_TEXT(PART_CALLS) " or more calls"},
     .of_io = 1, .evaluate = rule_io_slow_part},
    {{"io.memory", "D5", "warning", "Loading needs much more memory than it reads",
      {{"Memory is about workers x batch x size of a decoded tile: use 2 to 4 workers, batches of "
        "10 to 25, and drop tiles that were placed.", EFFORT_SETTING}},
      "Refuted if half as many workers need as much memory.",
      "Half the workers: %s; compare the Memory tabs.",
      .fires = "memory grew by more than " AS_TEXT(MEMORY_MIB) " MiB and " AS_TEXT(MEMORY_TIMES)
               " times what was read"},
     .of_io = 1, .evaluate = rule_io_memory},
    {{"io.uneven", "D6", "info", "Some reads wait and some do not",
      {{"Compare runs of the same cache state only. Read ahead what is read next.",
        EFFORT_SETTING}},
      "Refuted if a run with the whole file in the page cache differs as much.",
      "Read the file once (cat FILE > /dev/null), then: %s.",
      .fires = "p95 of a file's reads is more than " AS_TEXT(UNEVEN_TIMES) " times the median:"
               " some waited, some did not"},
     .of_io = 1, .evaluate = rule_io_uneven},
    {{"io.open", "D7", "warning", "Much time goes to opening files",
      {{"Keep files open, or put many small files into one. What comes once per file is a smaller "
        "share of a longer run.", EFFORT_CODE}},
      "Refuted if only the first opening is slow (a mount that wakes up).", AT_ONCE,
      .fires = "opening and closing files take " LEAST_TEXT},
     .of_io = 1, .evaluate = rule_io_open},
    {{"io.reread", "D8", "warning", "The same bytes are read again",
      {{"Read larger parts once and keep them, or choose chunks that fit what is asked for.",
        EFFORT_CODE}},
      "Refuted if the file was changed in between, or if a run that keeps what it read takes as "
      "long.",
      "Keep what was read, then: %s;" THEN_COMPARE,
      .fires = "bytes are read more than " AS_TEXT(REREAD_TIMES) " times: slices of a .nii.gz, "
               "tiles that overlap, a series or shards that are read twice. All files count "
               "together"},
     .of_io = 1, .evaluate = rule_io_reread},
    {{"io.requests", "D9", "warning", "Requests wait one after the other",
      {{"Ask for more in one request, or send requests without waiting for the last answer.",
        EFFORT_SETTING}},
      "Refuted if eight at a time take as long: then the server limits.",
      "Set the number of concurrent requests to 8, then: %s.",
      .fires = "requests of less than " AS_TEXT(REQUEST_MIB) " MiB take more than "
               AS_TEXT(REQUEST_MS) " ms to the first byte, and few are in flight"},
     .of_io = 1, .evaluate = rule_io_requests},
    {{"io.network", "D-IO", "warning", "Network bound",
      {{"Send several requests at once, ask for less, or keep a copy near the program.",
        EFFORT_CODE}},
      "Refuted if a server on this machine, with the same data, takes as long.",
      "Serve the same data on this machine, then with that address: %s.",
      .fires = "connections wait for more than " PERCENT(NETWORK_WAITED) OF_RUN ", in reads and in "
               "`poll` before them"},
     .of_io = 1, .evaluate = rule_io_network},
    {{"io.small", "IO1", "warning", "Many small reads or writes",
      {{"Read or write through a buffer of 64 KiB to 1 MiB.", EFFORT_SETTING}},
      "Refuted if a run with such a buffer takes as long.",
      "Set buffering= in Python or setvbuf in C, then: %s.",
      .fires = AS_TEXT(SMALL_CALLS) " or more calls for a file, half of them up to 10 KiB, take "
               LEAST_TEXT},
     .of_io = 1, .evaluate = rule_io_small},
    {{"io.jumps", "IO2", "warning", "Reads jump in the file",
      {{"Sort what is read by its offset, or read neighbours in one call.", EFFORT_CODE}},
      "Refuted if reads that continue the one before wait as long as those that jump.",
      "Sort by offset, then: %s;" THEN_COMPARE,
      .fires = AS_TEXT(JUMPS_CALLS) " or more reads of a file, less than half of its bytes in "
               "order, wait for " LEAST_TEXT},
     .of_io = 1, .evaluate = rule_io_jumps},
    {{"io.faults", "IO5", "warning", "A mapped file is read page by page",
      {{"Tell the kernel what comes (madvise with MADV_WILLNEED or MADV_SEQUENTIAL), read larger "
        "parts with pread, or visit the pages in order.", EFFORT_CODE}},
      "Refuted if a second run, with the file in the page cache, takes as long.", AT_ONCE,
      .fires = AS_TEXT(FAULTS) " or more page faults of mapped files take " LEAST_TEXT},
     .of_io = 1, .evaluate = rule_io_faults},
    {{"io.sync", "IO7", "warning", "The program waits until data is on disk",
      {{"Sync once at the end, where that is safe enough.", EFFORT_CODE}},
      "Refuted if each of them has to be durable: then this is its price.",
      "Leave out the calls of fsync but the last, then: %s.",
      .fires = "`fsync` and its like take " LEAST_TEXT},
     .of_io = 1, .evaluate = rule_io_sync},

    /* locks, of which one leads at most, and ranks */
    {{"lock.gil_native", "D2", "warning", "Compiled code holds the GIL",
      {{"Release the GIL in this function (Py_BEGIN_ALLOW_THREADS, nogil, ctypes.CDLL instead of "
        "PyDLL), or use processes instead of threads.", EFFORT_CODE}},
      LOCK_TEST,
      .fires = "threads wait for the GIL for " LEAST_TEXT ", and compiled code holds it"},
     .leads = "lock", .evaluate = rule_lock_held},
    {{"lock.gil_python", "D2", "warning", "Python code runs in one thread at a time",
      {{"Use processes instead of threads, or move the loop into compiled code that releases the "
        "GIL.", EFFORT_CODE}},
      LOCK_TEST,
      .fires = "the same, and the interpreter itself holds it for " PERCENT(LOCK_PYTHON)
               " or more"},
     .leads = "lock", .evaluate = rule_lock_held},
    {{"lock.asleep", "D2", "warning", "A lock is held during a wait",
      {{"Read, write or sleep before the lock is taken, or after it is released.", EFFORT_CODE}},
      LOCK_TEST,
      .fires = "threads wait for a lock for " LEAST_TEXT ", and its holder sleeps for more than "
               PERCENT(LOCK_ASLEEP) " of that"},
     .leads = "lock", .evaluate = rule_lock_held},
    {{"lock.contention", "D2", "warning", "Threads wait for a lock",
      {{"Hold the lock for a shorter time, or give each thread data of its own.", EFFORT_CODE}},
      LOCK_TEST,
      .fires = "threads wait for another lock for " LEAST_TEXT "; \"Decoding is serialised\" where "
               "codecs take more than " PERCENT(LOCK_CODEC) " of the CPU time"},
     .leads = "lock", .evaluate = rule_lock_held},
    {{"mpi.root", NULL, "warning", "Ranks wait for the rank that has the data",
      {{"Let every rank read or make its own part, or give the root less to do before the call.",
        EFFORT_CODE}},
      RANK_TEST,
      .fires = "waits for late ranks are more than " PERCENT(LATE_LEAST) " of the time of all "
               "ranks, most of them for the rank that has the data"},
     .leads = "ranks", .evaluate = rule_mpi_late},
    {{"mpi.late", NULL, "warning", "One rank is late",
      {{"Give this rank less work, or share the work out again: its lines are those of its "
        "process.", EFFORT_CODE}},
      RANK_TEST,
      .fires = "the same, most of them for one rank"},
     .leads = "ranks", .evaluate = rule_mpi_late},
    {{"mpi.turns", NULL, "warning", "Ranks wait for each other by turns",
      {{"Share the work out in larger or equal pieces, or let calls that do not block (Iallreduce, "
        "Irecv) run beside the work.", EFFORT_CODE}},
      RANK_TEST,
      .fires = "the same, by turns"},
     .leads = "ranks", .evaluate = rule_mpi_late},
    {{"mpi.transfer", NULL, "warning", "Calls of MPI take long although no rank is late",
      {{"Send less or more at once, overlap it with work (Isend, Iallreduce), or use fewer ranks "
        "with more threads. More ranks than CPUs make every call wait for a CPU.", EFFORT_CODE}},
      "Transfers are not the cause if the same time stays with messages of half the size.",
      "Start as many ranks as there are CPUs, record again and compare (tomoprof compare RUN1 "
      "RUN2).",
      .fires = "calls of MPI take more than " PERCENT(TRANSFER) " of the time of all ranks "
               "although none is late"},
     .evaluate = rule_mpi_transfer},

    /* the GPU */
    {{"gpu.gaps", "G1", "warning", "The device waits for the host",
      {{"Prepare the next step on the host while the device works: streams, a thread that reads "
        "ahead.", EFFORT_CODE}},
      "Refuted if the host computes nothing that the device waits for.", AGAIN,
      .fires = "between its operations the device is idle for more than "
               PERCENT(IDLE_LEAST) OF_RUN},
     .evaluate = rule_gpu_gaps},
    {{"gpu.sync", "G1", "warning", "The host waits for an idle device",
      {{"Synchronise less often: once per batch, or with events where a result is needed.",
        EFFORT_CODE}},
      "Refuted if a run that synchronises once takes as long.", AGAIN,
      .fires = "synchronising calls take more than " PERCENT(SYNC_LEAST) OF_RUN
               " while the device is idle"},
     .evaluate = rule_gpu_sync},
    {{"gpu.small_kernels", "G1", "warning", "Kernels are shorter than their launch",
      {{"Fuse small kernels, give each more work, or launch them as a CUDA graph.", EFFORT_CODE}},
      "Refuted if the same launches as one CUDA graph take as long.", AGAIN,
      .fires = "launching kernels that are shorter than their launch takes more than "
               PERCENT(SMALL_LEAST) OF_RUN},
     .evaluate = rule_gpu_small_kernels},
    {{"gpu.transfers", "G2", "warning", "Copies take much of the device's time",
      {{"Keep arrays on the device between steps, or copy in a stream of its own while kernels "
        "run.", EFFORT_CODE}},
      "Refuted if a run without the copies takes as long.", AGAIN,
      .fires = "copies take more than " PERCENT(COPIES_OF_DEVICE) " of the device's time and "
               LEAST_TEXT},
     .evaluate = rule_gpu_transfers},
    {{"copy.pageable", "G2", "warning", "Copies from and to pageable memory",
      {{"Allocate the host arrays with cudaMallocHost or register them once.", EFFORT_SETTING}},
      "Refuted if copies from pinned memory take as long.", AGAIN,
      .fires = "copies of pageable memory take more than " PERCENT(PAGEABLE_LEAST) OF_RUN},
     .evaluate = rule_copy_pageable},
    {{"copy.pageable_async", "G2", "warning", "Asynchronous copies block the program",
      {{"A copy of pageable memory blocks the caller: use pinned memory.", EFFORT_SETTING}},
      "Refuted if copies from pinned memory take as long.", AGAIN,
      .fires = "asynchronous ones take more than " PERCENT(PAGEABLE_ASYNC_LEAST) OF_RUN},
     .evaluate = rule_copy_pageable_async},
    {{"gpu.first", "G4", "info", "The first call costs more than ten later ones",
      {{"Measure later calls alone. Keep compiled kernels in a cache, or call once with a small "
        "input while data are loaded.", EFFORT_SETTING}},
      "Refuted if a second call in the same process takes as long as the first.", AGAIN,
      .fires = "the first call of an NVTX range takes more than " AS_TEXT(FIRST_TIMES) " times the "
               "median, which costs " LEAST_TEXT},
     .evaluate = rule_gpu_first},
    {{"gpu.jit", "G4", "warning", "Device code is compiled or loaded while the program runs",
      {{"Build for this device (-arch), keep the compiler's cache, or warm up before measuring.",
        EFFORT_SETTING}},
      "Refuted if a second run of the program takes as long to compile.", AGAIN,
      .fires = "compiling and loading device code takes more than " PERCENT(JIT_LEAST) OF_RUN},
     .evaluate = rule_gpu_jit},
    {{"gpu.clocks", "G5", "warning", "The GPU's clock is below what it could be",
      {{"Raise the power limit, or compare runs at a fixed clock.", EFFORT_SETTING}},
      "Refuted if the run takes as long at the highest clock: then memory limits.", AGAIN,
      .fires = "the GPU works below " PERCENT(CLOCK_LOW) " of its highest clock (sampled by NVML), "
               "which costs " LEAST_TEXT},
     .evaluate = rule_gpu_clocks},
    {{"gpu.hidden", "G6", "info", "Some launches have no kernel in the recording",
      {{"The data quality names the reason: a graph, another tool or a lost buffer. Times of the "
        "device are too low by these kernels.", EFFORT_SETTING}},
      "Refuted if the launches failed (errors of the CUDA calls).", AGAIN,
      .fires = "more than " PERCENT(HIDDEN_LAUNCHES) " of the launches have no kernel in the "
               "recording"},
     .evaluate = rule_gpu_hidden},
    {{"gpu.occupancy", NULL, "info", "A kernel leaves most of each multiprocessor empty",
      {{"Look at the limiter: smaller blocks, fewer registers (__launch_bounds__), less shared "
        "memory.", EFFORT_CODE}},
      .fires = "a kernel with more than " PERCENT(OCCUPANCY_KERNEL) " of the kernel time has an "
               "occupancy below " PERCENT(OCCUPANCY_LOW)},
     .evaluate = rule_gpu_occupancy},
    {{"gpu.uncoalesced", "G3", "warning", "The threads of a warp access memory far apart",
      {{"Let neighbouring threads access neighbouring addresses: swap the order of loops or of the "
        "array's axes, or bring tiles into shared memory first.", EFFORT_CODE}},
      "Refuted if the line needs all of the sectors that it moves.", COUNT_THEM,
      .fires = "a line of a kernel with more than " PERCENT(INSIDE_KERNEL) " of the kernel time "
               "moves " PERCENT(INSIDE_EXCESS) " more sectors than it needs, or " INSIDE_TEXT
               " find the queue of memory accesses full"},
     .evaluate = rule_gpu_uncoalesced},
    {{"gpu.bank_conflicts", "G3", "warning", "Threads of a warp use the same bank of shared memory",
      {{"Pad the rows of the array in shared memory by one element, or change which thread takes "
        "which element.", EFFORT_CODE}},
      "Refuted if the line passes through shared memory no more often than it needs.", COUNT_THEM,
      .fires = "likewise for passes through shared memory, or " INSIDE_TEXT
               " find the queue of shared memory full, in a kernel that uses it"},
     .evaluate = rule_gpu_bank_conflicts},
    {{"gpu.memory_wait", "G3", "info", "Warps wait for memory at one line",
      {{"The line is the first use of what was loaded: load earlier, keep more loads in flight "
        "(unroll, more warps), or read it from shared memory.", EFFORT_CODE}},
      "Refuted if the kernel takes as long with the load replaced by a constant.", AGAIN,
      .fires = INSIDE_TEXT " wait for global or local memory"},
     .evaluate = rule_gpu_memory_wait},

    /* memory and CPU time of the host */
    {{"mem.churn", NULL, "info", "Memory is allocated over and over",
      {{"Allocate once outside of the loop and use it again (out= in NumPy).", EFFORT_CODE}},
      .fires = "more than " AS_TEXT(CHURN_MIB) " MiB and " AS_TEXT(CHURN_TIMES) " times the peak "
               "are allocated"},
     .evaluate = rule_mem_churn},
    {{"mem.leak", NULL, "warning", "Memory that is never released",
      {{"Release it, or drop the last reference.", EFFORT_CODE}},
      .fires = "lines allocate again and again, and little of it is freed"},
     .evaluate = rule_mem_leak},
    {{"copy.host", NULL, "info", "Much is copied within host memory",
      {{"Work on views, write results where they are needed, avoid changes of type and order.",
        EFFORT_CODE}},
      "Refuted if a run without these copies takes as long.", AGAIN,
      .fires = "more than " AS_TEXT(HOST_COPY_MIB_S) " MiB/s are copied on average"},
     .evaluate = rule_copy_host},
    {{"cpu.system", NULL, "info", "Much CPU time is spent in the operating system",
      {{"Larger reads and writes, fewer threads that wake each other, memory that is kept instead "
        "of returned.", EFFORT_CODE}},
      .fires = "the kernel takes more than " PERCENT(SYSTEM_OF_CPU) " of the CPU time and "
               LEAST_TEXT},
     .evaluate = rule_cpu_system},
    {{"cpu.crowd", NULL, "warning", "More threads than CPUs wait for each other",
      {{"Set OMP_NUM_THREADS (OPENBLAS_NUM_THREADS, MKL_NUM_THREADS) to the number of CPUs, divided "
        "by the number of your own workers.", EFFORT_SETTING}},
      "Refuted if a run with as many threads as CPUs takes as long.",
      "Set OMP_NUM_THREADS to the number of CPUs, then: %s.",
      .fires = "more threads compute than there are CPUs, and pools take " PERCENT(CROWD_OF_CPU)
               " of the CPU time to wake them and to wait"},
     .leads = "threads", .evaluate = rule_cpu_crowd},
    {{"cpu.python", NULL, "info", "Much CPU time is spent in the Python interpreter",
      {{"Move the loop into NumPy, JAX or compiled code.", EFFORT_CODE}},
      .fires = "the interpreter takes more than " PERCENT(PYTHON_OF_CPU) " of the CPU time and "
               PERCENT(PYTHON_LEAST) OF_RUN ", without imports"},
     .evaluate = rule_cpu_python},
};
/* clang-format on */
const size_t finding_rules_count = sizeof finding_rules / sizeof *finding_rules;

const struct finding_rule *finding_rule_find(const char *id)
{
    return (const struct finding_rule *)(const void *)rule_find(
        finding_rules, sizeof *finding_rules, finding_rules_count, id);
}
