"""%%tomoprof in a notebook: the kernel is recorded from outside while a cell runs, and the report is shown below the cell.

A transformer of the input takes the line %%tomoprof off, so that the cell runs as it would without: `await`, output, tracebacks
and Ctrl-C are IPython's own. Two callbacks, before and after the cell, begin and end the recording."""

import ctypes
import html
import json
import linecache
import os
import pathlib
import re
import signal
import subprocess
import sys

import tomoprof

MAGIC = "%%tomoprof"
ENOUGH = 20  # samples: below them the headline names no line either
INLINE_BYTES = 4 << 20  # a larger page is linked to: it would be saved in the notebook
PR_SET_PTRACER = 0x59616D61
HELP = """%%tomoprof [--rate HZ] [--seconds N] [--out DIR] [--link] [options of `tomoprof report`]

Records this cell with all threads of the kernel and shows the report below it. --link shows a link to the page instead
of the page; --seconds N ends the recording after N seconds, not the cell. The run stays in DIR (default: tomoprof-runs).
"""


def options_of(cell):
    """The words behind %%tomoprof in the first line of the cell that is not empty; None: it is not one of ours."""
    first = next((line for line in cell.splitlines() if line.strip()), "")
    words = first.split()
    return words[1:] if words and words[0] == MAGIC else None


def without_magic(lines):
    """A transformer of IPython. An empty line stays in its place, so that lines keep their numbers. Another magic of the whole cell
    has to come first, and moves up."""
    if not lines or options_of(lines[0]) is None:
        return lines
    return lines[1:] if len(lines) > 1 and lines[1].startswith("%%") else ["\n", *lines[1:]]


def split(words):
    """Words for `record`, for `report`, and whether only a link is wanted. ValueError has a sentence."""
    record, report, link = [], [], False
    words = list(words)
    while words:
        word = words.pop(0)
        name = word.split("=")[0]
        if name == "--link":
            link = True
            continue
        if name in ("--pid", "--no-analysis", "--with", "--measure-overhead"):
            raise ValueError(f"{name} is not an option of {MAGIC}: it records this kernel and analyses at once")
        to = record if name in ("--rate", "-r", "--out", "-o", "--seconds", "-s", "--modes", "-m") else report
        to.append(word)
        if words and not words[0].startswith("-") and "=" not in word:
            to.append(words.pop(0))
    return record, report, link


def sentence(text):
    """The last line that the program wrote, without its name."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("tomoprof: ").removeprefix("error: ") if lines else "the program ended without a word"


def cells(compiler):
    """What IPython compiled so far: file names of code objects with their names and texts. A number that is used twice (after
    %reset) gets the name of the latest, the others one with a dash."""
    taken, rows = {}, []
    for file, number in reversed(list(getattr(compiler, "_filename_map", {}).items())):
        entry = linecache.cache.get(file)
        if entry is None or len(entry) < 3:
            continue
        taken[number] = taken.get(number, 0) + 1
        name = f"In [{number}]" + (f"-{taken[number]}" if taken[number] > 1 else "")
        rows.append({"file": file, "name": name, "text": "".join(entry[2])})
    return rows


class Recording:
    """`tomoprof record --pid` of this process, from its first look to its end. RuntimeError has a sentence."""

    def __init__(self, words):
        allow_descendants(True)
        command = [os.fspath(tomoprof.program()), "record", "--pid", str(os.getpid()), "--no-analysis", *words]
        # A session of its own: the front end sends Ctrl-C to the whole group of the kernel.
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        errors="replace", start_new_session=True)
        said = ""
        try:
            for line in self.process.stderr:  # what it says later are a few lines, for which the pipe has room
                if line.startswith("recording process"):
                    return
                said += line
        except KeyboardInterrupt:
            self.process.kill()
            raise
        self.finish()
        raise RuntimeError(sentence(said))

    def finish(self):
        """What it still said."""
        said = self.process.stderr.read()
        self.process.stderr.close()
        self.process.wait()
        allow_descendants(False)
        return said

    def end(self):
        """The run's folder."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        said = self.finish()
        found = re.search(r"^tomoprof: (.+)$", said, re.MULTILINE)
        if self.process.returncode or not found:
            raise RuntimeError(sentence(said))
        return pathlib.Path(found.group(1))


