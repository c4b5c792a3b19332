/* Shared by the files of this folder. */
#ifndef TP_OUTSIDE_PROCESS_H
#define TP_OUTSIDE_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#include "base/err.h"
#include "profiler/capture/core/capture.h"

/* process.c: files of /proc/PID, and of its threads (tid 0: of the process). */
size_t process_read(pid_t pid, pid_t tid, const char *name, char *out, size_t bytes);
struct process_stat {
    char state;
    pid_t parent;
    uint64_t user_ticks, system_ticks, start_ticks;
};
int process_stat(pid_t pid, pid_t tid, struct process_stat *out); /* 0: it is gone */
uint64_t process_ticks_ns(uint64_t ticks);
/* Path of a folder or file of /proc/PID. */
#define PROCESS_PATH 64
void process_path(char path[PROCESS_PATH], pid_t pid, const char *name);

/* stop.c: stops a thread and reads its registers; 0: it did not stop within some ms, or is gone. A
 * thread that was stopped must go on; `*system`: it was in a system call. */
struct stopped {
    ucontext_t registers;
    int system, signal; /* signal: that it gets when it goes on */
};
int stop_thread(pid_t tid, struct stopped *out);
void stop_go_on(pid_t tid, struct stopped *s);
/* Lets go of those that stopped too late; `last`: waits for those that have not stopped yet, for
 * the kernel ends their calls with EINTR where this process goes away before. */
void stop_late(int last);
int stop_any_late(void);
int stop_errno(pid_t pid); /* whether it may be traced: 0, or why not */

/* images.c: the ELF images of the process, for unwinding, as MODULE records and to find Python. */
void images_refresh(struct capture_thread *t, pid_t pid);
void images_forget(void);

/* threads.c */
struct threads {
    pid_t pid;
    int crowded; /* threads wait for CPUs */
    struct thread_seen *list;
    size_t count, room;
    uint64_t begin_ns, sampled;
};
/* A look at all threads: when it was due, a random moment; when it began; the mean time between
 * two. */
struct poll_moment {
    uint64_t due_ns, began_ns, interval_ns;
};
void threads_find(struct threads *s, struct capture_thread *t);
void threads_poll(struct threads *s, struct capture_thread *t, const struct poll_moment *k);
void threads_end(struct threads *s, struct capture_thread *t);

#endif
