"""An event loop beats the time while threads of its executor compute in Python: they share the GIL."""

import asyncio

from truth import phase


def count(n):
    with phase("count"):
        s = 0
        for i in range(n):  # truth: count
            s += i % 7  # truth: count
        return s


async def beat():
    while True:
        await asyncio.sleep(0.02)


async def main():
    loop = asyncio.get_running_loop()
    ticks = asyncio.create_task(beat())
    print(sum(await asyncio.gather(*(loop.run_in_executor(None, count, 4000000) for _ in range(4)))))
    ticks.cancel()


asyncio.run(main())
