"""asyncio: a coroutine calls something that blocks, so no other task advances."""

import asyncio
import time

from truth import phase


def read_sensor():
    time.sleep(0.25)  # truth: block
    return 1


async def poll():
    total = 0
    for _ in range(9):
        with phase("block"):
            total += read_sensor()  # truth: block
        await asyncio.sleep(0)
    return total


async def beat():
    for k in range(40):
        with phase("beat"):
            sum(range(100000))  # truth: beat
        await asyncio.sleep(0.001)


async def main():
    await asyncio.gather(poll(), beat())


asyncio.run(main())
