// Feeds a core from a file and writes what comes out. Lines in: "L channel dark white" loads
// constants, "R" resets, "B" is a clock without a sample, a number is a sample; lines out: one
// number, "bad" before it where the core says so.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include CORE_HEADER
#include "verilated.h"

static CORE core;

static void clock_once(std::FILE *out)
{
    core.clk = 0;
    core.eval();
    core.clk = 1;
    core.eval();
    if (!core.out_valid)
        return;
#ifdef HAS_LOAD
    const int32_t value = static_cast<int32_t>(core.out_data << 9) >> 9; // 23 bits, signed
    std::fprintf(out, "%s%d\n", core.out_bad ? "bad " : "", static_cast<int>(value));
#else
    std::fprintf(out, "%u\n", static_cast<unsigned>(core.out_data));
#endif
}

static void line(const char *text, std::FILE *out)
{
    unsigned a = 0;
    core.in_valid = 0;
    core.rst = text[0] == 'R';
#ifdef HAS_LOAD
    unsigned dark = 0, white = 0;
    core.load = std::sscanf(text, "L %u %u %u", &a, &dark, &white) == 3;
    core.load_channel = a;
    core.load_dark = dark;
    core.load_white = white;
#endif
    if (std::sscanf(text, "%u", &a) == 1) {
        core.in_valid = 1;
        core.in_data = a;
    }
    clock_once(out);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    std::FILE *in = std::fopen(argv[1], "r"), *out = std::fopen(argv[2], "w");
    char text[128];
    if (!in || !out)
        return 2;
    while (std::fgets(text, sizeof text, in))
        line(text, out);
    for (int i = 0; i < 64; i++) // longer than either pipeline
        line("B", out);
    core.final();
    return std::fclose(out) ? 1 : 0;
}
