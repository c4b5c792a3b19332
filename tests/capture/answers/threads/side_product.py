"""A side thread multiplies matrices with the pool of BLAS; the main thread waits for its event."""

import threading

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
done = threading.Event()


def work():
    a = np.random.default_rng(1).random((1400, 1400))
    for _ in range(12):
        with phase("product"):
            a = a @ a / 1400  # truth: product
    done.set()


threading.Thread(target=work).start()
done.wait()
print("done")
