/* A program's own clocks: phases by thread CPU time, process CPU time and wall time, written as
 * JSON into the folder that TRUTH names when the program ends. With TRUTH_DELAY, own_s is wall time
 * without the thread's waiting for a CPU. C, C++ and whatever can call C. */
#ifndef TP_TESTS_TRUTH_H
#define TP_TESTS_TRUTH_H
#ifdef __cplusplus
extern "C" {
#endif

/* Phases may nest 8 deep in a thread; a phase of that name in another thread or call adds to the
 * sum. At most 32 names. */
void truth_begin(const char *phase);
void truth_end(const char *phase);

/* Writes now: for a process that ends by exec or _exit. */
void truth_write(void);

#ifdef __cplusplus
}
#endif
#endif
