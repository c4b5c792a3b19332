/* Single numbers, lists of angles and notes of a store. */
#ifndef TP_STORE_EXCHANGE_VALUES_H
#define TP_STORE_EXCHANGE_VALUES_H

#include "host/store/store.h"

/* All names of arrays: their own, and those of links. */
int values_names(const struct store *s);
struct store_alias values_name(const struct store *s, int i);
struct store_array *values_find(struct store *s, const char *name); /* NULL: none */
/* The same for what a scan needs where it is there: ERR_INPUT where it cannot be read. */
enum err values_want(struct store *s, const char *name, struct store_array **out);
/* Reads all elements as float64, malloc'ed. */
enum err values_read(struct store *s, struct store_array *a, double **out);
/* Its only element; NAN: it is not there, or has several. `array` (if not NULL): it, or NULL. */
enum err values_scalar(struct store *s, const char *name, double *out, struct store_array **array);
double values_note(const struct store *s, const char *name); /* a note's number, or NAN */
double values_millimetres(const char *units);                /* NAN: another unit */
/* "FIRST:LAST" in degrees, or a file of one angle per view: .npy, or numbers in text. In radians,
 * malloc. */
enum err values_angles(const char *source, int64_t views, double **out);

#endif
