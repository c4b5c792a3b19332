/* Opens and closes two plug-ins in turn: the loader puts both at the same address. */
#include "truth.h"
#include <dlfcn.h>
#include <stdio.h>

static double use(const char *path, double x)
{
    void *plug = dlopen(path, RTLD_NOW);
    double (*work)(double) = plug ? (double (*)(double))dlsym(plug, "plug_work") : NULL;
    if (!work) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    x = work(x);
    dlclose(plug);
    return x;
}

int main(void)
{
    double x = 1;
    for (int i = 0; i < 250; i++) {
        truth_begin("a");
        x = use("./plug_a.so", x);
        truth_end("a");
        truth_begin("b");
        x = use("./plug_b.so", x);
        truth_end("b");
    }
    printf("%.6g\n", x);
    return 0;
}
