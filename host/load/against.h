/* Sets a load against other things: the disk that served it, a copy in another format, smaller
 * versions of the array, other files of a data set. */
#ifndef TP_LOAD_AGAINST_H
#define TP_LOAD_AGAINST_H

#include "host/load/load.h"

/* Sets a box to a channel of it. ERR_USAGE lists those that there are. */
enum err load_channel(const struct store_array *a, const char *name, struct engine_box *box);

/* Counters of the disk of a file; they count all programs. */
struct disk_count {
    char name[40], reason[120]; /* reason: of missing counters; "" */
    uint64_t requests, bytes, wait_ms, busy_ms;
};
void disk_counted(const char *path, struct disk_count *out);
enum err load_disk_fill(struct loading *l, const struct disk_count *before,
                        const struct disk_count *after, double seconds);

/* Opens a file and reads an array of it whole, from the page cache: the elapsed time without that of
 * making memory. */
enum err load_time_whole(const struct load_request *r, const char *path, const char *array,
                         double *seconds);

/* Converts the array into the file `copy`, and tells after how many reads that has paid. */
enum err load_copy(const struct load_request *r, struct loading *l, const char *copy);

/* For each factor: a level of the file that is that much smaller, or means of the array, with the
 * time and what is lost. */
enum err load_scalings(struct load_session *s, struct loading *l, const int64_t *factors, int n);

/* Reads each file once, and fills the card of the data set. ERR_INPUT: none can be read. */
enum err load_set(const struct load_request *r, char **paths, int n, struct loading *l);

/* Prints for people what there is of these. */
void load_text_set(const struct loading *l, FILE *f);
void load_text_against(const struct loading *l, FILE *f);
/* Writes them as parts of the page. */
void load_page_set(const struct loading *l, FILE *f);
void load_page_against(const struct loading *l, FILE *f);

#endif
