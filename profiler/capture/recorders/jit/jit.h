/* Descriptions of code that the program makes at run time. */
#ifndef TP_CAPTURE_RECORDERS_JIT_JIT_H
#define TP_CAPTURE_RECORDERS_JIT_JIT_H

/* The program has mapped file `fd` as code: writers of jitdump do that with jit-PID.dump, so that
 * profilers hear of it. */
void jit_mapped(int fd);

struct capture_thread;

/* files.c: looks whether the process's perf map and jitdump have grown. */
void jit_files_poll(struct capture_thread *t);
void jit_dump_is(const char *path);
void jit_files_forget(void); /* in the child of a fork, which has others */

#endif
