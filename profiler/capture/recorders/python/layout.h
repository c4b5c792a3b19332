/* Offsets in bytes of CPython's fields, by minor version. */
#ifndef TP_CAPTURE_RECORDERS_PYTHON_LAYOUT_H
#define TP_CAPTURE_RECORDERS_PYTHON_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

enum python_lines { PYTHON_LNOTAB, PYTHON_LINES, PYTHON_LOCATIONS }; /* 3.9, 3.10, 3.11 on */

struct python_layout {
    uint8_t minor;
    uint8_t lines;        /* enum python_lines */
    uint8_t frame_object; /* frames are objects, one C call each (3.9, 3.10) */
    uint8_t shim_owner;   /* frames of this owner and above belong to the interpreter; 0 none */
    uint8_t tag;          /* bits of a frame's code pointer that are not address */
    uint8_t head;         /* bytes of an object's head, whose last word is its type */
    uint8_t free_threaded;
    /* runtime -> interpreters -> threads */
    uint32_t finalizing, interpreters, interpreter_next, threads, thread_next;
    uint32_t sys;                                /* of an interpreter: the dict of its module sys */
    uint16_t thread_id, native_id, frame, chunk; /* native_id, chunk: 0 = there is none */
    uint32_t gil;   /* up to 3.11: in the runtime; later: of a pointer to it in an interpreter */
    uint8_t cframe; /* 1: `frame` leads to a C structure whose `cframe_frame` is the frame */
    uint8_t cframe_frame, cframe_previous;
    /* frame */
    uint8_t previous, code, instruction, owner, entry; /* entry: 0 = none */
    /* code object */
    uint8_t file, name, line, table, instructions;
    /* text: where the characters are */
    uint8_t ascii, compact;
};

struct python_runtime {
    struct python_layout layout;
    uintptr_t runtime, code_type, frame_type;
    uint32_t version; /* as Py_Version: 0x030b07f0 */
};
extern struct python_runtime python_runtime; /* whose frames are read */

/* Symbols of the process's images, 0 = nothing found. old: interpreters up to 3.6 alone. */
struct python_symbols {
    uintptr_t runtime, old, code_type, frame_type, version, new_ref, get_code, debug_build;
};
void python_find_symbols(struct python_symbols *s);
int python_search_is_due(void); /* it left out a large table, and would not any more */
/* In the symbol tables of an ELF file, loaded with `bias`; `exported`: also in that of the loader. */
void python_search_file(struct python_symbols *s, const char *file, size_t bytes, uintptr_t bias,
                        int exported);

/* NULL and *r filled, or why this interpreter cannot be read. */
const char *python_runtime_of(const struct python_symbols *s, struct python_runtime *r);

#endif
