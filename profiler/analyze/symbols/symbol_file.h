/* Opens one ELF file with its debug information, as symbols.c asks for it: symbols_dw.c with
 * elfutils, symbols_elf.c without. The bytes are not trusted. */
#ifndef TP_ANALYZE_SYMBOLS_SYMBOL_FILE_H
#define TP_ANALYZE_SYMBOLS_SYMBOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct symbol_file;

enum symbol_file_state { SYMBOL_FILE_FOUND, SYMBOL_FILE_MISSING, SYMBOL_FILE_CHANGED };
struct symbol_facts {
    enum symbol_file_state state;
    int symbols, lines; /* it has some */
};
struct file_frame {            /* texts live until the file is closed; NULL and 0 unknown */
    const char *function;      /* as linked: mangled */
    const char *file, *folder; /* the folder counts when the file's path is relative */
    int line, function_line;
};

/* *out is NULL unless FOUND. No build id (0 bytes): the file is taken as it is. */
enum err symbol_file_open(const char *path, const void *build_id, int build_id_bytes,
                          struct symbol_file **out, struct symbol_facts *facts);
/* Opens an image in memory, settled (code_image.h); takes over `bytes`, malloc'ed. */
enum err symbol_file_open_code(void *bytes, size_t n, struct symbol_file **out);
void symbol_file_close(struct symbol_file *f);
/* Memory that it holds by now, estimated: it grows as parts are read. */
uint64_t symbol_file_memory(const struct symbol_file *f);
/* Frames at an address of the file, innermost first, all but the last inlined; 0 when it knows
 * nothing there. */
int symbol_file_at(struct symbol_file *f, uint64_t address, struct file_frame *out, int max);

#endif
