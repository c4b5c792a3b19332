"""The seed of what the library draws."""

import numpy


def random_seed():
    """The seed for the library's generator, which is NumPy's legacy one: that of numpy.random.seed(N) where nothing was drawn since
    (the result is then MBIRJAX's), else the next number of numpy.random."""
    name, key, position = numpy.random.get_state()[:3]
    seed = int(key[0])
    fresh = name == "MT19937" and position == len(key) and (numpy.random.RandomState(seed).get_state()[1] == key).all()
    following = int(numpy.random.randint(0, 1 << 32, dtype=numpy.uint32))
    return seed if fresh else following
