/* Symbol files by elfutils: functions, inlined calls and lines of DWARF. Used when TP_DW is on. */
#ifdef TP_DW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "profiler/analyze/symbols/code_image.h"
#include "profiler/analyze/symbols/debug_files.h"
#include "profiler/analyze/symbols/symbol_file.h"

/* libdw finds compile units by .debug_aranges, which clang and others do not write, symbols by
 * searching all of them, and inlined calls by reading a whole unit: three sorted tables here do
 * that in microseconds. Units and functions are read when an address falls into them. */

enum {
    DEPTH = 128,
    NEAR = 16,
    MEMORY_FACTOR = 24 /* heap that libdw takes for a byte of .debug_info (CPython 3.12: 21) */
};

struct address_range {
    uint64_t start, end;
    Dwarf_Off die; /* of a function */
    uint32_t unit;
};
struct address_ranges {
    VECTOR(struct address_range) all;
};
struct unit {
    Dwarf_Die die;       /* with the line table */
    Dwarf_Die functions; /* with the functions: another one when they are in a .dwo file */
    struct address_ranges ranges;
    int read, deep;
    Dwarf_Lines *lines;
    size_t line_count;
    Dwarf_Files *files;
};

struct symbol_file {
    Dwfl *dwfl;
    void *code; /* of an image in memory: its bytes, and `elf`; dwfl and module are NULL */
    Elf *elf;
    Dwfl_Module *module;
    Dwarf *dwarf;
    Dwarf_Addr bias, dwarf_bias; /* libdwfl's address - address of the file, - address of DWARF */
    struct symtab symbols;
    struct address_ranges ranges; /* of units */
    VECTOR(struct unit) units;
    uint64_t memory;
    long budget; /* entries that may still be read now: a loop of siblings ends */
};

/* Keeps what a server sent where it is of that build id: another file would give other lines. */
static int server_checked(int fd, const void *id, int bytes, char **path)
{
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    const void *its = NULL;
    const int same =
        elf && dwelf_elf_gnu_build_id(elf, &its) == bytes && !memcmp(its, id, (size_t)bytes);
    elf_end(elf);
    if (fd < 0 || same)
        return fd;
    log_warn(
        "%s: a server of DEBUGINFOD_URLS sent the debug information of another file: it is not "
        "used",
        *path);
    close(fd);
    free(*path);
    *path = NULL;
    return -1;
}

/* libdwfl's own would ask servers for more than this. A CRC of 0 asks for the file that dwz shares
 * out to others. */
static int find_debug(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                      const char *main, const char *link, GElf_Word crc, char **path)
{
    (void)user, (void)name, (void)base;
    const unsigned char *id;
    GElf_Addr at;
    if (link && !crc) {
        int fd = *link == '/' ? debug_file_open(link) : -1;
        *path = fd >= 0 ? strdup(link) : NULL;
        return fd;
    }
    free(*path); /* libdwfl asks again after a file that was none of ELF, whose name it forgets */
    *path = NULL;
    int bytes = dwfl_module_build_id(module, &id, &at);
    int fd = bytes > 0 ? debug_file_by_id(id, bytes, ".debug", path) : -1;
    if (fd < 0 && main && link)
        fd = debug_file_by_link(main, link, crc, path);
    return fd < 0 && bytes > 0
               ? server_checked(debug_file_by_server(id, bytes, path), id, bytes, path)
               : fd;
}

static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                    char **path, Elf **elf)
{
    (void)module, (void)user, (void)name, (void)base, (void)path, (void)elf;
    return -1;
}

/* The kernel's own, as it is in this process: the same when nothing was updated since. */
static int open_vdso(void)
{
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
    int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
    for (long page = 0; fd >= 0 && page < 16; page++)
        if (pwrite(fd, image + page * 4096, 4096, page * 4096) != 4096) /* EFAULT at its end */
            break;
    return fd;
}

static int dwarf_same_id(Dwfl_Module *module, const void *build_id, int bytes)
{
    const unsigned char *id;
    GElf_Addr at;
    return !bytes || (dwfl_module_build_id(module, &id, &at) == bytes &&
                      !memcmp(id, build_id, (size_t)bytes));
}

