// golden.txt: "in V" and "out WANTED EXACT" lines: the bits that the simulated kernel gave, and
// float64. Every result must equal WANTED; their distance to EXACT is the error that the widths
// were chosen for (LIMIT, rms over the range).
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "kernel.h"

struct tally {
    long results, wrong;
    double squares, low, high;
};

static void compare(hls::stream<result_t> &out, double wanted, double exact, struct tally *t)
{
    if (out.empty()) {
        t->wrong++;
        return;
    }
    const double got = out.read().to_double();
    if (got != wanted && t->wrong++ < 5)
        std::printf("result %ld is %.9g, wanted %.9g\n", t->results, got, wanted);
    t->squares += (got - exact) * (got - exact);
    t->low = t->results ? std::fmin(t->low, exact) : exact;
    t->high = t->results ? std::fmax(t->high, exact) : exact;
    t->results++;
}

static void run(hls::stream<sample_t> &in, hls::stream<result_t> &out)
{
#ifdef FOOTPRINTS
    hls::stream<footprint> footprints_in;
    footprints(footprints_in);
    kernel(in, footprints_in, out);
#else
    kernel(in, out);
#endif
}

int main(int argc, char **argv)
{
    std::FILE *file = argc == 2 ? std::fopen(argv[1], "r") : nullptr;
    hls::stream<sample_t> in;
    hls::stream<result_t> out;
    struct tally t = {0, 0, 0, 0, 0};
    char line[256];
    double a, b;
    bool ran = false;
    if (!file) {
        std::fprintf(stderr, "usage: bench golden.txt\n");
        return 2;
    }
    while (std::fgets(line, sizeof line, file)) {
        if (std::sscanf(line, "in %lf", &a) == 1)
            in.write(sample_t(a));
        else if (std::sscanf(line, "out %lf %lf", &a, &b) == 2) {
            if (!ran)
                run(in, out);
            ran = true;
            compare(out, a, b, &t);
        }
    }
    std::fclose(file);
    const double error = t.results ? std::sqrt(t.squares / t.results) / (t.high - t.low) : INFINITY;
    const bool good = !t.wrong && t.results && in.empty() && out.empty() && error <= LIMIT;
    std::printf("%ld results, %ld wrong, error %.2e of the range (limit %.2e): %s\n", t.results,
                t.wrong, error, double(LIMIT), good ? "passed" : "FAILED");
    return good ? 0 : 1;
}
