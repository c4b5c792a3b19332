/* Finds the program as a shell would, and what of it a recording will not see, from its ELF file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/text.h"
#include "profiler/image/image.h"
#include "profiler/record/record.h"

struct target_file {
    const unsigned char *data;
    size_t size;
    struct stat st;
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

static int target_is_executable(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* How a file that is not a program by itself is run, "" when that is not known. */
static const char *target_hint(const char *name, char text[RUN_PATH])
{
    *text = 0;
    if (!strchr(name, '/') && target_is_executable(name))
        snprintf(text, RUN_PATH, ": for the one in this folder, `tomoprof record ./%.3000s`", name);
    return text;
}

/* The file that exec*p would take for `name`. */
static enum err target_find(const char *name, char out[RUN_PATH])
{
    char text[RUN_PATH];
    FAIL_IF(!*name, ERR_INPUT, "the name of the program is empty");
    if (strchr(name, '/')) {
        FAIL_IF(access(name, F_OK), ERR_INPUT, "%s: %s", name, strerror(errno));
        FAIL_IF(!target_is_executable(name), ERR_INPUT, "%s: is not an executable file%s", name,
                target_hint(name, text));
        FAIL_IF(!text_print(out, RUN_PATH, "%s", name), ERR_INPUT, "the name is too long");
        return ERR_OK;
    }
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/bin:/usr/bin", *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ":");
        int n = snprintf(out, RUN_PATH, "%.*s/%s", end > at ? (int)(end - at) : 1,
                         end > at ? at : ".", name);
        if (n < RUN_PATH && target_is_executable(out))
            return ERR_OK;
    }
    return FAIL(ERR_INPUT, "%s: no such program is in PATH%s", name, target_hint(name, text));
}

/* The program in a script's first line ("#!/usr/bin/env -S python3 -u" names python3). */
static int target_interpreter(const struct target_file *f, char out[RUN_PATH])
{
    char line[256] = "", name[RUN_PATH], *rest;
    size_t n = f->size < sizeof line ? f->size : sizeof line - 1;
    if (n < 3 || memcmp(f->data, "#!", 2))
        return 0;
    memcpy(line, f->data + 2, n - 2);
    line[strcspn(line, "\n")] = 0;
    char *word = strtok_r(line, " \t\r", &rest);
    if (!word || !text_print(name, sizeof name, "%s", word))
        return 0;
    if (!strcmp(base_name(name), "env"))
        while ((word = strtok_r(NULL, " \t\r", &rest)) && (*word == '-' || strchr(word, '=')))
            ;
    else
        word = name;
    return word && !target_find(word, out);
}

static int target_is_privileged(const char *path, const struct stat *st)
{
    char caps[64];
    int by_mode = ((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
                  ((st->st_mode & S_ISGID) && st->st_gid != getgid());
    return by_mode || (getuid() && getxattr(path, "security.capability", caps, sizeof caps) > 0);
}

static void target_judge(const struct image_traits *t, int privileged, struct record_target *out)
{
    const struct {
        int holds, preload;
        const char *what;
    } rules[] = {
        {t->foreign, 0, "is not a 64-bit program of this processor: it cannot be recorded"},
        {t->musl, 0,
         "uses musl instead of glibc, into which the capture library cannot be loaded: nothing of "
         "it will be seen"},
        {t->sanitizer, 0,
         "is built with a sanitizer, which tolerates no other library before it: of it only NVTX "
         "ranges and the GPU will be seen; use a build without"},
        {privileged, 1,
         "runs with other rights than yours (setuid, setgid or capabilities), where the system "
         "refuses preloaded libraries: nothing of it will be seen; record as that user"},
        {t->is_static && t->go, 1,
         "is a statically linked Go program: nothing of it will be seen, only the programs that "
         "it starts. Start it, then sample it from outside: tomoprof record --pid PID"},
        {t->is_static, 1,
         "is statically linked: nothing of it will be seen, only the programs that it starts. "
         "Start it, then sample it from outside: tomoprof record --pid PID"},
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

int record_is_script(const char *name)
{
    char path[RUN_PATH];
    struct stat st;
    return text_has_suffix(name, ".py") && !stat(name, &st) && S_ISREG(st.st_mode) &&
           !access(name, R_OK) && target_find(name, path);
}

enum err record_target(const char *program, struct record_target *out)
{
    struct target_file f;
    struct image_traits t = {0};
    int rights = 0;
    *out = (struct record_target){.preload = 1};
    TRY(target_find(program, out->path));
    char next[RUN_PATH];
    memcpy(out->image, out->path, sizeof next);
    for (int depth = 0; depth < 5; depth++) { /* the kernel's own limit of nested scripts */
        if (file_map(out->image, &f))
            return ERR_OK; /* executable but not readable: run it, nothing is known */
        int script = target_interpreter(&f, next);
        if (!script) {
            image_traits(f.data, f.size, &t);
            rights = target_is_privileged(out->image, &f.st);
        }
        file_unmap(&f);
        if (!script)
            break;
        memcpy(out->image, next, sizeof next);
    }
    target_judge(&t, rights, out);
    return ERR_OK;
}
