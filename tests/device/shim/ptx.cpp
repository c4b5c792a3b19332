/* Kernels that nvcc compiled, in place of those of the host's compiler: TOMOPROF_TEST_PTX names the
 * shared object that tests/device/ptx makes. TOMOPROF_TEST_PTX_REPORT: a file that gets the kernels
 * that ran. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>

#include "tests/device/ptx/host.h"
#include "tests/device/shim/memory.h"

static std::map<std::string, shim_ptx> compiled;      /* by mangled names */
static std::map<uintptr_t, std::string> host_symbols; /* of this program's functions */
static std::map<std::string, long> used;

static const struct ptx_host services = {&threadIdx,
                                         &blockIdx,
                                         &blockDim,
                                         &gridDim,
                                         shim_lane,
                                         shim_shared,
                                         shim_exchange,
                                         shim_check_lane,
                                         __syncthreads,
                                         __syncwarp,
                                         __match_any_sync,
                                         __ballot_sync,
                                         static_cast<float (*)(float)>(reciprocal_approx),
                                         static_cast<double (*)(double)>(reciprocal_approx),
                                         rsqrt_approx,
                                         root_approx,
                                         shim_die};

/* A static kernel is one for the linker, and so has another name, but not for nvcc. */
static std::string nvcc_name(const char *name)
{
    return strncmp(name, "_ZL", 3) ? name : std::string("_Z") + (name + 3);
}

/* Symbols of the program's file: kernels are static, so that dladdr does not know them. */
static void read_symbols(void)
{
    Dl_info here;
    struct stat st;
    const int fd = open("/proc/self/exe", O_RDONLY);
    if (fd < 0 || fstat(fd, &st) || !dladdr(reinterpret_cast<const void *>(&read_symbols), &here))
        shim_die("/proc/self/exe: its symbols cannot be read");
    const char *file =
        static_cast<const char *>(mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0));
    close(fd);
    const Elf64_Ehdr *head = reinterpret_cast<const Elf64_Ehdr *>(file);
    const Elf64_Shdr *sections = reinterpret_cast<const Elf64_Shdr *>(file + head->e_shoff);
    const uintptr_t base = head->e_type == ET_DYN ? reinterpret_cast<uintptr_t>(here.dli_fbase) : 0;
    for (int i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols =
            reinterpret_cast<const Elf64_Sym *>(file + sections[i].sh_offset);
        const char *names = file + sections[sections[i].sh_link].sh_offset;
        for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
            const std::string name = nvcc_name(names + symbols[k].st_name);
            std::string &known = host_symbols[base + symbols[k].st_value];
            /* The linker may have made one function of several: any that nvcc knows. */
            if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC && !compiled.count(known))
                known = name;
        }
    }
    munmap(const_cast<char *>(file), (size_t)st.st_size);
}

static void write_report(void)
{
    const char *path = getenv("TOMOPROF_TEST_PTX_REPORT");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    for (const auto &kernel : used)
        fprintf(f, "%ld %s\n", kernel.second, kernel.first.c_str());
    fclose(f);
}

static void open_library(const char *path)
{
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        shim_die("TOMOPROF_TEST_PTX: %s", dlerror());
    const ptx_open_function begin = reinterpret_cast<ptx_open_function>(dlsym(library, "ptx_open"));
    if (!begin)
        shim_die("TOMOPROF_TEST_PTX: %s", dlerror());
    for (const struct ptx_file *file = begin(&services); file; file = file->next)
        for (size_t i = 0; i < file->count; i++)
            compiled[file->kernels[i].name] = file->kernels[i].run;
    read_symbols();
    atexit(write_report);
}

shim_ptx shim_ptx_of(const void *kernel, const char *name)
{
    static const char *const path = getenv("TOMOPROF_TEST_PTX");
    static int opened;
    if (!path || !strncmp(name, "shim_", 5))
        return NULL;
    if (!opened++)
        open_library(path);
    const auto symbol = host_symbols.find(reinterpret_cast<uintptr_t>(kernel));
    const auto found =
        symbol == host_symbols.end() ? compiled.end() : compiled.find(symbol->second);
    if (found == compiled.end())
        shim_die("%s (%s): nvcc made no such kernel", name,
                 symbol == host_symbols.end() ? "no symbol" : symbol->second.c_str());
    used[found->first]++;
    return found->second;
}

struct ptx_call {
    shim_ptx run;
    void *const *arguments;
};
static void ptx_thread(void *context)
{
    const struct ptx_call *call = static_cast<const struct ptx_call *>(context);
    call->run(call->arguments);
}

void shim_run_ptx(const char *kernel, dim3 grid, dim3 block, size_t shared, shim_ptx ptx,
                  void *const *arguments)
{
    struct ptx_call call = {ptx, arguments};
    shim_run(kernel, grid, block, shared, ptx_thread, &call);
}
