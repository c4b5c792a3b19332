/* Instruction sets: every *_kernel.c is compiled once per set (CMakeLists.txt) and ends in one
 * constant table of functions; drivers pick a table at run time.
 *
 *   NAME.h:         struct NAME_kernels { void (*row)(...); };  ISA_TABLES(NAME_kernels);
 *   NAME_kernel.c:  static functions, then  const struct NAME_kernels ISA_NAME(NAME_kernels) = {row};
 *   NAME.c:         ISA_PICK(NAME_kernels)->row(...);
 */
#ifndef TP_CPU_COMMON_ISA_H
#define TP_CPU_COMMON_ISA_H

enum isa { ISA_PLAIN, ISA_AVX2, ISA_AVX512 };

/* The best set that this machine has, or a lesser one named by TOMOPROF_ISA=plain|avx2|avx512. */
enum isa cpu_isa(void);
const char *isa_name(enum isa isa);

#define ISA_JOIN_(a, b) a##_##b
#define ISA_JOIN(a, b)  ISA_JOIN_(a, b)
#define ISA_NAME(name)  ISA_JOIN(name, TP_ISA)

#ifdef TP_X86
#define ISA_TABLES(type) extern const struct type type##_plain, type##_avx2, type##_avx512
#define ISA_PICK(type)                                                                             \
    (cpu_isa() == ISA_AVX512 ? &type##_avx512                                                      \
     : cpu_isa() == ISA_AVX2 ? &type##_avx2                                                        \
                             : &type##_plain)
#else
#define ISA_TABLES(type) extern const struct type type##_plain
#define ISA_PICK(type)   (&type##_plain)
#endif

#endif
