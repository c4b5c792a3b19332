"""aiohttp: one request after the other to a slow server."""

import asyncio
import os
import time

from truth import phase

with phase("import"):
    import aiohttp  # truth: import


async def values(session, url):
    with phase("get"):
        async with session.get(url) as answer:  # truth: get
            return await answer.json(content_type=None)  # truth: get


async def main():
    while not os.path.exists("port"):
        time.sleep(0.01)
    url = f"http://127.0.0.1:{open('port').read()}/"
    async with aiohttp.ClientSession() as session:
        for k in range(6):
            found = await values(session, url + str(k))
            with phase("sum"):
                print(sum(x * x for x in found))  # truth: sum


asyncio.run(main())
