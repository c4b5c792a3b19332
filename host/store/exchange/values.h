/* Single numbers, lists of angles and notes of a store. */
#ifndef TP_STORE_EXCHANGE_VALUES_H
#define TP_STORE_EXCHANGE_VALUES_H

#include "host/store/store.h"

struct store_array *values_find(struct store *s, const char *name); /* NULL: none */
/* All elements as float64, malloc. */
enum err values_read(struct store *s, struct store_array *a, double **out);
double values_number(struct store *s, struct store_array *a); /* its only element, or NAN */
double values_scalar(struct store *s, const char *name);      /* the same by name */
double values_note(const struct store *s, const char *name);  /* a note's number, or NAN */
double values_millimetres(const char *units);                 /* NAN: another unit */
/* "FIRST:LAST" in degrees, or a file of one angle per view: .npy, or numbers in text. In radians,
 * malloc. */
enum err values_angles(const char *source, int64_t views, double **out);

#endif
