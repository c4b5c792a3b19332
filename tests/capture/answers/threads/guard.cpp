// Four threads call a method whose lock_guard covers all that it computes.
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "truth.h"

struct Table {
    std::mutex mutex;
    std::vector<double> sums = std::vector<double>(64);

    __attribute__((noinline)) double mix(double x, int n)
    {
        for (int i = 0; i < n; i++)
            x = std::sin(x) + 1.1;
        return x;
    }
    __attribute__((noinline)) void add(int k, double x)
    {
        std::lock_guard<std::mutex> held(mutex);
        sums[k % 64] += mix(x, 300000); // truth: add
    }
};

static Table table;

static void worker(int id)
{
    double x = id;
    for (int i = 0; i < 40; i++) {
        truth_begin("add");
        table.add(i, x); // truth: add
        truth_end("add");
        truth_begin("alone");
        x = table.mix(x, 30000); // truth: alone
        truth_end("alone");
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(worker, i);
    for (auto &t : threads)
        t.join();
}
