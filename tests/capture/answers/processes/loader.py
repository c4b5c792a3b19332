"""A process that loads batches is slower than the training that waits for them."""

import multiprocessing

from truth import phase, write


def load(batches):
    for k in range(30):
        with phase("load"):
            batch = [(i * 31 + k) % 256 for i in range(500000)]  # truth: load
        batches.put(sum(batch))
    batches.put(None)
    write()
    batches.close()


if __name__ == "__main__":
    batches = multiprocessing.Queue(maxsize=2)
    loader = multiprocessing.Process(target=load, args=(batches,))
    loader.start()
    total = 0
    while True:
        with phase("get"):
            batch = batches.get()  # truth: get
        if batch is None:
            break
        with phase("train"):
            total += sum(range(batch % 100000))  # truth: train
    loader.join()
    print(total)