/* Takes over fd. 1 when it is an ELF file of this build id. */
static int open_elf(struct symbol_file *f, int fd, const char *path, const void *id, int bytes)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = find_debug};
    f->dwfl = dwfl_begin(&callbacks);
    f->module = f->dwfl ? dwfl_report_elf(f->dwfl, path, path, fd, 0, true) : NULL;
    if (!f->module)
        close(fd);
    if (f->module && !dwfl_report_end(f->dwfl, NULL, NULL) &&
        dwfl_module_getelf(f->module, &f->bias) && dwarf_same_id(f->module, id, bytes))
        return 1;
    dwfl_end(f->dwfl);
    f->dwfl = NULL;
    return 0;
}

/* The file at its path; where that is gone or another by now, what carries its build id. */
static enum symbol_file_state dwarf_find_file(struct symbol_file *f, const char *path,
                                              const void *id, int bytes)
{
    static const char *const suffixes[] = {"", ".debug"};
    int vdso = !strcmp(path, "[vdso]");
    int fd = vdso ? open_vdso() : debug_file_open(path);
    enum symbol_file_state state = fd < 0 ? SYMBOL_FILE_MISSING : SYMBOL_FILE_CHANGED;
    if (fd >= 0 && open_elf(f, fd, path, id, bytes))
        return SYMBOL_FILE_FOUND;
    for (int i = 0; i < 2; i++) {
        char *other = NULL;
        fd = debug_file_by_id(id, bytes, suffixes[i], &other);
        int opened = fd >= 0 && other && open_elf(f, fd, other, id, bytes);
        free(other);
        if (opened)
            return SYMBOL_FILE_FOUND;
    }
    return state;
}

static enum err dwarf_read_symbols(struct symbol_file *f)
{
    int n = dwfl_module_getsymtab(f->module);
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name =
            dwfl_module_getsym_info(f->module, i, &symbol, &address, &section, NULL, NULL);
        int type = GELF_ST_TYPE(symbol.st_info), binding = GELF_ST_BIND(symbol.st_info);
        if (!name || section == SHN_UNDEF || section == SHN_ABS ||
            (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
            continue;
        int rank = type == STT_NOTYPE ? 0 : binding == STB_LOCAL ? 1 : binding == STB_WEAK ? 2 : 3;
        TRY(symtab_add(&f->symbols, address, symbol.st_size, rank, name));
    }
    symtab_sort(&f->symbols);
    return ERR_OK;
}

ARRAY_ORDER(by_start, struct address_range, COMPARE(x->start, y->start) ?: COMPARE(y->end, x->end));

static enum err add_ranges(struct address_ranges *r, Dwarf_Die *die, struct address_range item)
{
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        if (!start || end <= start) /* 0: what the linker left out */
            continue;
        TRY(vector_room(&r->all, r->all.count + 1));
        item.start = start;
        item.end = end;
        r->all.items[r->all.count++] = item;
    }
    return ERR_OK;
}

static const struct address_range *range_at(const struct address_ranges *r, uint64_t address)
{
    size_t low = ARRAY_BOUND(0, r->all.count, i, r->all.items[i].start <= address);
    for (int i = 0; i < NEAR && low; i++, low--)
        if (address < r->all.items[low - 1].end)
            return &r->all.items[low - 1];
    return NULL;
}

static enum err read_units(struct symbol_file *f)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    while (f->dwarf && !dwarf_get_units(f->dwarf, cu, &cu, NULL, &type, &die, &split)) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        TRY(vector_room(&f->units, f->units.count + 1));
        int has_split = type == DW_UT_skeleton && split.addr;
        f->units.items[f->units.count] =
            (struct unit){.die = die, .functions = has_split ? split : die};
        TRY(add_ranges(&f->ranges, &die, (struct address_range){.unit = (uint32_t)f->units.count}));
        f->units.count++;
    }
    vector_sort(&f->ranges.all, by_start);
    return ERR_OK;
}

