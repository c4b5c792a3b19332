/* Measured peak and ceilings of this GPU: entries of the back end's table (host/backend/backend.h).
 */
#ifndef TP_CUDA_COMMON_PEAK_CUH
#define TP_CUDA_COMMON_PEAK_CUH

#include "cuda/common/device.cuh"

enum err cuda_measure_peak(struct backend *be, struct peak *out);
enum err cuda_measure_ceilings(struct backend *be, struct ceiling out[CEILINGS_MOST], int *count);

#endif
