"""How far a call is: on a bar of tqdm, or as an iterator."""

from __future__ import annotations

from _thread import allocate_lock
from typing import Any, Callable, Iterator

from tomoprof._library import Cancelled, lib


class Moved:
    """A callback that moves a bar of tqdm: by iterations, or by percent where a call knows a share alone."""

    def __init__(self, bar) -> None:
        self.bar = bar

    def __call__(self, done, total):
        scale = 100 if total == 1 else 1
        self.bar.total = round(scale * total)
        self.bar.update(round(scale * done) - self.bar.n)


class Relay:
    """A callback that puts (done, total) into a queue, and can end the call that it belongs to."""

    def __init__(self) -> None:
        from queue import SimpleQueue  # here, for `import tomoprof` is to be short
        self.events: SimpleQueue = SimpleQueue()
        self.ended, self._lock, self._context = False, allocate_lock(), None

    def __call__(self, done, total):
        self.events.put((done, total))
        return self.ended

    def belongs_to(self, context):
        """From now on `context` computes the call; None: no more."""
        with self._lock:
            if self.ended and context is not None:
                raise Cancelled("cancelled; the arrays hold what was done until then")
            self._context = context

    def end(self):
        with self._lock:
            self.ended = True
            if self._context is not None:
                lib.tomoprof_cancel(self._context.handle)


def callback_of(given):
    """The function that an argument `callback` means: itself, or what moves a bar of tqdm."""
    if given is None or callable(given):
        return given
    if hasattr(given, "update") and hasattr(given, "n"):
        return Moved(given)
    raise TypeError(f"callback is {given!r}; expected a function of (done, total) or a bar of tqdm")


class Progress:
    """What `tomoprof.progress` returns: an iterator of (done, total), then `result`."""

    def __init__(self, call, arguments, options) -> None:
        self._call, self._arguments, self._options = call, arguments, options
        from threading import Thread
        self._relay, self._thread = Relay(), Thread(target=self._work, daemon=True)
        self._result: Any = None
        self._error: Any = RuntimeError("the call has not begun: iterate over it first")

    def _work(self):
        try:
            self._result, self._error = self._call(*self._arguments, callback=self._relay, **self._options), None
        except BaseException as error:
            self._error = error
        finally:
            self._relay.events.put(None)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        if self._thread.ident is not None:
            raise RuntimeError("the call has begun already: make another one with tomoprof.progress")
        self._thread.start()
        left = 1.0  # of the steps: a loop that had them all, as one of zip's, leaves nothing early
        try:
            while True:
                event = self._relay.events.get()
                if event is None:
                    break
                left = event[1] - event[0]
                yield event
        finally:  # a `break`, an exception of the loop, Ctrl-C
            if left > 0:
                self._relay.end()
            self._thread.join()
        if self._error is not None:
            raise self._error

    @property
    def result(self) -> Any:
        """What the call returned. Raises what the call raised: tomoprof.Cancelled where the loop was left early."""
        if self._error is not None:
            raise self._error
        return self._result


def progress(call: Callable[..., Any], *arguments: Any, **options: Any) -> Progress:
    """Makes a call in another thread, and iterates over its progress, pairs (done, total); leaving the loop ends the call.

        steps = tomoprof.progress(model.recon, sinogram, max_iterations=10)
        for done, total in steps:
            print(done, "of", total)
        volume, record = steps.result

    call: a method or function of tomoprof that takes `callback`. Of `recon` and `denoise` a step is an iteration; of others a share of 1."""
    if not callable(call):
        raise TypeError(f"call is {call!r}; expected a method or function of tomoprof")
    if "callback" in options:
        raise TypeError("callback is what progress gives to the call; leave it away")
    return Progress(call, arguments, options)
