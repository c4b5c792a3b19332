/* Loads a relocatable file into memory that it runs, and announces it by GDB's JIT interface;
 * prints the shares of its own clock. `first.o second.o stay|replace|fork|exec`: calls made_seven
 * and made_three of first.o; made_again of second.o at the same place. `first.o hostile`: what is
 * announced is wrong in every way, the code runs all the same. `first.o plugin.so
 * plugins`: opens and closes it again and again. */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct jit_code_entry {
    struct jit_code_entry *next, *previous;
    const char *symfile;
    uint64_t bytes;
};
/* static: as LLVM's is inside of llvmlite and jaxlib, which export nothing */
#ifdef EXPORTED
#define SCOPE
#else
#define SCOPE static __attribute__((used))
#endif
SCOPE struct {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
} __jit_debug_descriptor = {1, 0, 0, 0};
void __attribute__((noinline)) __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

#define ROOM 65536
static char *room, *file;
static size_t file_bytes;
static Elf64_Shdr *sections;
static int section_count;

static void load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        exit(3);
    file = calloc(1, 1 << 20);
    file_bytes = fread(file, 1, 1 << 20, f);
    fclose(f);
    Elf64_Ehdr *h = (void *)file;
    sections = (void *)(file + h->e_shoff);
    section_count = h->e_shnum;
    size_t used = 0;
    for (int i = 0; i < section_count; i++) {
        Elf64_Shdr *s = &sections[i];
        if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size)
            continue;
        used = (used + 63) / 64 * 64;
        s->sh_addr = (uint64_t)(room + used);
        if (s->sh_type == SHT_NOBITS)
            memset(room + used, 0, s->sh_size);
        else
            memcpy(room + used, file + s->sh_offset, s->sh_size);
        used += s->sh_size;
    }
}

static void (*function(const char *name))(long)
{
    for (int i = 0; i < section_count; i++)
        for (size_t k = 0;
             sections[i].sh_type == SHT_SYMTAB && k < sections[i].sh_size / sizeof(Elf64_Sym);
             k++) {
            Elf64_Sym *y = (Elf64_Sym *)(file + sections[i].sh_offset) + k;
            if (!strcmp(file + sections[sections[i].sh_link].sh_offset + y->st_name, name))
                return (void (*)(long))(sections[y->st_shndx].sh_addr + y->st_value);
        }
    exit(4);
}

static struct jit_code_entry *announce(const char *symfile, uint64_t bytes)
{
    struct jit_code_entry *e = calloc(1, sizeof *e);
    e->symfile = symfile;
    e->bytes = bytes;
    e->next = __jit_debug_descriptor.first;
    if (e->next)
        e->next->previous = e;
    __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = e;
    __jit_debug_descriptor.action = 1;
    __jit_debug_register_code();
    return e;
}

static void withdraw(struct jit_code_entry *e)
{
    if (e->previous)
        e->previous->next = e->next;
    else
        __jit_debug_descriptor.first = e->next;
    if (e->next)
        e->next->previous = e->previous;
    __jit_debug_descriptor.relevant = e;
    __jit_debug_descriptor.action = 2;
    __jit_debug_register_code();
    free(e);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* No two rounds are of one length: none keeps step with the kernel's ticks. Each lasts many of
 * them: what a share is off by comes from the ticks at its ends. */
static double timed(void (*f)(long))
{
    static unsigned dice = 1;
    dice = dice * 1664525u + 1013904223u;
    double begin = now();
    f(2000000 + (long)(dice >> 8) % 4000000);
    return now() - begin;
}

/* The recorder looks some 20 times a second, later on a busy machine: it has seen what is
 * announced. */
static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){0, 900000000}, NULL);
}

static void hostile(void)
{
    static char no_elf[4096], cut[4096];
    memset(no_elf, 0xff, sizeof no_elf);
    memcpy(cut, file, sizeof cut);
    struct jit_code_entry *loop = announce(no_elf, sizeof no_elf);
    announce(file, UINT64_MAX);
    announce(file, 1ull << 40);
    announce(file, 0);
    announce((const char *)16, 4096);
    for (uint64_t n = 1; n < 200; n++)
        announce(cut, n * 7);
    for (uint32_t seed = 1; seed < 400;
         seed++) { /* bytes of headers and tables, each another way wrong */
        char *wrong = malloc(file_bytes);
        memcpy(wrong, file, file_bytes);
        for (uint32_t k = 0, random = seed * 2654435761u; k < 12;
             k++, random = random * 1664525u + 1013904223u) {
            size_t at = k & 1 ? (random >> 8) % 64
                              : ((Elf64_Ehdr *)file)->e_shoff +
                                    (random >> 8) % (64 * (size_t)section_count);
            wrong[at < 4 ? 5 : at] = (char)(random >> 3);
        }
        announce(wrong, file_bytes);
    }
    loop->next = __jit_debug_descriptor.first; /* round and round */
}

int main(int argc, char **argv)
{
    double seven = 0, three = 0, again = 0;
    const char *how = argv[argc - 1];
    if (!strcmp(how, "after"))
        return 0;
    room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double *childs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    load(argv[1]);
    void (*f7)(long) = function("made_seven"), (*f3)(long) = function("made_three");
    struct jit_code_entry *e = NULL;
    if (!strcmp(how, "hostile"))
        hostile();
    else
        e = announce(file, file_bytes);
    if (!strcmp(how, "replace"))
        pause_a_moment();
    while (seven + three < 0.7) { /* by its clock: a faster machine has as many samples */
        seven += timed(f7);
        three += timed(f3);
    }
    if (!strcmp(how, "plugins"))
        for (int i = 0; i < 20; i++) { /* gone at any moment of the recorder's */
            void *plugin = dlopen(argv[2], RTLD_NOW);
            if (!plugin)
                return 5;
            nanosleep(&(struct timespec){0, 30000000}, NULL);
            dlclose(plugin);
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        }
    if (!strcmp(how, "fork")) { /* the child's code was announced before */
        pause_a_moment();
        pid_t child = fork();
        while (!child && *childs < three)
            *childs += timed(f3);
        if (!child)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    if (!strcmp(how, "replace")) {
        withdraw(e);
        load(argv[2]);
        announce(file, file_bytes);
        pause_a_moment();
        void (*f)(long) = function("made_again");
        while (again < 0.35)
            again += timed(f);
    }
    printf("%.4f %.4f %.4f %.4f\n", seven, three, again, *childs);
    fflush(stdout);
    if (!strcmp(how, "exec"))
        execl("/proc/self/exe", argv[0], "after", NULL);
    return 0;
}
