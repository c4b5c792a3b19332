/* Finds the program as a shell would, and what of it a recording will not see, from its ELF file.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "profiler/record/record.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

struct target_file {
    const unsigned char *data;
    size_t size;
    struct stat st;
};

/* What decides about a program. */
struct target_traits {
    int foreign, is_static, musl, sanitizer, privileged, go;
};

static enum err file_map(const char *path, struct target_file *f)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FAIL_IF(fd < 0, ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    *f = (struct target_file){0};
    if (fstat(fd, &f->st) == 0 && f->st.st_size > 0) {
        f->size = (size_t)f->st.st_size;
        void *p = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
        f->data = p == MAP_FAILED ? NULL : p;
        f->size = f->data ? f->size : 0;
    }
    close(fd);
    return ERR_OK;
}

static void file_unmap(struct target_file *f)
{
    if (f->data)
        munmap((void *)f->data, f->size);
}

static int executable(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* How a file that is no program by itself is run, "" when that is not known. */
static const char *hint(const char *name, char text[RUN_PATH])
{
    size_t n = strlen(name);
    *text = 0;
    if (n > 3 && !strcmp(name + n - 3, ".py") && !access(name, R_OK))
        snprintf(text, RUN_PATH, ": to run it, `tomoprof record python3 %.3000s`", name);
    else if (!strchr(name, '/') && executable(name))
        snprintf(text, RUN_PATH, ": for the one in this folder, `tomoprof record ./%.3000s`", name);
    return text;
}

/* The file that exec*p would take for `name`. */
static enum err find(const char *name, char out[RUN_PATH])
{
    char text[RUN_PATH];
    FAIL_IF(!*name, ERR_INPUT, "the name of the program is empty");
    if (strchr(name, '/')) {
        FAIL_IF(access(name, F_OK), ERR_INPUT, "%s: %s", name, strerror(errno));
        FAIL_IF(!executable(name), ERR_INPUT, "%s: is no executable file%s", name,
                hint(name, text));
        FAIL_IF(snprintf(out, RUN_PATH, "%s", name) >= RUN_PATH, ERR_INPUT, "the name is too long");
        return ERR_OK;
    }
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/bin:/usr/bin", *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ":");
        int n = snprintf(out, RUN_PATH, "%.*s/%s", end > at ? (int)(end - at) : 1,
                         end > at ? at : ".", name);
        if (n < RUN_PATH && executable(out))
            return ERR_OK;
    }
    return FAIL(ERR_INPUT, "%s: no such program is in PATH%s", name, hint(name, text));
}

/* The program in a script's first line ("#!/usr/bin/env -S python3 -u" names python3). */
static int interpreter(const struct target_file *f, char out[RUN_PATH])
{
    char line[256] = "", name[RUN_PATH], *rest;
    size_t n = f->size < sizeof line ? f->size : sizeof line - 1;
    if (n < 3 || memcmp(f->data, "#!", 2))
        return 0;
    memcpy(line, f->data + 2, n - 2);
    line[strcspn(line, "\n")] = 0;
    char *word = strtok_r(line, " \t\r", &rest);
    if (!word || snprintf(name, sizeof name, "%s", word) >= (int)sizeof name)
        return 0;
    const char *base = strrchr(name, '/');
    if (!strcmp(base ? base + 1 : name, "env"))
        while ((word = strtok_r(NULL, " \t\r", &rest)) && (*word == '-' || strchr(word, '=')))
            ;
    else
        word = name;
    return word && !find(word, out);
}

/* The bytes at [offset, offset + n) when they lie in the file. */
static const void *at(const struct target_file *f, uint64_t offset, uint64_t n)
{
    return offset <= f->size && n <= f->size - offset ? f->data + offset : NULL;
}

static const Elf64_Phdr *segment(const struct target_file *f, int i)
{
    const Elf64_Ehdr *h = at(f, 0, sizeof *h);
    if (!h || i >= h->e_phnum || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff % 8)
        return NULL;
    return at(f, h->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
}

static uint64_t file_offset(const struct target_file *f, uint64_t address)
{
    const Elf64_Phdr *p;
    for (int i = 0; (p = segment(f, i)); i++)
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
            return address - p->p_vaddr + p->p_offset;
    return UINT64_MAX;
}

/* 1 when the names of dynamic symbols and libraries hold `text`. */
static int names_hold(const struct target_file *f, const Elf64_Phdr *dynamic, const char *text)
{
    uint64_t table = 0, bytes = 0;
    for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn d;
        const void *p = at(f, dynamic->p_offset + i * sizeof d, sizeof d);
        if (!p)
            return 0;
        memcpy(&d, p, sizeof d);
        table = d.d_tag == DT_STRTAB ? d.d_un.d_ptr : table;
        bytes = d.d_tag == DT_STRSZ ? d.d_un.d_val : bytes;
        if (d.d_tag == DT_NULL)
            break;
    }
    const void *names = bytes ? at(f, file_offset(f, table), bytes) : NULL;
    return names && memmem(names, bytes, text, strlen(text));
}

