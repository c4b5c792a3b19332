/* Limits of a process, a filter of system calls, and rights on files, each as far as the kernel
 * has it. System calls that are not in the table fail with EPERM. */
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/seccomp.h>)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#include "base/memory.h"
#include "base/jail/jail.h"

void jail_limit(size_t bytes)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    mem_limit_process(bytes);
}

/* AddressSanitizer writes its reports, and starts a program that names their lines. */
#if defined(SECCOMP_MODE_FILTER) && !defined(__SANITIZE_ADDRESS__) &&                              \
    (defined(__x86_64__) || defined(__aarch64__))

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#define REFUSE (SECCOMP_RET_ERRNO | 1) /* EPERM */
#define CHANGES                                                                                    \
    (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY)) /* flags of open */

/* A call passes where its arguments have none of the bits. */
struct jail_call {
    int number;
    struct {
        unsigned argument, bits; /* bits 0: no test */
    } test[2];
};

static const struct jail_call jail_calls[] = {
    {SYS_openat, {{2, CHANGES}}},
    {SYS_mmap, {{2, PROT_EXEC}, {3, MAP_SHARED}}},
    {SYS_mprotect, {{2, PROT_EXEC}}},
#ifdef SYS_open
    {SYS_open, {{1, CHANGES}}},
    {SYS_stat, {{0}}},
    {SYS_lstat, {{0}}},
    {SYS_access, {{0}}},
    {SYS_readlink, {{0}}},
    {SYS_poll, {{0}}},
    {SYS_time, {{0}}},
#endif
#ifdef SYS_faccessat2
    {SYS_faccessat2, {{0}}},
#endif
#define PLAIN(name) {SYS_##name, {{0}}},
    /* clang-format off */
    PLAIN(read) PLAIN(pread64) PLAIN(lseek) PLAIN(close) PLAIN(fstat) PLAIN(newfstatat)
    PLAIN(statx) PLAIN(faccessat) PLAIN(readlinkat) PLAIN(getcwd) PLAIN(flock) PLAIN(fadvise64)
    PLAIN(ppoll) PLAIN(brk) PLAIN(munmap) PLAIN(mremap) PLAIN(madvise) PLAIN(futex)
    PLAIN(sched_yield) PLAIN(rt_sigaction) PLAIN(rt_sigprocmask) PLAIN(rt_sigreturn)
    PLAIN(getpid) PLAIN(gettid) PLAIN(getuid) PLAIN(geteuid) PLAIN(getgid) PLAIN(getegid)
    PLAIN(getrandom) PLAIN(clock_gettime) PLAIN(gettimeofday) PLAIN(exit) PLAIN(exit_group)
/* clang-format on */
#undef PLAIN
};

#define CALLS       (sizeof jail_calls / sizeof *jail_calls)
#define CALL_ROWS   8 /* at most, of one call */
#define ARGUMENT(n) ((unsigned)offsetof(struct seccomp_data, args) + 8 * (n)) /* its lower half */

#define ROW(code, k) ((struct sock_filter)BPF_STMT((code), (k)))
#define ROW_JUMP(test, k, yes, no)                                                                 \
    ((struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, (k), (yes), (no)))
#define ROW_LOAD(at)     ROW(BPF_LD | BPF_W | BPF_ABS, (at))
#define ROW_RETURN(what) ROW(BPF_RET | BPF_K, (what))

/* Writes the tests of one call, which all end the filter. Returns how many rows they take. */
static int call_add(struct sock_filter *to, const struct jail_call *c)
{
    int n = 1;
    for (int i = 0; i < 2 && c->test[i].bits; i++) {
        to[n++] = ROW_LOAD(ARGUMENT(c->test[i].argument));
        to[n++] = ROW_JUMP(BPF_JSET, c->test[i].bits, 0, 1);
        to[n++] = ROW_RETURN(REFUSE);
    }
    to[n++] = ROW_RETURN(SECCOMP_RET_ALLOW);
    to[0] = ROW_JUMP(BPF_JEQ, (unsigned)c->number, 0, (unsigned char)(n - 1));
    return n;
}

/* The same for a call that passes with one value of an argument. */
static int call_add_equal(struct sock_filter *to, int number, unsigned argument, unsigned value)
{
    to[0] = ROW_JUMP(BPF_JEQ, (unsigned)number, 0, 4);
    to[1] = ROW_LOAD(ARGUMENT(argument));
    to[2] = ROW_JUMP(BPF_JEQ, value, 0, 1);
    to[3] = ROW_RETURN(SECCOMP_RET_ALLOW);
    to[4] = ROW_RETURN(REFUSE);
    return 5;
}

static void calls_filter(int fd)
{
    struct sock_filter rows[CALL_ROWS * CALLS + 16];
    int n = 0;
    rows[n++] = ROW_LOAD(offsetof(struct seccomp_data, arch));
    rows[n++] = ROW_JUMP(BPF_JEQ, ARCHITECTURE, 1, 0);
    rows[n++] = ROW_RETURN(REFUSE);
    rows[n++] = ROW_LOAD(offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS; i++)
        n += call_add(rows + n, &jail_calls[i]);
    n += call_add_equal(rows + n, SYS_write, 0, (unsigned)fd);
    n += call_add_equal(rows + n, SYS_fcntl, 1, F_GETFL);
    rows[n++] = ROW_RETURN(REFUSE);
    const struct sock_fprog program = {(unsigned short)n, rows};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
static void calls_filter(int fd)
{
    (void)fd;
}
#endif

#if defined(LANDLOCK_ACCESS_FS_READ_FILE) && defined(SYS_landlock_create_ruleset)
/* Rights of the first version; later ones only add. */
#define LANDLOCK_CHANGES                                                                           \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |  \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static void files_allow(int rules, const char *path)
{
    struct landlock_path_beneath_attr r = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE};
    r.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (r.parent_fd < 0)
        return;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &r, 0);
    close(r.parent_fd);
}

static void files_filter(const struct jail *j)
{
    struct landlock_ruleset_attr a = {.handled_access_fs = LANDLOCK_CHANGES};
    if (j->file)
        a.handled_access_fs |= LANDLOCK_ACCESS_FS_READ_FILE;
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &a, sizeof a.handled_access_fs, 0);
    if (rules < 0)
        return;
    if (j->file) {
        files_allow(rules, j->file);
        files_allow(rules, j->folder);
    }
    syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}
#else
static void files_filter(const struct jail *j)
{
    (void)j;
}
#endif

static int jail_is_entered;

int jail_entered(void)
{
    return jail_is_entered;
}

void jail_enter(const struct jail *j)
{
    jail_is_entered = 1;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    mem_limit_process(j->bytes);
    if (j->seconds)
        setrlimit(RLIMIT_CPU, &(struct rlimit){j->seconds, j->seconds + 1});
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    files_filter(j);
    calls_filter(j->fd);
}
