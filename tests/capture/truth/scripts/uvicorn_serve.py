"""uvicorn: an ASGI application that works in its event loop and in a pool of threads, until a client has asked a hundred times."""

import asyncio
import pathlib
import socket
import sys

import uvicorn
from jobs import digest, ordered, total

WORK = {"/sum": total, "/hash": digest, "/sort": ordered}


async def app(scope, receive, send):
    if scope["type"] == "http":
        work = WORK[scope["path"]]
        text = await asyncio.to_thread(work) if work is digest else work()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": text.encode()})


async def main():
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    client = pathlib.Path(__file__).with_name("client.py")
    process = await asyncio.create_subprocess_exec(sys.executable, client, str(listening.getsockname()[1]), stdout=asyncio.subprocess.PIPE)
    print((await process.communicate())[0].decode())
    server.should_exit = True
    await serving


asyncio.run(main())
