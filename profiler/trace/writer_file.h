/* The file of a trace that is being written: its path, its descriptor and room in it. Functions are
 * async-signal-safe, as the writer's. */
#ifndef TP_TRACE_WRITER_FILE_H
#define TP_TRACE_WRITER_FILE_H

#include "profiler/trace/writer.h"

/* Anonymous or of a file; NULL: errno. */
void *writer_map(size_t bytes, int flags, int fd, uint64_t offset);
void writer_unmap(const volatile void *p, size_t bytes); /* nothing for NULL */

/* Gives the file room at `offset` and maps it; NULL: *why. */
void *writer_map_room(int fd, uint64_t offset, size_t bytes, int *why);
uint64_t writer_page(void); /* bytes of the machine's pages */
/* Returns where the first chunk lies. */
uint64_t writer_first_offset(void);
/* Sets w->path to `folder`/PID-START.tpt; 0 or ENAMETOOLONG. */
int writer_make_path(struct trace_writer *w, const char *folder, int pid, uint64_t start);
/* Makes that file: its descriptor, and a mapped header in which magic is missing. Below 0: *why. */
int writer_make_file(struct trace_writer *w, struct trace_header **header, int *why);
/* Keeps the descriptor of writer_make_file where it is out of the program's way, or closes it. */
void writer_keep_file(struct trace_writer *w, int fd);
/* The descriptor of the file, opened again where the program closed it; -1: errno. Closed with
 * writer_close_file, which keeps high ones. */
int writer_file(struct trace_writer *w);
void writer_close_file(int fd);
int writer_owns(const struct trace_writer *w, int fd);
/* 1: a descriptor more might be the last that the program can have. */
int writer_few_numbers(void);
/* The job by w->elsewhere: 1, and its result. */
int writer_elsewhere(struct trace_writer *w, trace_job *job, uint32_t bytes, long *result);
void writer_fail(struct trace_writer *w, int why); /* the first one counts */

#endif