enum err symbol_file_open(const char *path, const void *build_id, int build_id_bytes,
                          struct symbol_file **out, struct symbol_facts *facts)
{
    *out = NULL;
    *facts = (struct symbol_facts){.state = SYMBOL_FILE_MISSING};
    struct symbol_file *f = calloc(1, sizeof *f);
    FAIL_IF(!f, ERR_MEMORY, "%s: no memory for its symbols", path);
    facts->state = dwarf_find_file(f, path, build_id, build_id_bytes);
    enum err e = ERR_OK;
    if (facts->state == SYMBOL_FILE_FOUND) {
        f->dwarf = dwfl_module_getdwarf(f->module, &f->dwarf_bias);
        e = dwarf_read_symbols(f);
        if (!e)
            e = read_units(f);
        facts->symbols = f->symbols.count > 0;
        facts->lines = f->ranges.all.count > 0;
        f->memory += f->symbols.count * 32 + f->units.count * sizeof *f->units.items;
    }
    if (e || facts->state != SYMBOL_FILE_FOUND) {
        symbol_file_close(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

enum err symbol_file_open_code(void *bytes, size_t n, struct symbol_file **out)
{
    struct symbol_file *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        free(bytes);
    FAIL_IF(!f, ERR_MEMORY, "no memory for the symbols of generated code");
    f->code = bytes;
    enum err e = code_image_symbols(bytes, n, &f->symbols);
    (void)elf_version(EV_CURRENT);
    f->elf = elf_memory(bytes, n);
    f->dwarf = f->elf ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
    if (!e)
        e = read_units(f);
    f->memory = n + f->symbols.count * 32;
    if (e)
        symbol_file_close(f);
    else
        *out = f;
    return e;
}

void symbol_file_close(struct symbol_file *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->units.count; i++)
        free(f->units.items[i].ranges.all.items);
    vector_free(&f->units);
    free(f->ranges.all.items);
    symtab_free(&f->symbols);
    if (f->dwfl)
        dwfl_end(f->dwfl);
    else
        dwarf_end(f->dwarf);
    elf_end(f->elf);
    free(f->code);
    free(f);
}

uint64_t symbol_file_memory(const struct symbol_file *f)
{
    return f->memory;
}

/* Functions are below units and namespaces; deep: below classes, blocks and other functions too
 * (Fortran's contained ones, GNU C's nested ones). */
static int is_scope(int tag, int deep)
{
    if (tag == DW_TAG_namespace || tag == DW_TAG_module)
        return 1;
    return deep &&
           (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_class_type ||
            tag == DW_TAG_structure_type || tag == DW_TAG_union_type);
}

static enum err ranges_collect(struct symbol_file *f, struct unit *u, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth > DEPTH || dwarf_child(parent, &die))
        return ERR_OK;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            TRY(add_ranges(&u->ranges, &die, (struct address_range){.die = dwarf_dieoffset(&die)}));
        if (is_scope(tag, u->deep))
            TRY(ranges_collect(f, u, &die, depth + 1));
    } while (f->budget-- > 0 && !dwarf_siblingof(&die, &die));
    return ERR_OK;
}

/* A unit has at most as many entries as bytes. */
static long unit_bytes(struct unit *u)
{
    Dwarf_Off start = dwarf_dieoffset(&u->functions) - dwarf_cuoffset(&u->functions), next;
    size_t header;
    if (dwarf_nextcu(dwarf_cu_getdwarf(u->functions.cu), start, &next, &header, NULL, NULL, NULL))
        return 1 << 20;
    return (long)(next - start);
}

static const struct address_range *function_at(struct symbol_file *f, struct unit *u,
                                               uint64_t address)
{
    for (int deep = 0; deep < 2; deep++) {
        if (!u->read || (deep && !u->deep)) {
            u->read = 1;
            u->deep = deep;
            u->ranges.all.count = 0;
            f->budget = unit_bytes(u);
            f->memory += deep ? 0 : (uint64_t)f->budget * MEMORY_FACTOR;
            if (ranges_collect(f, u, &u->functions, 0))
                u->ranges.all.count = 0;
            vector_sort(&u->ranges.all, by_start);
        }
        const struct address_range *found = range_at(&u->ranges, address);
        if (found)
            return found;
    }
    return NULL;
}

static const char *die_text(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute a;
    return dwarf_attr_integrate(die, name, &a) ? dwarf_formstring(&a) : NULL;
}

static int die_number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute a;
    Dwarf_Word value;
    if (!dwarf_attr_integrate(die, name, &a) || dwarf_formudata(&a, &value) || value > INT32_MAX)
        return 0;
    return (int)value;
}

static Dwarf_Addr line_address(const struct unit *u, size_t row)
{
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(u->lines, row), &at);
    return at;
}

