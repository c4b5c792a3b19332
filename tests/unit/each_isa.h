/* Runs a test program once per instruction set. */
#ifndef TP_TESTS_UNIT_EACH_ISA_H
#define TP_TESTS_UNIT_EACH_ISA_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cpu/common/isa.h"

/* TOMOPROF_ISA counts at its first use, so each set has a process. Returns 0 when all_tests did in
 * each that this machine has. */
static int for_each_isa(int (*all_tests)(void))
{
    int failed = 0;
    for (int isa = ISA_PLAIN; isa <= ISA_AVX512; isa++) {
        pid_t child = fork();
        if (child == 0) {
            setenv("TOMOPROF_ISA", isa_name((enum isa)isa), 1);
            if (cpu_isa() != (enum isa)isa)
                exit(0); /* this machine has a lesser one only, which had its turn */
            fprintf(stderr, "instruction set %s\n", isa_name(cpu_isa()));
            exit(all_tests());
        }
        int status = 1;
        failed |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    return failed;
}

#endif
