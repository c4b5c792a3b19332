/* The part of profile.json that is about the GPU's side of source lines, and lines inside kernels:
 * model_fields.h, which includes it. */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_INSIDE_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_INSIDE_H

/* clang-format off */

#define MODEL_GPU_FIELDS(X)                                                                        \
    X(INT, _, launches, "kernels launched")                                                        \
    X(REAL, _, kernel_s, "part of gpu_self_s")                                                     \
    X(REAL, _, copy_s, "part of gpu_self_s")                                                       \
    X(REAL, _, set_s, "part of gpu_self_s: memsets")                                               \
    X(REAL, _, built_s, "of graph nodes that were built here, wherever launched")                  \
    X(REAL, _, device_s, "of kernels whose code begins here (not part of gpu_self_s)")             \
    X(REAL, _, inside_s, "inside kernels at this line, by samples of its instructions; null: not sampled")\
    X(REAL, _, inside_incl_s, "with code that was inlined here")                                   \
    X(REAL, _, wait_s, "host blocked in synchronising calls")                                      \
    X(REAL, _, api_s, "host in CUDA calls, waiting included")                                      \
    X(REAL, _, share, "gpu_self_s / totals.gpu_sum_s")                                             \
    X(LIST, model_top_kernel, kernels, "at most 5, by time")
#define MODEL_STALL_FIELDS(X)                                                                      \
    X(TEXT, _, reason, "key: trace/stalls.h")                                                      \
    X(TEXT, _, meaning, "what the warp does, in words")                                            \
    X(INT, _, samples, "")
#define MODEL_DEVICE_LINE_FIELDS(X)                                                                \
    X(INDEX, _, kernel, "in kernels")                                                              \
    X(TEXT, _, file, "key of files; null: code without lines")                                     \
    X(INT, _, line, "")                                                                            \
    X(TEXT, _, function, "inlined, which the line is of; null: the kernel's own")                  \
    X(LIST, model_place, called_at, "lines that it was inlined into, innermost first")             \
    X(INT, _, samples, "of warps at its instructions")                                             \
    X(REAL, _, share, "of the kernel's samples")                                                   \
    X(REAL, _, s, "share x the kernel's total time; null: not known")                              \
    X(LIST, model_stall, stalls, "by samples")                                                     \
    X(INT, _, sectors, "32 bytes of global memory, counted by Nsight Compute, as the next three")  \
    X(INT, _, sectors_ideal, "that the accesses need")                                             \
    X(INT, _, wavefronts, "passes through shared memory")                                          \
    X(INT, _, wavefronts_ideal, "that the accesses need")
#define MODEL_INSIDE_STRUCTS(X)                                                                    \
    X(model_stall, MODEL_STALL_FIELDS)                                                             \
    X(model_device_line, MODEL_DEVICE_LINE_FIELDS)

/* clang-format on */

#endif
