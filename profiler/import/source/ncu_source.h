/* Lines inside kernels from Nsight Compute's source page. */
#ifndef TP_IMPORT_SOURCE_NCU_SOURCE_H
#define TP_IMPORT_SOURCE_NCU_SOURCE_H

#include "profiler/import/read/csv.h"
#include "profiler/import/source/source.h"

enum { SOURCE_FIELDS = 512 };
enum source_column {
    SOURCE_LINE,
    SOURCE_SAMPLES,
    SOURCE_SECTORS,
    SOURCE_SECTORS_MORE, /* than the line needs */
    SOURCE_WAVEFRONTS,
    SOURCE_WAVEFRONTS_MORE,
    SOURCE_COLUMNS
};
struct ncu_source {
    int open, fields; /* of the table's head; 0: none yet */
    int column[SOURCE_COLUMNS];
    int8_t stall[SOURCE_FIELDS]; /* enum trace_stall of a column, -1: another */
    char kernel[4096], file[4096];
    int64_t rows;
};

int ncu_source_begins(const struct csv *row); /* the table of a kernel */
/* taken: the row belongs to such a table. */
enum err ncu_source_line(struct ncu_source *s, struct builder *b, const struct csv *row,
                         int *taken);

#endif
