"""asyncio: several tasks, of which one awaits a slow answer."""

import asyncio

from truth import phase


async def fetch(seconds):
    await asyncio.sleep(seconds)  # truth: frames
    return seconds


async def metadata():
    with phase("metadata"):
        return await fetch(0.1)  # truth: metadata


async def frames():
    total = 0
    for _ in range(9):
        with phase("frames"):
            total += await fetch(0.25)  # truth: frames
        with phase("sum"):
            total += sum(range(400000))  # truth: sum
    return total


async def main():
    print(await asyncio.gather(metadata(), frames(), metadata()))


asyncio.run(main())
