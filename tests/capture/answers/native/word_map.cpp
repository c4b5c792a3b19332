// Counts words in an ordered map, then sorts the counts.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "truth.h"

static std::vector<std::string> make(size_t n)
{
    std::vector<std::string> words;
    unsigned x = 12345;
    for (size_t i = 0; i < n; i++) {
        x = x * 1103515245 + 12345;
        words.push_back("word" + std::to_string((x >> 8) % 60000)); // truth: make
    }
    return words;
}

static std::map<std::string, int> count(const std::vector<std::string> &words)
{
    std::map<std::string, int> counts;
    for (const auto &w : words)
        counts[w]++; // truth: count
    return counts;
}

int main()
{
    truth_begin("make");
    auto words = make(1500000);
    truth_end("make");
    truth_begin("count");
    auto counts = count(words);
    truth_end("count");
    std::vector<int> order;
    for (auto &p : counts)
        order.push_back(p.second);
    std::sort(order.rbegin(), order.rend());
    printf("%d\n", order[0]);
}
