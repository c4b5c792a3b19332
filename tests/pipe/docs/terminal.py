"""Pages that show what a terminal of 80 columns prints: records them, and works through their commands again."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF

ROOT = pathlib.Path(__file__).resolve().parents[3]


def place(folder):
    """A folder that looks like the repository."""
    (folder / "build").mkdir()
    (folder / "build/tomoprof").symlink_to(pathlib.Path(TOMOPROF).resolve())
    (folder / "tests").mkdir()
    (folder / "tests/data").symlink_to(DATA)
    (folder / "python").symlink_to(ROOT / "python")
    shutil.copytree(ROOT / "examples", folder / "examples")


def line_on_screen(text):
    """What a carriage return writes over, and ESC [K erases, is gone."""
    line, at = "", 0
    for part in re.split(r"(\r|\x1b\[K)", text):
        if part == "\r":
            at = 0
        elif part == "\x1b[K":
            line = line[:at]
        else:
            line = line[:at] + part + line[at + len(part):]
            at += len(part)
    return line.rstrip()


def cleaned(shown):
    """The text that stays on the screen: without colours and links, of a line that is written again what came last."""
    shown = re.sub(r"\x1b\][^\x1b]*\x1b\\|\x1b\[[0-9;?]*[A-JL-Za-z]", "", shown).replace("\r\n", "\n")
    return "\n".join(line_on_screen(line) for line in shown.split("\n")).strip("\n")


def on_terminal(command, folder):
    """(text on the screen, exit code, seconds)"""
    began, shown = time.monotonic(), b""
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        os.chdir(folder)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_") or k == "TOMOPROF_CALIBRATION"}
        os.execvpe("bash", ["bash", "-c", command], {**environment, "TERM": "xterm", "XDG_STATE_HOME": str(folder / "state")})
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 65536):
            shown += part
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return cleaned(shown.decode(errors="replace")), code, time.monotonic() - began


def work_through(workflow, folder):
    """[(command, text, exit code, seconds)]"""
    _, _, files, commands = workflow[:4]
    place(folder)
    for name, text in files.items():
        (folder / name).write_text(text)
    found, job = [], None
    try:
        for command in commands:
            if command.endswith(" &"):
                job = subprocess.Popen(command[:-2].split(), cwd=folder, stdout=subprocess.DEVNULL)
                time.sleep(1)  # it is at work when somebody looks at it
                found.append((command, "", 0, 0))
                continue
            found.append((command, *on_terminal(command.replace("$!", str(job.pid if job else 0)), folder)))
    finally:
        if job:
            job.send_signal(signal.SIGKILL)
            job.wait()
    return found


def page_of(head, workflows):
    """The page from [(workflow, what it showed)]."""
    out = [head, ""]
    for (title, why, files, *_), found in workflows:
        seconds = [s for _, _, _, s in found]
        out += [f"## {title}", "", f"{why} Together {sum(seconds):.1f} s.", ""]
        for name, text in files.items():
            out += [f"`{name}`:", "", "```python", text.rstrip("\n"), "```", ""]
        out.append("```text")
        for command, text, code, _ in found:
            out += [f"$ {command}", *([text] if text else []), *([f"(exit code {code})"] if code else [])]
        out += ["```", ""]
    return "\n".join(out)


def write(page, head, workflows, more=None):
    """`more`: {file: text} that each workflow finds, though not all show them."""
    made = []
    for workflow in workflows:
        with tempfile.TemporaryDirectory(prefix="demo-") as folder:
            home = pathlib.Path(folder, "tomoprof")
            home.mkdir()
            found = work_through((*workflow[:2], {**(more or {}), **workflow[2]}, workflow[3]), home)
            if absent := [f"{c}: {text}" for c, text, code, _ in found if code == 127]:
                sys.exit(f"the page stays as it is: {'; '.join(absent)}")
            made.append((workflow, [(c, text.replace(str(home), "~/tomoprof"), code, s) for c, text, code, s in found]))
            print(workflow[0], [round(s, 1) for *_, s in found], flush=True)
    page.write_text(page_of(head, made))


def of_page(page):
    """{title: [(command, [line], exit code)]}"""
    found = {}
    for part in page.read_text().split("\n## ")[1:]:
        title, rows = part.split("\n", 1)[0], []
        for line in re.search(r"```text\n(.*?)\n```", part, re.S)[1].split("\n"):
            if line.startswith("$ "):
                rows.append([line[2:], [], 0])
            elif code := re.fullmatch(r"\(exit code (\d+)\)", line):
                rows[-1][2] = int(code[1])
            else:
                rows[-1][1].append(line)
        found[title] = rows
    return found
