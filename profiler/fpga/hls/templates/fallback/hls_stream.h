// A queue under the name of the vendors' stream.
#ifndef FALLBACK_HLS_STREAM_H
#define FALLBACK_HLS_STREAM_H

#include <queue>

namespace hls
{
template <typename T> class stream
{
    std::queue<T> items;

  public:
    bool empty() const
    {
        return items.empty();
    }
    T read()
    {
        T first = items.front();
        items.pop();
        return first;
    }
    void write(const T &v)
    {
        items.push(v);
    }
};
} // namespace hls

#endif
