/* The dynamic symbols of one loaded image, through its GNU hash table: dlsym would wait for a
 * dlopen that another thread is in. Of an image that modules_each gives, under modules_hold. */
#ifndef TP_CAPTURE_CORE_UNWIND_ELF_DYNAMIC_H
#define TP_CAPTURE_CORE_UNWIND_ELF_DYNAMIC_H

#include <link.h>
#include <stdint.h>

struct elf_dynamic {
    uintptr_t symbols, names, hash;
    struct {
        uint32_t buckets, first, words, shift;
    } head; /* of the hash table */
};

/* 1: it has a table to look into. */
int elf_dynamic_read(const struct dl_phdr_info *info, struct elf_dynamic *d);
/* The value of a symbol that the image defines, to which its bias is added; 0 none. */
uintptr_t elf_dynamic_find(const struct elf_dynamic *d, const char *name);

/* Tells whether the names of a file's symbol table, so many bytes, may be searched by now: many take
 * milliseconds (7.5 MB of node 3), which is much of a short program's time. */
int elf_names_are_due(uint64_t bytes);

#endif
