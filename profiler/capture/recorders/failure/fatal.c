/* Records where a fatal signal hit: a handler in the place of the default action, which the kernel
 * takes away as it calls it. What happened then happens again, or is sent again, and kills the
 * program as it would have bare, with its core file. A stack that is full has no room for a handler:
 * then the place is unknown. */
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/core/core.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/mapping.h"
#include "profiler/capture/raw/own_stack.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/failure/fatal.h"

static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static struct sigaction theirs[NUMBERS]; /* the default, as the program set it */
static unsigned has_set;                 /* bit: it did, with flags or a mask of its own */
static int installed;

static int fatal_index(int number)
{
    int i = 0;
    while (i < NUMBERS && numbers[i] != number)
        i++;
    return i < NUMBERS ? i : -1;
}

static int fatal_real(int number, const struct sigaction *act, struct sigaction *old)
{
    static void *next;
    typedef int (*fn)(int, const struct sigaction *, struct sigaction *);
    return ((fn)raw_next(&next, "sigaction"))(number, act, old);
}

/* Puts memory in the place of a page of the trace that its disk does not give any more (NFS, FUSE): the
 * program goes on, and the trace ends here. 0: the page is not the trace's. */
static int fatal_page(const void *address)
{
    const char *name = strrchr(capture.writer.path, '/');
    const uintptr_t bytes = getauxval(AT_PAGESZ), page = (uintptr_t)address & ~(bytes - 1);
    uintptr_t low = 0, high = 0;
    char *buffer = name ? raw_map(RAW_MAPPING_ROOM, 0) : NULL;
    if (!buffer)
        return 0;
    raw_mapping_find(page, name, buffer, &low, &high);
    raw_unmap(buffer, RAW_MAPPING_ROOM);
    if (!high)
        return 0;
    capture.writer.failed = EIO;
    return syscall(SYS_mmap, page, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L) != -1;
}

struct fatal_hit {
    struct thread_slot *slot;
    int number;
};

static void fatal_put(void *hit, void *context)
{
    const struct fatal_hit *h = hit;
    capture_wake();
    struct capture_thread *t = capture_enter_handler(context);
    if (!t)
        return;
    struct trace_failure r = {.r.kind = TRACE_FAILURE, .signal = (uint32_t)h->number};
    r.stack = capture_stack(t, context, NULL);
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
    trace_keep(&capture.writer);
    capture_leave(t, TRACE_PART_WRITER, 0);
}

static void fatal_handler(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    const struct sigaction end = {.sa_handler = SIG_DFL};
    struct thread_slot *s = thread_self();
    if (number == SIGBUS && info->si_code > 0 && fatal_page(info->si_addr)) {
        fatal_set_action(number, &theirs[fatal_index(number)], NULL); /* the kernel took it away */
        errno = saved;
        return;
    }
    if (s && !s->t.ours && !s->handling && (capture.on || asleep.on) && capture_is_here()) {
        struct fatal_hit hit = {s, number};
        s->handling = 1;
        own_stack_call(fatal_put, &hit, context, s->stack + sizeof s->stack);
        s->handling = 0;
    }
    fatal_real(number, &end, NULL); /* a handler of the program's may have called this one */
    if (info->si_code <= 0)         /* somebody sent it: it does not come again by itself */
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info);
    errno = saved;
}

static int is_default(const struct sigaction *act)
{
    return !(act->sa_flags & SA_SIGINFO) && act->sa_handler == SIG_DFL;
}

static int is_ours(const struct sigaction *act)
{
    return act->sa_flags & SA_SIGINFO && act->sa_sigaction == fatal_handler;
}

int fatal_covers(int number)
{
    return installed && (capture.on || asleep.on) && fatal_index(number) >= 0;
}

static const struct sigaction fatal_none; /* SIG_DFL */

int fatal_set_action(int number, const struct sigaction *act, struct sigaction *old)
{
    const int i = fatal_index(number), stands = act && is_default(act);
    struct sigaction ours = {.sa_sigaction = fatal_handler,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND},
                     was;
    sigfillset(&ours.sa_mask);
    sigdelset(&ours.sa_mask, SIGSYS);
    const int failed = fatal_real(number, stands ? &ours : act, &was);
    if (failed)
        return failed;
    if (old)
        *old = is_ours(&was) ? theirs[i] : was;
    if (stands && (act != &fatal_none || has_set & 1u << i)) {
        theirs[i] = *act;
        has_set |= 1u << i;
    }
    return 0;
}

/* Go's runtime asks the kernel itself what stood before its own handlers, and would hand on to
 * ours what it prints itself. */
static int is_of_go(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE && p->p_memsz >= 8 &&
            memmem((const void *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, "\4\0\0\0Go\0", 8))
            *(int *)context = 1;
    }
    return *(int *)context;
}

static int fatal_start(void)
{
    struct sigaction now;
    int go = 0;
    modules_hold();
    modules_each(is_of_go, &go);
    modules_release();
    if (go)
        return 0;
    for (int i = 0; i < NUMBERS; i++)
        if (!fatal_real(numbers[i], NULL, &now) && is_default(&now))
            fatal_set_action(numbers[i], &fatal_none, NULL);
    installed = 1;
    return 0;
}

/* Puts the default actions back: from now on a filter may forbid the calls of a handler. */
static void fatal_stop(void)
{
    struct sigaction now;
    for (int i = 0; i < NUMBERS && installed; i++)
        if (!fatal_real(numbers[i], NULL, &now) && is_ours(&now))
            fatal_real(numbers[i], &theirs[i], NULL);
    installed = 0;
}

const struct recorder fatal_recorder = {
    .name = "fatal", .modes = ~0u, .start = fatal_start, .asleep = fatal_start, .stop = fatal_stop};
