/* The functions of other folders that the shared object borrows from the program: error texts and
 * marks would otherwise exist twice. */
#include <stdarg.h>
#include <stdio.h>

#include "cuda/common/runtime.cuh"
#include "cuda/common/services.cuh"

const struct cuda_services *services;

#ifdef __CUDACC__ /* the tests of tests/device are linked with the originals */
extern "C" {

enum err err_set(enum err code, const char *file, int line, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return services->err_set(code, file, line, "%s", text);
}

void mark_push(const char *name, uint64_t payload)
{
    services->mark_push(name, payload);
}

void mark_pop(void)
{
    services->mark_pop();
}
}
#endif
