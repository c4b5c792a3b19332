// A pybind11 module: two functions over NumPy arrays, one of them calls back into Python.
#include "spin.h"
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

static double smooth(py::array_t<double> a, int rounds)
{
    auto v = a.mutable_unchecked<1>();
    double sum = 0;
    for (int r = 0; r < rounds; r++)
        for (py::ssize_t i = 1; i + 1 < v.shape(0); i++)
            v(i) = 0.25 * v(i - 1) + 0.5 * v(i) + 0.25 * v(i + 1); // truth: smooth
    for (py::ssize_t i = 0; i < v.shape(0); i++)
        sum += v(i);
    return sum;
}

static double spin(double x, long n)
{
    SPIN(x, n); // truth: spin
    return x;
}

static double each(py::function f, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += f(i).cast<double>(); // from C++ into Python
    return sum;
}

PYBIND11_MODULE(projector, m)
{
    m.def("smooth", &smooth);
    m.def("spin", &spin);
    m.def("each", &each);
}
