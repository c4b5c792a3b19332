"""Four threads that do their slow work inside one lock: three of them wait for the fourth."""
import threading
import time

lock = threading.Lock()
done = []


def worker(number):
    for step in range(12):
        with lock:  # slow
            time.sleep(0.02)
            done.append((number, step))


threads = [threading.Thread(target=worker, args=(n,)) for n in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(done), "steps")