def allow_descendants(on):
    """Where Yama lets only ancestors trace (kernel.yama.ptrace_scope = 1), this process allows it to its own children. Elsewhere
    the call fails and nothing is missing."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(os.getpid() if on else 0), 0, 0, 0)


class Shown:
    """What stands below a cell: the first sentences as text, and the page."""

    def __init__(self, folder, link):
        self.run = tomoprof.read(folder)
        self.samples = self.run.profile["totals"]["cpu"]["samples"]
        page = self.run.folder / "report.html"
        self.page = os.path.relpath(page)
        self.link = link or page.stat().st_size > INLINE_BYTES

    def lines(self):
        lines = [self.run.profile["headline"]] if self.run.profile["headline"] else []
        if self.samples is not None and self.samples < ENOUGH:
            lines.append(f"Fewer than {ENOUGH} samples are too few for shares of lines. Give the cell more work, or use {MAGIC} --rate 1000.")
        return lines

    def __repr__(self):
        return "\n".join([*self.lines(), f"tomoprof: {self.page}"])

    def _repr_html_(self):
        text = "".join(f"<p>{html.escape(line)}</p>" for line in self.lines())
        link = f'<p><a href="{html.escape(self.page)}" target="_blank">{html.escape(self.page)}</a></p>'
        return text + (link if self.link else self.run._repr_html_())


class Extension:
    """The magic of one shell."""

    def __init__(self, shell):
        self.shell, self.recording, self.words = shell, None, None

    def before(self, info=None):
        words = options_of(getattr(info, "raw_cell", None) or "")
        if words is not None:
            self.begin(words)

    def begin(self, words):
        if self.recording:
            self.say("not recorded: another cell is being recorded; run this one when that has ended")
            return
        try:
            record, *self.words = split(words)
            self.recording = Recording(record)
        except (OSError, ValueError, RuntimeError) as error:
            self.say(f"not recorded: {error}")

    def after(self, result=None):
        recording, self.recording = self.recording, None
        if not recording:
            return
        try:
            folder = recording.end()
            self.show(self.report(folder))
        except KeyboardInterrupt:
            self.say("the analysis was interrupted; the recording stays: `tomoprof report latest`")
        except (OSError, ValueError, RuntimeError) as error:
            self.say(f"no report: {error}")

    def report(self, folder):
        report, link = self.words
        texts = {"schema": "tomoprof-cells/1", "cells": cells(self.shell.compile)}
        path = folder / "trace/cells.json"
        beside = path.with_suffix(".new")
        beside.touch(mode=0o600)
        beside.write_text(json.dumps(texts))
        beside.replace(path)
        done = subprocess.run([tomoprof.program(), "report", folder, *report], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode:
            raise RuntimeError(sentence(done.stderr))
        return Shown(folder, link)

    def show(self, shown):
        from IPython.display import display
        display(shown)

    def say(self, text):
        print(f"{MAGIC}: {text}", file=sys.stderr)

    def magic(self, line, cell=None):
        """For shell.run_cell_magic: a cell that came another way than by the prompt."""
        if cell is None:
            print(HELP)
            return
        self.begin(line.split())
        try:
            self.shell.run_cell(cell)
        finally:
            self.after()

    magic.__doc__ = HELP


def load(shell):
    extension = Extension(shell)
    shell.tomoprof_extension = extension
    shell.input_transformers_cleanup.append(without_magic)
    shell.events.register("pre_run_cell", extension.before)
    shell.events.register("post_run_cell", extension.after)
    shell.register_magic_function(extension.magic, magic_kind="line_cell", magic_name="tomoprof")


def unload(shell):
    extension = shell.tomoprof_extension
    del shell.tomoprof_extension
    shell.input_transformers_cleanup.remove(without_magic)
    shell.events.unregister("pre_run_cell", extension.before)
    shell.events.unregister("post_run_cell", extension.after)
    for magics in shell.magics_manager.magics.values():
        magics.pop("tomoprof", None)
