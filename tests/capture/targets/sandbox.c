/* Programs that filter their own system calls, as browsers, systemd and seccomp's strict mode do.
 * Without arguments: the names of all cases. What a filter forbids ends the program, or is
 * counted and printed: so a call of somebody else shows. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile sig_atomic_t trapped;

__attribute__((noinline)) static void compute(int ms) /* about */
{
    for (long i = 0; i < ms * 400000l; i++)
        sink += (unsigned long)i * sink + 1;
}

/* Before a filter, by the clock of the CPU, which it may forbid: ten ticks of a kernel, or more. */
static void be_sampled(void)
{
    struct timespec t;
    do {
        compute(1);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 100000000);
}

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(90);
}

static void must(int ok, const char *what)
{
    if (ok)
        return;
    printf("failed: %s (errno %d)\n", what, errno);
    fflush(stdout);
    _exit(91);
}

#define LOAD(field)                                                                                \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))

/* A program cannot do without these after its start: reading, writing, memory, threads' ends. */
static const int needed[] = {
    SYS_read,           SYS_write,           SYS_futex,           SYS_mmap,
    SYS_munmap,         SYS_mprotect,        SYS_madvise,         SYS_brk,
    SYS_exit,           SYS_exit_group,      SYS_newfstatat,      SYS_close,
    SYS_rt_sigprocmask, SYS_set_robust_list, SYS_restart_syscall,
};
/* A recorder would like to call these; systemd's lists have most of them in @clock, @debug,
 * @timer. */
static const int denied[] = {
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_delete,
    SYS_clock_gettime,
    SYS_getrusage,
    SYS_process_vm_readv,
    SYS_openat,
    SYS_clock_getres,
    SYS_readlink,
    SYS_uname,
    SYS_rt_sigpending,
    SYS_pwritev,
    SYS_rt_tgsigqueueinfo,
};

struct list {
    const int *numbers;
    size_t count;
    unsigned inside, outside; /* what happens to a call of the list, to any other */
    int more;                 /* one number besides */
};
#define NEEDED(other, and)                                                                         \
    {                                                                                              \
        needed, sizeof needed / sizeof *needed, SECCOMP_RET_ALLOW, other, and                      \
    }
#define DENIED(what)                                                                               \
    {                                                                                              \
        denied, sizeof denied / sizeof *denied, what, SECCOMP_RET_ALLOW, -1                        \
    }

static struct sock_fprog program_of(const struct list *l)
{
    static struct sock_filter code[80];
    size_t n = 0;
    code[n++] = (struct sock_filter)LOAD(nr);
    for (size_t i = 0; i < l->count + (l->more >= 0); i++) {
        unsigned number = (unsigned)(i < l->count ? l->numbers[i] : l->more);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, l->inside);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, l->outside);
    return (struct sock_fprog){(unsigned short)n, code};
}

static void by_prctl(const struct list *l)
{
    struct sock_fprog p = program_of(l);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0) == 0, "prctl");
}

static void by_syscall(const struct list *l, unsigned flags)
{
    struct sock_fprog p = program_of(l);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p) == 0, "seccomp");
}

/* With the instruction itself: no function is there to be replaced. */
static void by_instruction(const struct list *l)
{
    struct sock_fprog p = program_of(l);
    long r = SYS_seccomp;
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    __asm__ volatile("syscall"
                     : "+a"(r)
                     : "D"((long)SECCOMP_SET_MODE_FILTER), "S"(0l), "d"(&p)
                     : "rcx", "r11", "memory");
    must(r == 0, "seccomp");
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)number;
    (void)info;
    trapped++;
    u->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
}

static void count_traps(void)
{
    struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    must(sigaction(SIGSYS, &act, NULL) == 0, "sigaction");
}

static int report_traps(void)
{
    syscall(SYS_getpgid, 0); /* forbidden: one */
    char text[] = "trapped 0\n";
    text[8] = (char)(trapped < 9 ? '0' + trapped : '9');
    say(text);
    return 5;
}

static int strict_prctl(void)
{
    be_sampled();
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0, "strict");
    compute(60);
    say("strict\n");
    syscall(SYS_exit, 3);
    return 0;
}

static int strict_seccomp(void)
{
    be_sampled();
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0, "strict");
    compute(60);
    say("strict\n");
    syscall(SYS_exit, 4);
    return 0;
}

