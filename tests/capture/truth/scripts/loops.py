"""asyncio with tasks, threads and an executor of processes at once."""

import asyncio
import concurrent.futures
import hashlib

from truth import phase, write


async def task(n):
    s = 0
    for k in range(10):
        with phase("task"):
            for i in range(n):  # truth: task
                s += i & 3  # truth: task
        await asyncio.sleep(0)
    return s


def thread(n):
    with phase("thread"):
        return hashlib.pbkdf2_hmac("sha256", b"x", b"y", n).hex()[:8]  # truth: thread


def process(n):
    with phase("process"):
        s = sum(i & 3 for i in range(n))  # truth: process
    write()
    return s


async def main():
    loop = asyncio.get_running_loop()
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        done = await asyncio.gather(*(task(100000) for _ in range(20)), *(asyncio.to_thread(thread, 300000) for _ in range(6)),
                                    *(loop.run_in_executor(pool, process, 2000000) for _ in range(6)))
    print(done[0], done[20], done[26])


if __name__ == "__main__":
    asyncio.run(main())
