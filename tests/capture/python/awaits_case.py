"""Run by test_python_frames.py under each Python there is: awaits_case.py PROBE. An event loop waits in a thread of its own. The
probe's frames of that thread begin with those of the coroutines that the loop waits for, as asyncio knows them itself; where
they wait at different places, with what they have in common. Prints what differs; exit code 1."""

import asyncio
import ctypes
import os
import sys
import threading
import time

probe = ctypes.CDLL(sys.argv[1])
buffer = ctypes.create_string_buffer(1 << 17)
failures, kept = [], []


async def leaf():
    await asyncio.get_running_loop().create_future()


async def middle(depth=2):
    await (middle(depth - 1) if depth else leaf())


async def elsewhere():
    await leaf()


async def quick():
    await asyncio.sleep(0)


async def items():
    await leaf()
    yield 1


async def plain():
    await middle()


async def of_task():
    await asyncio.ensure_future(middle())


async def of_items():
    async for _ in items():
        pass


async def gather_alike():
    await asyncio.gather(*(middle() for _ in range(40)))


async def gather_last():
    await asyncio.gather(quick(), middle(), quick())


async def gather_apart():
    await asyncio.gather(middle(), elsewhere())


async def gather_partly():
    await asyncio.gather(middle(1), middle(2))


async def gather_future():
    await asyncio.gather(middle(), asyncio.get_running_loop().create_future())


async def gather_of_gathers():
    await asyncio.gather(asyncio.gather(middle(), quick()), quick())


async def gather_queue():
    await asyncio.gather(asyncio.Queue().get(), middle())


async def gather_many():
    await asyncio.gather(*(quick() for _ in range(1100)), middle())


async def of_wait():
    await asyncio.wait({asyncio.ensure_future(middle()), asyncio.ensure_future(quick())})


async def of_wait_for():
    await asyncio.wait_for(middle(), 3600)


async def of_lock():
    lock = asyncio.Lock()
    await lock.acquire()
    async with lock:
        pass


async def of_sleep():
    await asyncio.sleep(3600)


async def shielded():
    await asyncio.shield(middle())


async def in_thread():
    await asyncio.get_running_loop().run_in_executor(None, threading.Event().wait, 3600)


async def of_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(quick())
        group.create_task(middle())


MIDDLE = ["middle", "middle", "middle", "leaf"]
CASES = [
    (plain, MIDDLE),
    (of_task, MIDDLE),
    (of_items, ["items", "leaf"]),
    (gather_alike, MIDDLE),
    (gather_last, MIDDLE),
    (gather_apart, []),
    (gather_partly, ["middle", "middle"]),
    (gather_future, []),
    (gather_of_gathers, MIDDLE),
    (gather_queue, MIDDLE),
    (gather_many, []),
    (of_wait, ["wait", "_wait", *MIDDLE]),
    (of_wait_for, ["wait_for", *MIDDLE]),
    (of_lock, ["__aenter__", "acquire"]),
    (of_sleep, ["sleep"]),
    (shielded, []),
    (in_thread, []),
] + ([(of_group, ["__aexit__", *MIDDLE])] if sys.version_info >= (3, 11) else [])


def lines_of(task):
    """Names and lines of the coroutines of one task, the outermost first, by asyncio and by the interpreter."""
    found, at = [], task.get_coro()
    while getattr(at, "cr_frame", None):
        found.append((at.cr_frame.f_lineno, name_of(at.cr_code)))
        at = at.cr_await
    return found


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def waits_in_the_kernel(tid):
    with open(f"/proc/self/task/{tid}/stat") as f:
        return f.read().rpartition(") ")[2][0] == "S"


def in_select(ident):
    frame = sys._current_frames().get(ident)
    return frame and frame.f_code.co_name == "select"


def settle(loop):
    """After some turns of the loop nothing is ready any longer."""

    async def turns():
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run_coroutine_threadsafe(turns(), loop).result(300)


def read(thread):
    """When it stands in select, asleep, before and after the look."""
    while True:
        if in_select(thread.ident) and waits_in_the_kernel(thread.native_id):
            if probe.probe_other(thread.native_id, buffer, len(buffer)):
                lines = [line.split("\t") for line in buffer.value.decode().splitlines()[1:]]
                if any(line[4].endswith("_run_once") for line in lines):
                    return [(int(line[0]) & 0xFFFFFF, line[4]) for line in lines]
        time.sleep(0.001)


def case(start, below):
    loop = asyncio.new_event_loop()
    root = loop.create_task(start())
    kept.append((loop, root))

    def run():
        try:
            loop.run_until_complete(root)
        except BaseException:  # the test stops the loop
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not loop.is_running():
        time.sleep(0.001)
    settle(loop)
    known = lines_of(root)
    got = read(thread)
    select = [name for _, name in got].index(next(name for _, name in got if name.endswith("_run_once"))) - 1
    awaits = got[:select][::-1]
    names = [name.rpartition(".")[2] for _, name in awaits]
    if names != [start.__name__, *below] or awaits[: len(known)] != known[: len(awaits)]:
        failures.append(start.__name__)
        print("DIFFERS", start.__name__, "\n  asyncio", known, "\n  probe  ", awaits, "\n  wanted ", below)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def main():
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        print("skipped: coroutines of free-threaded builds are not read")
        return
    if probe.probe_start():
        sys.exit("the probe does not start")
    for start, below in CASES:
        case(start, below)
    print("%d.%d: %d event loops, %d differ" % (*sys.version_info[:2], len(CASES), len(failures)))
    sys.stdout.flush()
    os._exit(1 if failures else 0)  # tasks that never end


main()