/* For a compiler's own code (line 0) the line before it in the same file counts. */
static void unit_line(struct unit *u, uint64_t address, uint64_t function, struct file_frame *frame)
{
    if (!u->lines && dwarf_getsrclines(&u->die, &u->lines, &u->line_count))
        u->line_count = 0;
    size_t low = ARRAY_BOUND(0, u->line_count, i, line_address(u, i) <= address);
    for (; low; low--) {
        Dwarf_Line *line = dwarf_onesrcline(u->lines, low - 1);
        const Dwarf_Addr at = line_address(u, low - 1);
        bool ends = true;
        dwarf_lineendsequence(line, &ends);
        if (ends || at < function)
            return;
        const char *file = dwarf_linesrc(line, NULL, NULL);
        int same = !frame->file || (file && !strcmp(file, frame->file));
        frame->file = frame->file ? frame->file : file;
        int number = 0; /* above INT_MAX in a damaged file: negative here */
        if (same && !dwarf_lineno(line, &number) && number > 0) {
            frame->line = number;
            return;
        }
    }
}

static const char *unit_file_name(struct unit *u, int index)
{
    size_t count;
    if (!u->files && dwarf_getsrcfiles(&u->die, &u->files, &count))
        u->files = NULL;
    return u->files && index >= 0 ? dwarf_filesrc(u->files, (size_t)index, NULL, NULL) : NULL;
}

/* The child that holds `address`: an inlined call, or a block that may hold one. */
static int die_descend(struct symbol_file *f, Dwarf_Die *die, uint64_t address)
{
    Dwarf_Die child;
    if (dwarf_child(die, &child))
        return 0;
    do {
        int tag = dwarf_tag(&child);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
             tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
            dwarf_haspc(&child, address) == 1) {
            *die = child;
            return 1;
        }
    } while (f->budget-- > 0 && !dwarf_siblingof(&child, &child));
    return 0;
}

/* The function and the calls inlined at `address`, outermost first. */
static int scopes_at(struct symbol_file *f, struct unit *u, const struct address_range *function,
                     uint64_t address, Dwarf_Die scopes[DEPTH])
{
    int n = 0;
    Dwarf_Die die;
    if (!dwarf_offdie(dwarf_cu_getdwarf(u->functions.cu), function->die, &die))
        return 0;
    f->budget = unit_bytes(u);
    scopes[n++] = die;
    for (int depth = 0; depth < DEPTH - 1 && die_descend(f, &die, address); depth++)
        if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
            scopes[n++] = die;
    return n;
}

int symbol_file_at(struct symbol_file *f, uint64_t address, struct file_frame *out, int max)
{
    Dwarf_Die scopes[DEPTH];
    uint64_t at = address + f->bias - f->dwarf_bias;
    const char *symbol = symtab_at(&f->symbols, address + f->bias);
    const struct address_range *unit = range_at(&f->ranges, at);
    struct unit *u = unit ? &f->units.items[unit->unit] : NULL;
    const struct address_range *function = u ? function_at(f, u, at) : NULL;
    int n = function ? scopes_at(f, u, function, at, scopes) : 0;
    *out = (struct file_frame){.function = symbol,
                               .folder = u ? die_text(&u->die, DW_AT_comp_dir) : NULL};
    if (u)
        unit_line(u, at, function ? function->start : unit->start, out);
    if (!n)
        return symbol || out->file;
    int count = n < max ? n : max;
    for (int i = 0; i < count; i++) {
        Dwarf_Die *die = &scopes[n - 1 - i];
        struct file_frame *frame = &out[i];
        if (i) {
            Dwarf_Die *call = die + 1;
            *frame =
                (struct file_frame){.file = unit_file_name(u, die_number(call, DW_AT_call_file)),
                                    .folder = out->folder,
                                    .line = die_number(call, DW_AT_call_line)};
        }
        /* without a linkage name C++ has only "operator()"; the symbol has more */
        const char *name = die_text(die, DW_AT_linkage_name), *plain = die_text(die, DW_AT_name);
        if (!name)
            name = die_text(die, DW_AT_MIPS_linkage_name);
        int outermost = i == n - 1;
        if (!name && outermost && symbol && !strncmp(symbol, "_Z", 2))
            name = symbol;
        frame->function = name ? name : plain ? plain : outermost ? symbol : NULL;
        frame->function_line = die_number(die, DW_AT_decl_line);
    }
    return count;
}
#else
typedef int without_elfutils; /* symbols_elf.c reads symbols then */
#endif