static volatile int go_on = 1;
static void *worker(void *p)
{
    while (go_on)
        compute(1);
    for (int i = 0; i < 100; i++)
        free(malloc((size_t)i * 5000));
    compute(20);
    return p;
}

/* All threads at once, and a handler that answers what is forbidden. */
static int browser(void)
{
    const struct list l = NEEDED(SECCOMP_RET_TRAP, SYS_rt_sigreturn);
    pthread_t t[2];
    count_traps();
    for (int i = 0; i < 2; i++)
        must(pthread_create(&t[i], NULL, worker, NULL) == 0, "pthread_create");
    be_sampled();
    by_syscall(&l, SECCOMP_FILTER_FLAG_TSYNC);
    compute(30);
    go_on = 0;
    for (int i = 0; i < 2; i++)
        must(pthread_join(t[i], NULL) == 0, "pthread_join");
    return report_traps();
}

/* The handler's end is forbidden as well: no signal may come. */
static int no_signals(void)
{
    const struct list l = NEEDED(SECCOMP_RET_KILL_PROCESS, -1);
    be_sampled();
    by_prctl(&l);
    for (int i = 0; i < 1000; i++)
        free(malloc((size_t)i * 500));
    compute(60);
    say("no signals\n");
    return 6;
}

static int killed(void)
{
    const struct list l = NEEDED(SECCOMP_RET_KILL_PROCESS, -1);
    be_sampled();
    by_prctl(&l);
    compute(20);
    say("about to be killed\n");
    syscall(SYS_getpgid, 0);
    return 0;
}

static int service(void)
{
    const struct list l = DENIED(SECCOMP_RET_ERRNO | EPERM);
    be_sampled();
    by_prctl(&l);
    must(syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &(struct timespec){0}) < 0, "filter");
    compute(60);
    say("service\n");
    return 7;
}

static char *self;

/* As a manager does for its service: the filter comes before the program. */
static int service_started(void)
{
    static const int after[] = {SYS_timer_create, SYS_timer_settime, SYS_getrusage, SYS_pwritev,
                                SYS_process_vm_readv};
    const struct list l = {after, 5, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, -1};
    pid_t pid = fork();
    if (!pid) {
        by_prctl(&l);
        execl(self, self, "plain", (char *)0);
        _exit(92);
    }
    int status = 0;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    must(WIFEXITED(status), "the service was killed");
    return WEXITSTATUS(status);
}

/* As Chromium does between fork and exec: every signal to its default, past sigaction(). */
static int defaults(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } act;
    pid_t pid = fork();
    if (!pid) {
        for (int n = 1; n < 65; n++)
            if (!syscall(SYS_rt_sigaction, n, NULL, &act, 8) && act.handler != SIG_IGN) {
                must(act.handler == SIG_DFL || (n > 31 && n < SIGRTMIN),
                     "a handler that the program did not set");
                memset(&act, 0, sizeof act);
                syscall(SYS_rt_sigaction, n, &act, NULL, 8);
            }
        compute(60);
        execl(self, self, "plain", (char *)0);
        _exit(92);
    }
    int status = 0;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    must(WIFEXITED(status), "the child was killed");
    return WEXITSTATUS(status);
}

static int plain(void)
{
    compute(60);
    say("plain\n");
    return 8;
}

static int forked(void)
{
    const struct list l = DENIED(SECCOMP_RET_KILL_PROCESS);
    by_syscall(&l, 0);
    pid_t pid = fork();
    if (!pid) {
        compute(30);
        _exit(9);
    }
    int status = 0;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    must(WIFEXITED(status), "the child was killed");
    return WEXITSTATUS(status);
}

/* Questions, and filters that are refused: nothing has changed after them. */
static int refused(void)
{
    struct sock_fprog none = {0, NULL};
    struct sock_filter wrong = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4000);
    struct sock_fprog bad = {1, &wrong};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno == EFAULT, "NULL");
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) < 0 &&
             errno == EFAULT,
         "NULL with TSYNC");
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none) < 0 && errno == EINVAL, "empty");
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &bad) < 0 && errno == EINVAL, "wrong");
    must(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0, "PR_GET_SECCOMP");
    compute(200);
    say("refused\n");
    return 10;
}

