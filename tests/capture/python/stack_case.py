"""Run by test_python_frames.py under each Python there is: stack_case.py PROBE. Python's own view of its frames, and
what the capture library reads without asking it. Prints "ok NAME" or the difference; exit code 1 when one differs."""

import asyncio
import ctypes
import functools
import random
import sys
import threading
import time

probe = ctypes.CDLL(sys.argv[1])  # gives the interpreter lock away during calls
held = ctypes.PyDLL(sys.argv[1])  # keeps it
buffer = ctypes.create_string_buffer(1 << 17)
CUT, PYTHON_CUT, NO_PYTHON, DEEP = 2, 4, 8, 16
INNER, OUTER = 384, 128  # frames kept of a deeper stack
failures = []
checked = 0


def parse(text):
    head, *lines = text.decode(errors="replace").splitlines()
    flags, natives = map(int, head.split())
    frames = []
    for line in lines:
        number, entry, first, file, name = line.split("\t")
        frames.append((file, int(number), name, int(first), int(entry)))
    return flags, natives, frames


def read(library=probe):
    library.probe_here(buffer, len(buffer))
    return parse(buffer.value)


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def python_view(frame):
    frames = []
    while frame:
        code = frame.f_code
        frames.append((code.co_filename, frame.f_lineno, name_of(code), code.co_firstlineno))
        frame = frame.f_back
    return frames


def both(what, library=probe):
    global checked
    mine, (flags, natives, got) = python_view(sys._getframe(1)), read(library)
    got = [frame[:4] for frame in got[2:]]  # without read() and this function
    checked += 1
    if flags & (PYTHON_CUT | NO_PYTHON | CUT) or got != mine:
        failures.append(what)
        print("DIFFERS", what, "flags", flags, "\n  python", mine[:6], "\n  probe ", got[:6])
    return 1


def generator(n):
    if n:
        yield from generator(n - 1)
    both("generator")
    yield n


def again():
    """The same outer frames at every look, with others inside, at other lines."""
    for k in range(30):
        both("again"); both("again", held)
        next(generator(k % 5))
        (lambda: both("again, called"))() if k % 3 else \
            both("again, next line")


async def awaited(n):
    await asyncio.sleep(0)
    both("coroutine %d" % n)
    if n:
        await awaited(n - 1)


async def gathered():
    await asyncio.gather(awaited(3), awaited(2))


class Thing:
    @property
    def value(self):
        both("property")
        return 1

    def __getattr__(self, name):
        both("__getattr__")
        return 2

    def __del__(self):
        both("__del__")

    class Inner:
        @staticmethod
        def method():
            both("static method of an inner class")


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@decorated
def größe(n):
    both("non-ASCII name")
    return [größe(n - 1) for _ in range(1)] if n else None


def nested(n):
    def наружу():
        def 汉字():
            return both("nested functions")

        return 汉字()

    return наружу()


def recurse(n):
    return recurse(n - 1) if n else both("recursion")


def over(n):
    """Python's view, and flags and frames of a stack that is deeper than what is kept; now and then through C."""
    if n % 10 == 1:
        return max([n - 1], key=lambda m: found.append(over(m)) or 0) and None
    return over(n - 1) if n else (python_view(sys._getframe()), read())


found = []


def many_lines():
    both(
        "call over"
        + " several"
        + " lines"
    )
    for i in range(2):
        both("loop"); both(
            "loop")
    try:
        raise ValueError
    except ValueError:
        both("except")
    finally:
        both("finally")
    with open("/dev/null") as f:
        both("with")


def c_callbacks():
    sorted([3, 1, 2], key=lambda x: both("key of sorted") + x)
    list(map(lambda x: both("map"), [1, 2]))
    functools.reduce(lambda a, b: both("reduce"), [1, 2, 3])
    max([1, 2], key=lambda x: both("key of max"))
    [both("list comprehension") for _ in range(2)]
    {both("set comprehension") for _ in range(2)}
    {i: both("dict comprehension") for i in range(2)}
    list(both("generator expression") for _ in range(2))
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    values = (ctypes.c_int * 3)(3, 1, 2)
    qsort = ctypes.CDLL(None).qsort
    qsort.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, compare]
    qsort.restype = None
    qsort(values, 3, 4, compare(lambda a, b: both("callback of C's qsort") and a[0] - b[0]))


def executed():
    exec("both('exec')", globals())
    exec(compile("def f():\n  both('compiled')\n\n\n" + "\n" * 70000 + "f()\nboth('line 70000')", "дом 😀.py", "exec"), globals())
    exec(compile("x = [\n" + "1,\n" * 3000 + "]\nboth('long table')", "long.py", "exec"), globals())
    exec(compile("def é(): both('latin')\né()", "é.py", "exec"), globals())
    eval(compile("(lambda: both('lambda in eval'))()", "<éval>", "eval"), globals())


