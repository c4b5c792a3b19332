#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/analyze/symbols/debug_files.h"
#include "profiler/analyze/symbols/symbol_file.h"
#include "tests/fuzz/fuzz.h"

/* An answer of a debuginfod server: the debug information of a program that has none of its own.
 * corpus/debuginfod has the build id below. */

#define FRAMES 8
#define CODE   4096
static const uint8_t id[] = "fuzz/debuginfod 2026"; /* 20 bytes, and its end */
enum { ID = sizeof id - 1 };

static const uint8_t *answer;
static size_t answer_bytes;
static long asked;

/* In place of the function that asks servers (-Wl,--wrap). */
int __wrap_debug_file_by_server(const void *build_id, int bytes, char **path);
int __wrap_debug_file_by_server(const void *build_id, int bytes, char **path)
{
    FUZZ_CHECK(bytes == ID && !memcmp(build_id, id, ID));
    asked++;
    *path = strdup(fuzz_file(answer, answer_bytes));
    const int fd = debug_file_open(*path);
    FUZZ_CHECK(fd >= 0);
    return fd;
}

/* Makes the program: a segment of code, and a build id. */
static const char *program_path(void)
{
    static char path[64];
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment[2];
        Elf64_Nhdr note;
        char owner[4];
        uint8_t id[ID];
    } p = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                             EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_phoff = sizeof(Elf64_Ehdr),
                 .e_ehsize = sizeof(Elf64_Ehdr),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 2},
        .segment = {{.p_type = PT_LOAD,
                     .p_flags = PF_R | PF_X,
                     .p_filesz = CODE,
                     .p_memsz = CODE,
                     .p_align = CODE},
                    {.p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4}},
        .note = {sizeof p.owner, ID, NT_GNU_BUILD_ID},
        .owner = "GNU",
    };
    const size_t at = (size_t)((char *)&p.note - (char *)&p);
    p.segment[1].p_offset = p.segment[1].p_vaddr = at;
    p.segment[1].p_filesz = p.segment[1].p_memsz = sizeof p.note + sizeof p.owner + ID;
    memcpy(p.id, id, ID);
    const int fd = *path ? 0 : memfd_create("program", MFD_CLOEXEC);
    if (*path)
        return path;
    FUZZ_CHECK(fd >= 0 && !ftruncate(fd, CODE) && pwrite(fd, &p, sizeof p, 0) == sizeof p);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symbol_file *f = NULL;
    struct symbol_facts facts = {0};
    struct file_frame frames[FRAMES];
    const long before = asked;
    answer = data;
    answer_bytes = size;
    FUZZ_CHECK(!symbol_file_open(program_path(), id, ID, &f, &facts) && f);
    FUZZ_CHECK(asked > before);
    for (uint64_t at = 0; at < CODE; at += 3) {
        const int n = symbol_file_at(f, at, frames, FRAMES);
        FUZZ_CHECK(n >= 0 && n <= FRAMES);
        for (int i = 0; i < n; i++) {
            FUZZ_CHECK(!frames[i].file || strlen(frames[i].file) < 1 << 20);
            FUZZ_CHECK(frames[i].line >= 0 && frames[i].function_line >= 0);
        }
    }
    FUZZ_CHECK(symbol_file_memory(f) < (uint64_t)1 << 40);
    symbol_file_close(f);
    return 0;
}