static void read_dynamic(const struct target_file *f, const Elf64_Phdr *dynamic,
                         struct target_traits *t)
{
    static const char *const runtimes[] = {"libasan.so",      "__asan_init", "libtsan.so",
                                           "__tsan_init",     "__msan_init", "libhwasan.so",
                                           "libclang_rt.asan"};
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        t->sanitizer |= names_hold(f, dynamic, runtimes[i]);
}

static void read_elf(const struct target_file *f, struct target_traits *t)
{
    const Elf64_Ehdr *h = at(f, 0, sizeof *h);
    const Elf64_Phdr *p;
    if (!h || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_machine != OUR_MACHINE) {
        t->foreign = 1;
        return;
    }
    t->is_static = 1;
    for (int i = 0; (p = segment(f, i)); i++) {
        const void *bytes = at(f, p->p_offset, p->p_filesz);
        if (p->p_type == PT_INTERP) {
            t->is_static = 0;
            t->musl = bytes && memmem(bytes, p->p_filesz, "ld-musl", 7) != NULL;
        } else if (p->p_type == PT_DYNAMIC) {
            read_dynamic(f, p, t);
        } else if (p->p_type == PT_NOTE) {
            t->go |= bytes && memmem(bytes, p->p_filesz, "\4\0\0\0Go\0", 8) != NULL;
        }
    }
}

static int privileged(const char *path, const struct stat *st)
{
    char caps[64];
    int by_mode = ((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
                  ((st->st_mode & S_ISGID) && st->st_gid != getgid());
    return by_mode || (getuid() && getxattr(path, "security.capability", caps, sizeof caps) > 0);
}

static void judge(const struct target_traits *t, struct record_target *out)
{
    const struct {
        int holds, preload;
        const char *what;
    } rules[] = {
        {t->foreign, 0, "is no 64-bit program of this processor: nothing of it will be seen"},
        {t->musl, 0,
         "uses musl instead of glibc, into which the capture library cannot be loaded: nothing of "
         "it will be seen"},
        {t->sanitizer, 0,
         "is built with a sanitizer, which tolerates no other library before it: of it only NVTX "
         "ranges and the GPU will be seen; use a build without"},
        {t->privileged, 1,
         "runs with other rights than yours (setuid, setgid or capabilities), where the system "
         "refuses preloaded libraries: nothing of it will be seen; record as that user"},
        {t->is_static && t->go, 1,
         "is a statically linked Go program: nothing of it will be seen, only the programs that "
         "it starts"},
        {t->is_static, 1,
         "is statically linked: nothing of it will be seen, only the programs that it starts"},
        {t->go, 1, "is a Go program: its goroutines and its own heap will not be seen"},
    };
    const char *base = strrchr(out->image, '/');
    out->preload = 1;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].holds) {
            out->preload = rules[i].preload;
            snprintf(out->limits, sizeof out->limits, "%.200s %s", base ? base + 1 : out->image,
                     rules[i].what);
            return;
        }
}

enum err record_target(const char *program, struct record_target *out)
{
    struct target_file f;
    struct target_traits t = {0};
    *out = (struct record_target){.preload = 1};
    TRY(find(program, out->path));
    char next[RUN_PATH];
    memcpy(out->image, out->path, sizeof next);
    for (int depth = 0; depth < 5; depth++) { /* the kernel's own limit of nested scripts */
        if (file_map(out->image, &f))
            return ERR_OK; /* executable but not readable: run it, nothing is known */
        int script = interpreter(&f, next);
        if (!script) {
            if (f.size >= SELFMAG && !memcmp(f.data, ELFMAG, SELFMAG))
                read_elf(&f, &t);
            t.privileged = privileged(out->image, &f.st);
        }
        file_unmap(&f);
        if (!script)
            break;
        memcpy(out->image, next, sizeof next);
    }
    judge(&t, out);
    return ERR_OK;
}
