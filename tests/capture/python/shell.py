"""What %%tomoprof needs of IPython, made up: a shell that runs the cells of a JSON file and writes what was shown below each.

    python3 shell.py PACKAGE CELLS.json OUT.json"""

import contextlib
import io
import json
import linecache
import os
import sys
import types

package, source, out = sys.argv[1:]
sys.path.insert(0, package)
displayed = []
ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
ipython.display, display.display = display, displayed.append
sys.modules.update({"IPython": ipython, "IPython.display": display})


class Events:
    def __init__(self):
        self.callbacks = {"pre_run_cell": [], "post_run_cell": []}

    def register(self, event, function):
        self.callbacks[event].append(function)

    def unregister(self, event, function):
        self.callbacks[event].remove(function)

    def trigger(self, event, *words):
        for function in self.callbacks[event][:]:
            function(*words)


class Shell:
    def __init__(self):
        self.input_transformers_cleanup, self.events = [], Events()
        self.magics_manager = types.SimpleNamespace(magics={"line": {}, "cell": {}})
        self.compile, self.count, self.names = types.SimpleNamespace(_filename_map={}), 0, {}

    def register_magic_function(self, function, magic_kind, magic_name):
        for kind in magic_kind.split("_"):
            self.magics_manager.magics[kind][magic_name] = function

    def run_cell(self, raw):
        self.count += 1
        self.events.trigger("pre_run_cell", types.SimpleNamespace(raw_cell=raw))
        lines = raw.splitlines(keepends=True)
        for transform in self.input_transformers_cleanup:
            lines = transform(lines)
        text, file, error = "".join(lines), f"/tmp/ipykernel_{os.getpid()}/{abs(hash(raw))}.py", None
        self.compile._filename_map[file] = self.count
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        try:
            exec(compile(text, file, "exec"), self.names)
        except (Exception, KeyboardInterrupt) as raised:
            error = type(raised).__name__
        self.events.trigger("post_run_cell", None)
        return error


import tomoprof  # noqa: E402

shell, rows = Shell(), []
tomoprof.load_ipython_extension(shell)
assert "--rate" in shell.magics_manager.magics["cell"]["tomoprof"].__doc__
with open(source) as f:
    cells = json.load(f)
for cell in cells:
    displayed.clear()
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        error = shell.run_cell(cell)
    shown = [{"text": repr(d), "html": d._repr_html_(), "folder": str(d.run.folder.resolve())} for d in displayed]
    rows.append({"error": error, "said": said.getvalue(), "shown": shown})
tomoprof.unload_ipython_extension(shell)
left = [*shell.magics_manager.magics["line"], *shell.magics_manager.magics["cell"], *shell.input_transformers_cleanup, *(f for functions in shell.events.callbacks.values() for f in functions)]
with open(out, "w") as f:
    json.dump({"cells": rows, "used": shell.names.get("used"), "left": len(left)}, f)
