"""A small reconstruction with known functions: what the upgrade fixtures recorded."""
import time


def project(rows):
    end = time.process_time() + 0.25
    total = 0
    while time.process_time() < end:
        total += sum(i * i for i in rows)
    return total


def filter_rows(rows):
    end = time.process_time() + 0.12
    total = 0
    while time.process_time() < end:
        total += sum(rows)
    return total


def back_project(rows):
    blocks = [bytearray(4 << 20) for _ in range(3)]
    time.sleep(0.1)
    return len(blocks) + filter_rows(rows)


project(range(400))
back_project(range(400))