def executed_again_and_again():
    """Code objects that take each other's place in memory, alike but for lines or names."""
    random.seed(1)
    for i in range(400):
        gap = "\n" * random.randrange(4)
        text = "def f():\n%s x = 1\n%s both('short-lived')\nf()" % (gap, "\n" * random.randrange(4))
        if i % 3 == 0:
            text = text.replace("f()", "g%d()" % (i % 7))
        exec(compile(text, "<generated>", "exec"), {"both": both})


def everything():
    both("plain")
    both("with the lock held", held)
    for _ in generator(3):
        pass
    both(("a", [both("argument") for _ in range(1)])[0])
    thing = Thing()
    thing.value
    thing.other
    thing.Inner.method()
    del thing
    größe(2)
    nested(1)
    recurse(25)
    many_lines()
    c_callbacks()
    executed()
    executed_again_and_again()
    again()
    asyncio.run(gathered())


def expect(what, truth):
    global checked
    checked += 1
    if not truth:
        failures.append(what)
        print("DIFFERS", what)


def too_deep():
    over(700)
    mine, (flags, natives, got) = found[0]
    got = [frame[:4] for frame in got]
    print("flags %d, %d frames of %d, %d native" % (flags, len(got), len(mine) + 1, natives))
    expect("a deep stack is not cut", flags & DEEP and not flags & (PYTHON_CUT | CUT) and len(got) == INNER + 1 + OUTER)
    expect("the leaf's end is kept", got[1:INNER] == mine[: INNER - 1])
    expect("the root's end is kept", got[INNER + 1 :] == mine[-OUTER:])
    expect("how many are left out is told", got[INNER][1] == len(mine) + 1 - INNER - OUTER)


def entries():
    """The outermost frame of each call into the interpreter's loop, through C."""
    got = []
    sorted([1], key=lambda x: got.append(read()) or x)
    frames = got[0][2]
    marked = [frame[2].rpartition(".")[2] for frame in frames if frame[4]]
    expect("the lambda that C calls is an entry", "<lambda>" in marked)
    expect("the program's root is an entry", frames[-1][4] == 1 and frames[-1][2] == "<module>")
    expect("entries() is none, from 3.11 on", sys.version_info < (3, 11) or "entries" not in marked)


def blocked_in_sleep(ready):
    ready.set()
    time.sleep(600)


def blocked_in_lock(ready, lock):
    ready.set()
    with lock:
        pass


def other_thread(target, *args):
    ready = threading.Event()
    thread = threading.Thread(target=target, args=(ready, *args), daemon=True)
    thread.start()
    ready.wait()
    # until it sleeps in the line behind ready.set()
    while (open(f"/proc/self/task/{thread.native_id}/stat").read().rpartition(") ")[2][0] != "S" or
           (frame := sys._current_frames()[thread.ident]).f_code is not target.__code__ or frame.f_lineno != frame.f_code.co_firstlineno + 2):
        time.sleep(0.001)
    mine = python_view(sys._current_frames()[thread.ident])
    seen = probe.probe_other(thread.native_id, buffer, len(buffer))
    flags, natives, got = parse(buffer.value)
    expect("another thread in " + target.__name__, seen and [frame[:4] for frame in got] == mine)
    print("natives of", target.__name__, natives, "flags", flags)
    return thread


def others():
    lock = threading.Lock()
    lock.acquire()
    other_thread(blocked_in_sleep)  # it sleeps on
    thread = other_thread(blocked_in_lock, lock)
    lock.release()
    thread.join()


def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        exec("sorted(range(200), key=lambda x: -x)")
        sum(i * i for i in range(200))
        dict((str(i), [i]) for i in range(50))
        recurse_quietly(20)


def recurse_quietly(n):
    return sum([recurse_quietly(n - 1)]) if n else 0


def sampled():
    text = ctypes.create_string_buffer(200)
    probe.probe_sampling(b"<module>", 500)
    busy(1)
    probe.probe_sampled(text, 200)
    n, cut, python_cut, rootless, ns, frames = map(int, text.value.split())
    print("samples %d, native cut %d, Python cut %d, without root %d, %d ns of CPU time each, %.1f frames"
          % (n, cut, python_cut, rootless, ns / n, frames / n))
    expect("enough samples", n > 100)
    expect("native stacks are whole", cut <= 0.01 * n)
    expect("Python stacks are whole", python_cut <= 0.01 * n)
    expect("Python stacks reach the module", rootless <= 0.01 * n)


def cost(n):
    if n:
        return cost(n - 1)
    text = ctypes.create_string_buffer(200)
    probe.probe_cost(5000, text, 200)
    native, natives, python, pythons = map(float, text.value.split())
    print("CPU time: %.0f ns for %d native frames (%.0f each), %.0f ns for %d Python frames (%.0f each)"
          % (native, natives, native / natives, python, pythons, python / pythons))


def main():
    if probe.probe_start():
        sys.exit("the probe does not start")
    everything()
    worker = threading.Thread(target=everything)
    worker.start()
    worker.join()
    too_deep()
    entries()
    others()
    sampled()
    cost(5)
    cost(25)
    print("%d.%d: %d checked, %d differ" % (*sys.version_info[:2], checked, len(failures)))
    sys.exit(1 if failures else 0)


main()
