/* The operations on stores: rows of the catalogue. Stores are made of the suite's phantom in a
 * folder of $TMPDIR: `sliced` (a chunk for each slice) and `blocks` of 64^3. */
#ifndef TP_SUITE_CATALOGUE_STORAGE_H
#define TP_SUITE_CATALOGUE_STORAGE_H

#include "host/suite/catalogue/catalogue.h"

extern const struct operation_rows storage_operations;

#endif
