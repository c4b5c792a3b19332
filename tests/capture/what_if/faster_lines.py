"""Twelve programs of threads, pools, locks, pipelines and processes. The line that ends with `# LINE` takes FACTOR times as long, which is
an argument: what it gains is known by running it."""

import pathlib
import textwrap

HEAD = '''
    import sys, threading, time, zlib
    FACTOR = float(sys.argv[1])
    DATA = bytes(range(256)) * 512

    def compute(seconds):
        """Releases the GIL; the same work whatever the machine does besides."""
        for _ in range(round(seconds * 2000)):
            zlib.adler32(zlib.compress(DATA, 1))
'''
THREADS = '''
    def run(*functions):
        threads = [threading.Thread(target=function) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
'''

PROGRAMS = {
    "serial_compute": (0.4, '''
        for _ in range(20):
            compute(0.03)
            compute(0.05 * FACTOR)  # LINE
    '''),
    "serial_wait": (0.5, '''
        for _ in range(20):
            compute(0.02)
            time.sleep(0.06 * FACTOR)  # LINE
    '''),
    "threads_uneven": (0.25, THREADS + '''
        def first():
            time.sleep(2 * FACTOR)  # LINE

        def second():
            time.sleep(1.4)

        run(first, second)
    '''),
    "threads_compute": (0.3, THREADS + '''
        def first():
            for _ in range(20):
                compute(0.05 * FACTOR)  # LINE

        def second():
            for _ in range(20):
                compute(0.03)

        run(first, second)
        compute(0.4)
    '''),
    "pool_threads": (0.4, '''
        from concurrent.futures import ThreadPoolExecutor

        def task(i):
            time.sleep(0.04)
            time.sleep(0.06 * FACTOR)  # LINE

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(task, range(80)))
    '''),
    "pool_processes": (0.5, '''
        from multiprocessing import get_context

        def task(i):
            compute(0.02)
            time.sleep(0.05 * FACTOR)  # LINE
            return i

        if __name__ == "__main__":
            with get_context("fork").Pool(2) as pool:
                print(sum(pool.map(task, range(40), chunksize=1)))
    '''),
    "lock_held": (0.5, THREADS + '''
        lock = threading.Lock()

        def work():
            for _ in range(12):
                time.sleep(0.02)
                with lock:
                    time.sleep(0.02)
                    time.sleep(0.04 * FACTOR)  # LINE

        run(work, work, work)
    '''),
    "lock_outside": (0.2, THREADS + '''
        lock = threading.Lock()

        def work():
            for _ in range(15):
                time.sleep(0.03 * FACTOR)  # LINE
                with lock:
                    time.sleep(0.05)

        run(work, work, work)
    '''),
    "pipeline_slowest": (0.3, THREADS + '''
        import queue
        one, two = queue.Queue(2), queue.Queue(2)

        def read():
            for i in range(40):
                time.sleep(0.05 * FACTOR)  # LINE
                one.put(i)
            one.put(None)

        def change():
            while (i := one.get()) is not None:
                time.sleep(0.03)
                two.put(i)
            two.put(None)

        def write():
            while two.get() is not None:
                time.sleep(0.01)

        run(read, change, write)
    '''),
    "pipeline_other": (0.2, THREADS + '''
        import queue
        one, two = queue.Queue(2), queue.Queue(2)

        def read():
            for i in range(40):
                time.sleep(0.02)
                one.put(i)
            one.put(None)

        def change():
            while (i := one.get()) is not None:
                time.sleep(0.03 * FACTOR)  # LINE
                two.put(i)
            two.put(None)

        def write():
            while two.get() is not None:
                time.sleep(0.05)

        run(read, change, write)
    '''),
    "two_processes": (0.4, '''
        import os
        child = os.fork()
        if not child:
            for _ in range(20):
                compute(0.02)
                time.sleep(0.06 * FACTOR)  # LINE
            os._exit(0)
        time.sleep(1)
        os.waitpid(child, 0)
        compute(0.3)
    '''),
    "two_processes_pipe": (0.3, '''
        import os
        from multiprocessing import Pipe, get_context

        def answer(end):
            while (i := end.recv()) is not None:
                time.sleep(0.04 * FACTOR)  # LINE
                end.send(i + 1)

        if __name__ == "__main__":
            here, there = Pipe()
            child = get_context("fork").Process(target=answer, args=(there,))
            child.start()
            for i in range(30):
                here.send(i)
                compute(0.01)
                here.recv()
                time.sleep(0.02)
            here.send(None)
            child.join()
    '''),
}


def write(folder, name):
    """The program's file, the number of its line, and the factor to ask for."""
    factor, text = PROGRAMS[name]
    text = textwrap.dedent(HEAD) + "\n".join(textwrap.dedent(part) for part in ([THREADS, text[len(THREADS):]] if text.startswith(THREADS) else [text]))
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(text)
    return path, next(n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# LINE")), factor
