# cython: language_level=3
def mandel(int n):
    cdef int i, j, k, total = 0
    cdef double x, y, a, b, t
    for i in range(n):
        for j in range(n):
            x = -2 + 3.0 * i / n; y = -1.5 + 3.0 * j / n; a = b = 0; k = 0
            while a * a + b * b < 4 and k < 60:  # truth: mandel
                t = a * a - b * b + x; b = 2 * a * b + y; a = t; k += 1  # truth: mandel
            total += k
    return total
