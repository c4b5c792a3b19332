/* Errands: work that opens files, done by the library's own thread for one of the program's. That
 * thread has a table of descriptors of its own: no thread of the program finds what it opens under a
 * number, or gets another number for its own. A file that is opened here instead lies under the
 * lowest free number until it is raised: a thread that opened files all the time beside others that
 * mapped some and ended met it in 10 % of its calls. Async-signal-safe, from any thread. */
#ifndef TP_CAPTURE_RAW_ERRANDS_H
#define TP_CAPTURE_RAW_ERRANDS_H

#include <stddef.h>
#include <stdint.h>

struct errand {
    void (*work)(struct errand *e);
    void *pointer;
    uint64_t number[8];
    char text[3072];
};

/* 1: the program has threads that could see a file of the calling one, and errands are taken. */
int errands_wanted(void);
/* An errand of `work` that is to be filled in; NULL: none is free, or the last was not done in
 * time. */
struct errand *errand_begin(void (*work)(struct errand *e));
/* Has it done: 1, and errand_end gives it back; 0: not within 100 ms, and it is given back. */
int errand_do(struct errand *e);
void errand_end(struct errand *e);

/* From now on the calling thread needs what it reads (1): where an errand is not done in time,
 * raw_read_file opens the file itself. Else (0) it reads nothing. Returns how it was before. */
int errands_needed(int on);

/* Before the library's own thread begins; `wake` ends its waiting. */
void errands_take(void (*wake)(void));
void errands_serve(void);  /* on that thread: does those that there are */
void errands_refuse(void); /* the same, the last ones: none is taken any longer */
void errands_forked(void); /* in the child of a fork: there is none */

#endif
