"""Two greenlets of gevent sleep."""

import gevent
from truth import phase


def fetch(seconds):
    gevent.sleep(seconds)  # truth: wait


with phase("wait"):
    gevent.joinall([gevent.spawn(fetch, seconds) for seconds in (0.5, 2.5)])  # truth: wait
with phase("sum"):
    print(sum(range(20000000)))  # truth: sum