static int raw_errno(void)
{
    const struct list l = DENIED(SECCOMP_RET_ERRNO | EPERM);
    compute(20);
    by_instruction(&l);
    compute(100);
    say("raw errno\n");
    return 11;
}

static int raw_trap(void)
{
    const struct list l = NEEDED(SECCOMP_RET_TRAP, SYS_rt_sigreturn);
    count_traps();
    compute(20);
    by_instruction(&l);
    compute(100);
    return report_traps();
}

/* Code behind a key that handlers of signals do not have, as V8 keeps what it makes: it can be run
 * and not be read there. */
static int protected_code(void)
{
    static const unsigned char code[] = {0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3};
    char *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int key = pkey_alloc(0, 0), rights = PROT_READ | PROT_EXEC;
    memcpy(room, code, sizeof code); /* mov rcx, rdi; dec rcx; jnz; ret */
    must((key < 0 ? mprotect(room, 4096, rights) : pkey_mprotect(room, 4096, rights, key)) == 0,
         "mprotect");
    for (int i = 0; i < 20; i++)
        ((void (*)(uint64_t))(void *)room)(10000000);
    say(key < 0 ? "no keys\n" : "by a key\n");
    return 12;
}

/* As Chromium counts its threads before it makes a sandbox. */
static int threads_by_links(int proc)
{
    struct stat st;
    must(fstatat(proc, "self/task/", &st, 0) == 0, "fstatat");
    return (int)st.st_nlink - 2;
}

/* The same in a program that was built for glibc 2.32 or older. */
__asm__(".symver fstatat_of_old,__fxstatat64@GLIBC_2.4");
int fstatat_of_old(int version, int fd, const char *path, struct stat64 *st, int flags);

static int threads_of_old(int proc)
{
    struct stat64 st;
    must(fstatat_of_old(1, proc, "self/task", &st, 0) == 0, "__fxstatat64");
    return (int)st.st_nlink - 2;
}

static int threads_by_names(void)
{
    DIR *folder = opendir("/proc/self/task");
    int n = 0;
    must(folder != NULL, "opendir");
    for (struct dirent *e; (e = readdir(folder));)
        n += e->d_name[0] != '.';
    closedir(folder);
    return n;
}

/* Its zygote: it ends where it has more than one thread, moves to a name space of its own, which
 * the kernel refuses to a process with two, and forks children that filter their calls. */
static int zygote(void)
{
    const struct list l = NEEDED(SECCOMP_RET_TRAP, SYS_rt_sigreturn);
    char text[80];
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int round = 0; round < 3; round++) {
        compute(60);
        for (size_t i = 0; i < 200; i++)
            free(malloc(i * 50000));
        int links = threads_by_links(proc), again = threads_by_links(proc);
        must(links == 1 && again == 1, "more than one thread by the links of /proc/self/task");
        compute(30);
        for (size_t i = 0; i < 200; i++)
            free(malloc(i * 50000));
        must((round % 2 ? threads_by_names() : threads_of_old(proc)) == 1, "more than one thread");
    }
    int made = (int)syscall(SYS_unshare, CLONE_NEWUSER), why = made ? errno : 0;
    must(threads_by_links(proc) == 1, "more than one thread after unshare");
    snprintf(text, sizeof text, "unshare %d\n", why);
    say(text);
    close(proc);
    pid_t pid = fork();
    if (!pid) {
        compute(30);
        must(threads_by_names() == 1, "more than one thread in the child");
        count_traps();
        by_syscall(&l, SECCOMP_FILTER_FLAG_TSYNC);
        compute(30);
        _exit(report_traps());
    }
    int status = 0;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    compute(60);
    return WIFEXITED(status) ? WEXITSTATUS(status) + 20 : 1;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
#define CASE(f)                                                                                    \
    {                                                                                              \
#f, f                                                                                      \
    }
    CASE(strict_prctl), CASE(strict_seccomp), CASE(browser),        CASE(no_signals),
    CASE(killed),       CASE(service),        CASE(plain),          CASE(service_started),
    CASE(defaults),     CASE(forked),         CASE(refused),        CASE(raw_errno),
    CASE(raw_trap),     CASE(zygote),         CASE(protected_code),
};

int main(int argc, char **argv)
{
    self = argv[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc < 2)
            puts(cases[i].name);
        else if (!strcmp(argv[1], cases[i].name))
            return cases[i].run();
    }
    return argc < 2 ? 0 : 93;
}
