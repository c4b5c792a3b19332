/* glibc's own word for "this process has one thread" (2.36 to 2.41). It locks nothing in malloc,
 * stdio and mutexes while that holds, and the library's thread would end it: malloc takes 1.7 times
 * as long then. So the word is put back after that thread was made. It stays true of what glibc
 * does: the thread allocates nothing, and takes no lock that the program's thread may take. */
#ifndef TP_CAPTURE_RAW_ONE_THREAD_H
#define TP_CAPTURE_RAW_ONE_THREAD_H

#include <stdint.h>
#include <sys/types.h>

/* On the program's thread, all signals blocked, around the making of the library's: _begin before
 * it, _keep of its result after it. */
int one_thread_begin(void);
extern int one_thread_making; /* between the two; a variable, for calloc asks each time */
void one_thread_keep(int was);
/* On the library's own thread, first of all. */
void one_thread_is_ours(void);
/* 1: the caller is the library's own thread, and locks of the C library and the loader are not for
 * it. It may ask for them by one_thread_end, and finds them free some turns later. */
int one_thread_hands_off(void);
/* Ends this for good in this process, by any of the two threads. */
void one_thread_end(void);
void one_thread_forked(void); /* in the child */
/* 1: the word says that there are several. *since: CPU time of the program's thread at which that
 * began, 0: from the start. */
int one_thread_is_over(uint64_t *since);

#endif
