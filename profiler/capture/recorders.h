/* All recorders, for the list of library.c. */
#ifndef TP_CAPTURE_RECORDERS_H
#define TP_CAPTURE_RECORDERS_H

#include "profiler/capture/core/recorder.h"

extern const struct recorder python_recorder, heap_recorder, nvtx_recorder, cuda_recorder,
    jit_recorder, wait_recorder, cpu_recorder, io_recorder, locks_recorder, mpi_recorder,
    fatal_recorder;

#endif
