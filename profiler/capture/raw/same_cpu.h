/* Makes a thread where the calling one runs, and lets it go elsewhere later. */
#ifndef TP_CAPTURE_RAW_SAME_CPU_H
#define TP_CAPTURE_RAW_SAME_CPU_H

/* Around the making of a thread that sleeps at first. The kernel would start it on another CPU, and
 * a process that ends within a millisecond would have been on two: 100 to 200 us more of its CPU
 * time, on two idle CPUs. 1: same_cpu_end is wanted. */
int same_cpu_begin(void);
void same_cpu_end(void);
/* On that thread: it may run wherever its maker could. */
void same_cpu_leave(void);

#endif
