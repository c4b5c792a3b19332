// std::async: tasks of two kinds, of which one takes most of the time.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <future>
#include <vector>

#include "truth.h"

static double blur(int seed)
{
    std::vector<double> v(200000, seed);
    truth_begin("blur");
    for (int k = 0; k < 12; k++)
        for (size_t i = 1; i + 1 < v.size(); i++)
            v[i] = std::sqrt(v[i - 1] * v[i] + v[i + 1]); // truth: blur
    truth_end("blur");
    return v[7];
}

static double order(int seed)
{
    std::vector<double> v(100000);
    truth_begin("order");
    for (size_t i = 0; i < v.size(); i++)
        v[i] = (double)(i * 7919 % 100003 * (size_t)seed);
    std::sort(v.begin(), v.end()); // truth: order
    truth_end("order");
    return v[7];
}

int main()
{
    double total = 0;
    for (int k = 1; k < 30; k++) {
        auto a = std::async(std::launch::async, blur, k),
             b = std::async(std::launch::async, order, k);
        total += a.get() + b.get();
    }
    std::printf("%g\n", total);
}
