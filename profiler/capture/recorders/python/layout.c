/* The structures of each CPython version that is known, and which of them an interpreter has. */
#include <string.h>

#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/recorders/python/layout.h"

struct python_runtime python_runtime;

/* Structures of the default builds, as compiled from each version's own headers. They do not change
 * within a minor version. */
/* clang-format off */
static const struct python_layout layouts[] = {
    {.minor = 9, .lines = PYTHON_LNOTAB, .frame_object = 1, .gil = 352,
     .sys = 872, .finalizing = 16, .interpreters = 32, .threads = 8, .thread_next = 8,
     .thread_id = 176, .frame = 24,
     .previous = 24, .code = 32, .instruction = 104,
     .file = 104, .name = 112, .line = 40, .table = 120, .ascii = 48, .compact = 72},
    {.minor = 10, .lines = PYTHON_LINES, .frame_object = 1, .gil = 352,
     .sys = 872, .finalizing = 16, .interpreters = 32, .threads = 8, .thread_next = 8,
     .thread_id = 176, .frame = 24,
     .previous = 24, .code = 32, .instruction = 96,
     .file = 104, .name = 112, .line = 40, .table = 120, .ascii = 48, .compact = 72},
    {.minor = 11, .lines = PYTHON_LOCATIONS, .gil = 360,
     .sys = 904, .finalizing = 24, .interpreters = 40, .threads = 16, .thread_next = 8,
     .thread_id = 152, .native_id = 160, .chunk = 296, .frame = 56,
     .cframe = 1, .cframe_frame = 8, .cframe_previous = 16,
     .previous = 48, .code = 32, .instruction = 56, .entry = 68, .owner = 69,
     .file = 112, .name = 128, .line = 72, .table = 136, .instructions = 184,
     .ascii = 48, .compact = 72},
    {.minor = 12, .lines = PYTHON_LOCATIONS, .shim_owner = 3, .gil = 384,
     .sys = 352, .finalizing = 24, .interpreters = 40, .threads = 72, .thread_next = 8,
     .thread_id = 136, .native_id = 144, .chunk = 232, .frame = 56,
     .cframe = 1, .cframe_frame = 0, .cframe_previous = 8,
     .previous = 8, .code = 0, .instruction = 56, .owner = 70,
     .file = 112, .name = 128, .line = 68, .table = 136, .instructions = 192,
     .ascii = 40, .compact = 56},
    /* From 3.13 on the runtime says most of it itself; these are the rest. */
    {.minor = 13, .lines = PYTHON_LOCATIONS, .shim_owner = 3, .ascii = 40, .compact = 56},
    {.minor = 14, .lines = PYTHON_LOCATIONS, .shim_owner = 3, .tag = 3, .ascii = 40, .compact = 56},
};

/* The runtime of 3.13 and later begins with a cookie, its version, and the offsets that debuggers
 * need; which word is which differs by version. */
enum { COOKIE, VERSION, FREE_THREADED, FINALIZING = 4, INTERPRETERS = 5, INTERPRETER_NEXT = 8,
       THREADS = 9, WORDS = 64 };
/* clang-format on */
struct python_published {
    uint8_t minor, gil, thread, frame, code; /* words: of the GIL; where the groups begin */
};
static const struct python_published published[] = {{13, 14, 19, 28, 34}, {14, 15, 22, 31, 39}};
/* Within the groups, after the size that each begins with: */
enum { THREAD_NEXT = 2, CURRENT_FRAME = 4, THREAD_ID = 5, NATIVE_ID = 6, CHUNK = 7 };
enum { PREVIOUS = 1, EXECUTABLE = 2, INSTRUCTION = 3, OWNER = 5 };
enum { FILE_NAME = 1, QUALIFIED_NAME = 3, LINE_TABLE = 4, FIRST_LINE = 5, CODE_ADAPTIVE = 9 };

static const char *read_published(struct python_runtime *r)
{
    const struct python_published *p = published;
    const size_t n = sizeof published / sizeof *published;
    uint64_t w[WORDS];
    struct python_layout *l = &r->layout;
    while (p < published + n && p->minor != l->minor)
        p++;
    if (p == published + n)
        return NULL;
    if (!safe_read(r->runtime, w, sizeof w) || memcmp(w, "xdebugpy", 8) || w[VERSION] != r->version)
        return "the interpreter's debug offsets are not there";
    if (w[FREE_THREADED]) {
        /* An object's head has its thread, a lock and two counts instead of one count; the GIL
         * begins with whether there is one. In 3.14 each thread has a copy of the instructions. */
        if (l->minor > 13)
            return "free-threaded builds of 3.14 are not supported";
        l->free_threaded = 1;
        l->head = 32;
        l->ascii += 16;
        l->compact += 16;
    }
    const uint64_t *thread = w + p->thread, *frame = w + p->frame, *code = w + p->code;
    l->gil = (uint32_t)w[p->gil];
    l->sys = (uint32_t)w[p->gil - 2];
    l->finalizing = (uint32_t)w[FINALIZING];
    l->interpreters = (uint32_t)w[INTERPRETERS];
    l->interpreter_next = (uint32_t)w[INTERPRETER_NEXT];
    l->threads = (uint32_t)w[THREADS];
    l->thread_next = (uint32_t)thread[THREAD_NEXT];
    l->frame = (uint16_t)thread[CURRENT_FRAME];
    l->thread_id = (uint16_t)thread[THREAD_ID];
    l->native_id = (uint16_t)thread[NATIVE_ID];
    l->chunk = (uint16_t)thread[CHUNK];
    l->previous = (uint8_t)frame[PREVIOUS];
    l->code = (uint8_t)frame[EXECUTABLE];
    l->instruction = (uint8_t)frame[INSTRUCTION];
    l->owner = (uint8_t)frame[OWNER];
    l->file = (uint8_t)code[FILE_NAME];
    l->name = (uint8_t)code[QUALIFIED_NAME];
    l->table = (uint8_t)code[LINE_TABLE];
    l->line = (uint8_t)code[FIRST_LINE];
    l->instructions = (uint8_t)code[CODE_ADAPTIVE];
    return NULL;
}

const char *python_runtime_of(const struct python_symbols *s, struct python_runtime *r)
{
    *r = (struct python_runtime){
        .runtime = s->runtime, .code_type = s->code_type, .frame_type = s->frame_type};
    unsigned long version = 0;
    if (s->version)
        (void)safe_read(s->version, &version, sizeof version);
    else if (s->new_ref) /* a function since 3.10; Py_Version came with 3.11 */
        version = 0x030a0000;
    else if (s->get_code) /* since 3.9 */
        version = 0x03090000;
    r->version = (uint32_t)version;
    if (!s->runtime || (s->code_type && !version))
        return "the interpreter is older than 3.9; those of 3.9 to 3.14 can be read";
    if (!s->code_type)
        return "the interpreter's symbols are not there";
    if (s->debug_build)
        return "debug builds are not supported";
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (version >> 24 == 3 && layouts[i].minor == (version >> 16 & 0xff)) {
            r->layout = layouts[i];
            r->layout.head = 16;
            return read_published(r);
        }
    return "the interpreter is newer than 3.14; those of 3.9 to 3.14 can be read";
}
