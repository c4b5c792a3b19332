/* Starts a program with the capture library so that the first signal of its CPU timer comes as
 * early as can be, on the way back from the call that arms the timer: early LIBRARY FOLDER PROGRAM
 * ARGUMENTS. Exit 77: no tracing here. */
#define _GNU_SOURCE
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern long ptrace(int request, ...);

int main(int argc, char **argv)
{
    int status, number = 0;
    unsigned long long call = 0;
    void *slot = NULL;
    if (argc < 4)
        return 2;
    pid_t pid = fork();
    if (!pid) {
        setenv("LD_PRELOAD", argv[1], 1);
        setenv("TOMOPROF_CAPTURE_DIR", argv[2], 1);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(77);
        raise(SIGSTOP);
        execv(argv[3], argv + 3);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    if (!WIFSTOPPED(status))
        return WEXITSTATUS(status);
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    int armed = 0;
    for (int give = 0; !armed && !ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)give);) {
        struct ptrace_syscall_info info;
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            break;
        give = WSTOPSIG(status);
        if (give == SIGTRAP) /* of exec */
            give = 0;
        if (give != (SIGTRAP | 0x80))
            continue;
        give = 0;
        ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            call = info.entry.nr;
            struct {
                void *slot;
                int number, notify;
            } event;
            struct iovec to = {&event, sizeof event},
                         from = {(void *)info.entry.args[1], sizeof event};
            if (call == SYS_timer_create &&
                process_vm_readv(pid, &to, 1, &from, 1, 0) == sizeof event) {
                slot = event.slot;
                number = event.number;
            }
        }
        armed = info.op == PTRACE_SYSCALL_INFO_EXIT && call == SYS_timer_settime && number;
    }
    if (!armed) {
        fprintf(stderr, "no timer was armed: status %x\n", (unsigned)status);
        return 1;
    }
    syscall(SYS_tgkill, pid, pid, number);
    do {
        ptrace(PTRACE_CONT, pid, NULL, NULL);
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return 1;
    } while (WSTOPSIG(status) != number);
    siginfo_t as_of_timer = {0};
    as_of_timer.si_signo = number;
    as_of_timer.si_code = SI_TIMER;
    as_of_timer.si_value.sival_ptr = slot;
    ptrace(PTRACE_SETSIGINFO, pid, NULL, &as_of_timer);
    ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)number);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
