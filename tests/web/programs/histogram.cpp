// Four threads fill one histogram, which a mutex guards.
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

template <typename Key> class Histogram
{
    std::map<Key, long> bins;
    std::mutex guard;

  public:
    void add(const Key &key)
    {
        std::lock_guard<std::mutex> lock(guard);
        ++bins[key];
    }
    std::size_t size() const
    {
        return bins.size();
    }
};

static double wave(int i)
{
    double sum = 0;
    for (int k = 1; k < 40; k++)
        sum += std::sin(i * 0.001 * k) / k;
    return sum;
}

static void work(Histogram<std::string> &histogram, int from, int until)
{
    for (int i = from; i < until; i++)
        histogram.add(std::to_string(static_cast<int>(wave(i) * 5000)));
}

int main()
{
    Histogram<std::string> histogram;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back(work, std::ref(histogram), t * 900000, (t + 1) * 900000);
    for (auto &thread : threads)
        thread.join();
    std::printf("%zu bins\n", histogram.size());
}
