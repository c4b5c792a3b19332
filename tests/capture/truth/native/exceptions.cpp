// C++: exceptions through ten calls, coroutines of C++20, and templates that are inlined wholly.
#include "truth.h"
#include <algorithm>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

struct series {
    struct promise_type {
        long value = 0;
        series get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend()
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        std::suspend_always yield_value(long v)
        {
            value = v;
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::terminate();
        }
    };
    std::coroutine_handle<promise_type> handle;
};

static series numbers(long n)
{
    long s = 1;
    for (long i = 0; i < n; i++) {
        s = s * 6364136223846793005L + i;
        co_yield s;
    }
}

__attribute__((noinline)) static int thrower(int depth, int n)
{
    if (!depth && n % 2)
        throw std::runtime_error("odd");
    return depth ? thrower(depth - 1, n) + 1 : n;
}

static long throwing(int n)
{
    long caught = 0;
    for (int i = 0; i < n; i++)
        try {
            caught += thrower(10, i) & 1;
        } catch (const std::exception &) {
            caught += 2;
        }
    return caught;
}

template <class T> static T middle(std::vector<T> v)
{
    std::sort(v.begin(), v.end(), [](T a, T b) { return a < b; });
    return v[v.size() / 2];
}

int main()
{
    truth_begin("throw");
    long caught = throwing(600000); // inclusive: throw
    truth_end("throw");
    long sum = 0;
    truth_begin("coroutine");
    series s = numbers(150000000);
    for (s.handle.resume(); !s.handle.done(); s.handle.resume()) // inclusive: coroutine
        sum += s.handle.promise().value;                         // truth: coroutine
    s.handle.destroy();
    truth_end("coroutine");
    std::vector<double> v;
    for (int i = 0; i < 1000000; i++)
        v.push_back((i * 7919L) % 1000003);
    truth_begin("sort");
    double m = 0;
    for (int i = 0; i < 12; i++)
        m += middle(v); // inclusive: sort
    truth_end("sort");
    std::printf("%ld %ld %g\n", caught, sum, m);
    return 9;
}
