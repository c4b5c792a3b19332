/* Calls a function on another stack: the target's may be small (fibers, sigaltstack), or full. */
#ifndef TP_CAPTURE_RAW_OWN_STACK_H
#define TP_CAPTURE_RAW_OWN_STACK_H

/* f(a, b) on the stack that ends at `top`, which is aligned to 16 bytes. */
static inline __attribute__((always_inline)) void own_stack_call(void (*f)(void *, void *), void *a,
                                                                 void *b, char *top)
{
#ifdef __x86_64__
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "call *%[f]\n\t"
                     "movq %%rbx, %%rsp"
                     : [a] "+D"(a), [b] "+S"(b), [top] "+a"(top)
                     : [f] "r"(f)
                     : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0",
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#else
    register void *x0 __asm__("x0") = a;
    register void *x1 __asm__("x1") = b;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[top]\n\t"
                     "blr %[f]\n\t"
                     "mov sp, x19"
                     : "+r"(x0), "+r"(x1)
                     : [top] "r"(top), [f] "r"(f)
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                       "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory", "cc", "v0", "v1",
                       "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
                       "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

#endif
