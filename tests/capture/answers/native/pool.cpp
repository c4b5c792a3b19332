// A pool of 16 threads that take jobs from one queue.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "spin.h"
#include "truth.h"

static std::mutex lock;
static std::condition_variable more;
static std::deque<int> jobs;
static double total;

static void worker()
{
    for (;;) {
        std::unique_lock<std::mutex> held(lock);
        more.wait(held, [] { return !jobs.empty(); });
        int job = jobs.front();
        jobs.pop_front();
        held.unlock();
        if (job < 0)
            return;
        double x = job;
        truth_begin("job");
        SPIN(x, 2000000L); // truth: job
        truth_end("job");
        held.lock();
        truth_begin("merge");
        SPIN(total, 200000L); // truth: merge
        truth_end("merge");
        total += x;
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; i++)
        threads.emplace_back(worker);
    for (int i = 0; i < 400 + 16; i++) {
        std::lock_guard<std::mutex> held(lock);
        jobs.push_back(i < 400 ? i : -1);
        more.notify_one();
    }
    for (auto &t : threads)
        t.join();
    std::printf("%g\n", total);
}
