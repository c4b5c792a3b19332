"""Two processes over shared memory: one makes blocks slowly, the other waits for them."""

import multiprocessing
from multiprocessing import shared_memory

from truth import phase, write


def make(name, ready, taken):
    memory = shared_memory.SharedMemory(name)
    for k in range(8):
        with phase("make"):
            for i in range(len(memory.buf)):  # truth: make
                memory.buf[i] = (i * 7 + k) & 255  # truth: make
        ready.release()
        taken.acquire()
    memory.close()
    write()


if __name__ == "__main__":
    memory = shared_memory.SharedMemory(create=True, size=1 << 20)
    ready, taken = multiprocessing.Semaphore(0), multiprocessing.Semaphore(0)
    other = multiprocessing.Process(target=make, args=(memory.name, ready, taken))
    other.start()
    total = 0
    for k in range(8):
        with phase("wait"):
            ready.acquire()  # truth: wait
        with phase("add"):
            total += sum(memory.buf)  # truth: add
        taken.release()
    other.join()
    memory.close()
    memory.unlink()
    print(total)
