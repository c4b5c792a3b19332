"""Files, links and texts of others: what tomoprof writes replaces nothing but what it was told to, nobody else reads it, and
no name or argument reaches a terminal, a spreadsheet or a report as anything but text."""

import base64
import csv
import gzip
import io
import json
import os
import pathlib
import pty
import re
import shutil
import stat
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, have, main, newest, tomoprof, write_json

PRIVATE = b"nobody else's business"
GEOMETRY = {"geometry": "parallel", "sinogram_shape": [4, 3, 8], "angles": [0.0, 0.8, 1.6, 2.4]}


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def recorded(check, folder, *command, umask=0o022, **options):
    """The run's folder of a recorded command."""
    done = tomoprof("record", "--out", folder / "runs", "--", *command, preexec_fn=lambda: os.umask(umask), **options)
    check.that(done.returncode == 0, f"record: {done.returncode} {done.stderr}")
    return newest(folder / "runs"), done


def planted_links(check, folder):
    """Names in a run's folder that lead elsewhere: what they lead to stays, the name becomes a file."""
    run, _ = recorded(check, folder, "/bin/true")
    victim = folder / "victim"
    calls = {"report.html": ["report", run], "profile.json": ["report", "--reanalyze", run], "triage.json": ["triage", run],
             "profile.folded": ["export", run, "--to", "folded"], "profile.csv": ["export", run, "--to", "csv"]}
    for name, call in calls.items():
        (run / name).unlink(missing_ok=True)
        victim.write_bytes(PRIVATE)
        (run / name).symlink_to(victim)
        done = tomoprof(*call)
        check.that(victim.read_bytes() == PRIVATE, f"{call} wrote through a link named {name}")
        if name != "triage.json":  # which needs times
            check.that(done.returncode == 0 and not (run / name).is_symlink() or not (run / name).exists(),
                       f"{call}: {name} is still a link: {done.stderr}")
        if (run / name).is_symlink():
            (run / name).unlink()
    check.that((run / "report.html").is_file() and (run / "profile.csv").is_file(), f"missing in {os.listdir(run)}")
    latest = folder / "runs/latest"
    latest.unlink()
    latest.symlink_to(victim)
    run, _ = recorded(check, folder, "/bin/true")
    check.that(victim.read_bytes() == PRIVATE and latest.resolve() == run.resolve(), "record wrote through a link named latest")


def pictures_of(page):
    packed = re.search(rb'id="data-previews">([^<]*)<', page.read_bytes())
    return json.loads(gzip.decompress(base64.b64decode(packed[1]))) if packed else []


def linked_pictures(check, folder):
    """A preview that is a link to a picture elsewhere does not get into the page."""
    run, private = folder / "run", folder / "private.png"
    (run / "previews").mkdir(parents=True)
    shutil.copy(DATA / "profile/example.json", run / "profile.json")
    private.write_bytes(b"\x89PNG\r\n\x1a\n" + PRIVATE)
    write_json(run / "previews/x.json", {"operation": "x", "size": 8, "low": 0, "high": 1, "rmse": 0, "difference": 1})
    shutil.copy(private, run / "previews/x-slice.png")
    (run / "previews/x-difference.png").symlink_to(private)
    done = tomoprof("report", run)
    shown = [p["what"] for p in pictures_of(run / "report.html")]
    check.that(done.returncode == 0 and shown == ["middle slice"], f"the page shows {shown}: {done.stderr}")


def own_links(check, folder):
    """A link that the user names as output is his: what it leads to is replaced, the link stays."""
    np.save(folder / "x.npy", np.ones((8, 8, 8), np.float32))
    target, link = folder / "far" / "y.npy", folder / "y.npy"
    target.parent.mkdir()
    target.write_bytes(b"older")
    target.chmod(0o640)
    link.symlink_to(target)
    done = tomoprof("apply", "median_filter3d", "--in", folder / "x.npy", "--out", link)
    check.that(done.returncode == 0 and link.is_symlink() and np.load(target).shape == (8, 8, 8), f"through a link: {done.stderr}")
    check.that(mode(target) == 0o640, f"the replaced file has mode {mode(target):o}, not 640")
    check.that(os.listdir(target.parent) == ["y.npy"], f"left {os.listdir(target.parent)}")


def private_runs(check, folder):
    run, _ = recorded(check, folder, "/bin/true")
    check.that(tomoprof("export", run, "--to", "csv", preexec_fn=lambda: os.umask(0o022)).returncode == 0, "export")
    check.that(tomoprof("report", run, preexec_fn=lambda: os.umask(0o022)).returncode == 0, "report")
    names = [run, *run.rglob("*")]
    check.that(len(names) >= 6, f"only {names}")
    for path in names:
        wanted = 0o700 if path.is_dir() else 0o600
        check.that(mode(path) == wanted, f"{path.name}: mode {mode(path):o}, not {wanted:o}")
    shared, _ = recorded(check, folder / "shared", "/bin/true", umask=0o002)
    check.that(mode(shared) == mode(shared / "trace") == 0o770 and mode(shared / "record.json") == 0o660, "not shared by umask 002")
    (run / "report.html").chmod(0o644)
    check.that(tomoprof("report", run).returncode == 0 and mode(run / "report.html") == 0o644, "report.html lost its mode")
    ran = tomoprof("run", "--quick", "--ops", "parallel_fbp_filter", "--out", folder / "suite", preexec_fn=lambda: os.umask(0o022))
    check.that(ran.returncode == 0, f"run: {ran.stderr}")
    suite = newest(folder / "suite")
    for path in [suite, *suite.rglob("*")]:
        check.that(mode(path) & 0o077 == 0, f"of run: {path.name}: mode {mode(path):o}")
    # The recorded program has the umask that it was started with.
    made = folder / "made"
    recorded(check, folder, "/bin/sh", "-c", f"touch '{made}'")
    check.that(mode(made) == 0o644, f"the recorded program made a file of mode {mode(made):o}")


SECRET = "hunter2-q9x"
SECRET_WORDS = [f"--token={SECRET}", "--password", SECRET, f"password={SECRET}", f"API_KEY={SECRET}", f"AWS_SECRET_ACCESS_KEY={SECRET}",
                f"https://user:{SECRET}@host/path?x=1", f"https://host/?access_token={SECRET}&y=2", f'{{"password": "{SECRET}"}}',
                f"Authorization: Bearer {SECRET}", f"https://{SECRET}@host/", "--hf-token", SECRET, f"--db.passwd={SECRET}", f"apiKey:{SECRET}",
                f"{{'authorization': 'Bearer {SECRET}'}}", f"host=x password={SECRET} port=1", f"--pass={SECRET}", "--pw", SECRET, "-p", SECRET, "--key", SECRET,
                f"--auth=me:{SECRET}", f"--cookie=id={SECRET}; x={SECRET}", f"https://host/x?sig={SECRET}", f"ghp_{SECRET}0123456789abcdef", f"AKIAI{SECRET.upper()}000000"]
PLAIN_WORDS = ["--max-tokens=512", "--tokenizer", "gpt2", "ssh://git@host/x", "--key=2,2", "--pass=1", "-p", "8080", "a=b", "keyboard=us", "--tokens", "7", "PWD=/here", "a:b@c"]


def nowhere(check, run, done, secret):
    """The secret: in no file of the run, and not on the terminal."""
    text = tomoprof("report", run, "--text")
    for name, content in [("stderr", done.stderr.encode()), ("report --text", (text.stdout + text.stderr).encode())] + [
            (p.name, p.read_bytes()) for p in run.rglob("*") if p.is_file()]:
        check.that(secret.encode() not in content, f"{name} holds the secret: ...{content[max(0, content.find(secret.encode()) - 40):][:80]}")


def secrets_of_a_running_program(check, folder):
    program = subprocess.Popen([sys.executable, "-c", "import time; print('runs', flush=True); time.sleep(100)", *SECRET_WORDS, *PLAIN_WORDS], stdout=subprocess.PIPE)
    try:
        program.stdout.readline()
        done = tomoprof("record", "--pid", program.pid, "--seconds", "0.3", "--out", folder / "runs")
        shown = tomoprof("dump", program.pid)
    finally:
        program.kill()
        program.wait()
    if done.returncode and "not permitted" in done.stderr:
        print(f"  skipped: {done.stderr}")
        return
    check.that(done.returncode == 0, f"record --pid: {done.returncode} {done.stderr}")
    run = newest(folder / "runs")
    nowhere(check, run, done, SECRET)
    check.that(any(b"--max-tokens=512" in p.read_bytes() for p in (run / "trace").iterdir()), "the trace has no arguments at all")
    check.that(SECRET not in shown.stdout + shown.stderr and "--max-tokens=512" in shown.stdout, f"dump: {shown.returncode} {shown.stdout[:2000]} {shown.stderr}")


def secrets(check, folder):
    """Secrets in arguments: in no file of the run and not on the terminal; other arguments stay as they are."""
    program = folder / "program.py"
    write_json(folder / "words.json", SECRET_WORDS + PLAIN_WORDS)
    program.write_text("import json, os, sys\n"
                       f"assert sys.argv[1:] == json.load(open({str(folder / 'words.json')!r}))\n"
                       "if os.fork() == 0: os.execv('/bin/true', sys.argv)\n"
                       "os.wait(); sum(range(3000000))\n")
    run, done = recorded(check, folder, sys.executable, program, *SECRET_WORDS, *PLAIN_WORDS)
    nowhere(check, run, done, SECRET)
    command = json.loads((run / "record.json").read_text())["command"]
    check.that(command[-len(PLAIN_WORDS):] == PLAIN_WORDS, f"plain arguments were changed: {command}")
    check.that(all("***" in word or word in ("--password", "--hf-token", "--pw", "-p", "--key") for word in command[2:-len(PLAIN_WORDS)]), f"{command}")
    check.that("https://user:***@host/path?x=1" in command and "https://host/?access_token=***&y=2" in command, f"{command}")
    check.that(any(b"--max-tokens=512" in p.read_bytes() for p in (run / "trace").iterdir()), "the traces have no arguments at all")


def secrets_elsewhere(check, folder):
    """In the files of `try`, and in imported names of processes and threads, into which some tools put command lines."""
    (folder / "program.py").write_text("print(sum(range(1000)))\n")
    done = tomoprof("try", "--out", folder / "try", "--", sys.executable, folder / "program.py", *SECRET_WORDS, *PLAIN_WORDS)
    check.that(done.returncode in (0, 1), f"try: {done}")
    text = (folder / "try/try.json") if (folder / "try/try.json").exists() else next(iter((folder / "try").rglob("try.json")))
    check.that(json.loads(text.read_text())["command"][-len(PLAIN_WORDS):] == PLAIN_WORDS, f"{text.read_text()[:500]}")
    for name, content in [("stderr", done.stderr.encode())] + [(p.name, p.read_bytes()) for p in (folder / "try").rglob("*") if p.is_file()]:
        check.that(SECRET.encode() not in content, f"try: {name} holds the secret: ...{content[max(0, content.find(SECRET.encode()) - 40):][:80]}")
    line = f"python x.py --token={SECRET} --password {SECRET} https://me:{SECRET}@host/ --max-tokens=512"
    speedscope = json.loads((DATA / "import/pyspy.speedscope.json").read_text())
    speedscope["profiles"][0]["name"] = f'Process 3 Thread 5 "{line}"'
    write_json(folder / "s.speedscope.json", speedscope)
    (folder / "p.folded").write_text(f'process 7:"{line}";main (x.py:3) 40\nprocess 7:"{line}";work (x.py:5) 60\n')
    (folder / "perf.txt").write_text(f"# cmdline : /usr/bin/perf record {line}\n" + (DATA / "import/hot.perf.txt").read_text())
    for name in ("s.speedscope.json", "p.folded", "perf.txt"):
        done = tomoprof("import", folder / name, "--out", folder / name.split(".")[0])
        if check.that(done.returncode == 0, f"{name}: {done}"):
            run = newest(folder / name.split(".")[0])
            nowhere(check, run, done, SECRET)
            check.that(name != "s.speedscope.json" or "--max-tokens=512" in (run / "profile.json").read_text(), f"{name}: the name is gone")


def inputs_stay(check, folder):
    """An output that is an input, or another output, by device and inode: refused before any work."""
    if not have("hdf5"):
        return
    x = np.ones((8, 8, 8), np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "s.npy", np.ones((4, 3, 8), np.float32))
    write_json(folder / "g.json", GEOMETRY)
    shutil.copy(DATA / "bad" / "good.h5", folder / "scan.h5")
    shutil.copytree(DATA / "profile", folder / "run")
    shutil.copy(folder / "run/example.json", folder / "run/profile.json")
    os.link(folder / "x.npy", folder / "hard.npy")
    (folder / "soft.npy").symlink_to("x.npy")
    (folder / "w.json").write_text("{}")
    shutil.copy(folder / "g.json", folder / "scan.json")
    calls = [
        ["apply", "median_filter3d", "--in", "x.npy", "--out", "x.npy"], ["apply", "median_filter3d", "--in", "x.npy", "--out", "./x.npy"],
        ["apply", "median_filter3d", "--in", "x.npy", "--out", "hard.npy"], ["apply", "median_filter3d", "--in", "x.npy", "--out", "soft.npy"],
        ["apply", "fbp_filter", "--geometry", "g.json", "--in", "s.npy", "--out", "g.json"],
        ["recon", "--in", "scan.h5", "--center", "8.5", "--out", "v.nii", "--png", "scan.h5"],
        ["recon", "--in", "scan.h5", "--center", "8.5", "--out", "new.nii", "--png", "new.nii"],
        ["recon", "--in", "scan.h5", "--center", "8.5", "--out", "new.nii", "--png", "./new.nii"],
        ["recon", "--in", "scan.h5", "--geometry", "g.json", "--out", "v.nii", "--png", "g.json"],
        ["export", "run", "--to", "csv", "--out", "run/profile.json"], ["export", "run/profile.json", "--to", "csv", "-o", "run/profile.json"],
        ["compare", "run", "run/example.json", "--out", "run/example.json"], ["compare", "run", "run", "--out", "run/profile.json"],
        ["simulate", "--geometry", "scan.json", "--out", "scan"],
    ]
    before = {p: (p.read_bytes(), p.lstat().st_ino) for p in folder.rglob("*") if p.is_file()}
    for call in calls:
        done = tomoprof(*call, cwd=folder)
        where = " ".join(call)
        check.that(done.returncode == 2 and "same file" in done.stderr and done.stderr.count("\n") == 1,
                   f"{where}: exit {done.returncode}: {done.stderr}")
        after = {p: (p.read_bytes(), p.lstat().st_ino) for p in folder.rglob("*") if p.is_file()}
        check.that(after == before, f"{where}: changed {[str(p) for p in before.keys() | after.keys() if before.get(p) != after.get(p)]}")
    fine = tomoprof("recon", "--in", "scan.h5", "--center", "8.5", "--out", "v.nii", "--png", "/dev/null", cwd=folder)
    check.that(fine.returncode == 0, f"a device as output: {fine.stderr}")


BUSY = "s = 0\nfor i in range(2000000): s += i\n"  # its second line costs CPU time


def texts(run):
    """Names of the files in question, and of those that have a text of a line or around it."""
    files = json.loads((run / "profile.json").read_text())["files"]
    files = {name: f for name, f in files.items() if name.endswith(("own.py", "/mod.py", "id_rsa", "passwd", "notes.txt", "link.py"))}
    return set(files), {name for name, f in files.items() if any(line["text"] for line in f["lines"]) or f["source"]["text"]}


def private_text(check, folder):
    """Source text comes from the program's own files, of a run that was recorded here by this user. A trace may name any file."""
    work, home = folder / "work", folder / "home"
    keys = [home / ".ssh/id_rsa", work / ".ssh/id_rsa", home / "notes.txt", work / "link.py"]
    for path in (work, home / ".ssh", work / ".ssh", home / "lib/python3.9/site-packages/pkg"):
        path.mkdir(parents=True)
    for key in keys[:3]:
        key.write_text("line 1\nprivate line 2\nline 3\n")
    keys[3].symlink_to(keys[0])
    package = home / "lib/python3.9/site-packages/pkg/mod.py"
    package.write_text(BUSY)
    (work / "own.py").write_text(f"for name in {['/etc/passwd', *map(str, keys), str(package)]!r}:\n"
                                 f"    exec(compile({BUSY!r}, name, 'exec'))\n{BUSY}")
    run, done = recorded(check, folder, sys.executable, work / "own.py", cwd=work)
    files, found = texts(run)
    check.that(any("passwd" in f for f in files) and sum("id_rsa" in f for f in files) >= 1, f"the program's names were not recorded: {files}")
    wanted = {f for f in files if f.endswith(("own.py", "mod.py"))}
    check.that(found == wanted and len(wanted) == 2, f"text of {found}, not of {wanted}")
    check.that(b"private line" not in (run / "profile.json").read_bytes() and b"root:x:" not in (run / "profile.json").read_bytes(), "private text")
    items = json.loads((run / "profile.json").read_text())["quality"]["items"]
    check.that(any(i["id"] == "source.outside" for i in items), f"nothing says that text was left out: {[i['id'] for i in items]}")
    # Elsewhere: as if somebody had sent the folder.
    sent = folder / "sent"
    shutil.copytree(run, sent)
    again = tomoprof("report", "--reanalyze", sent, cwd=work)
    check.that(again.returncode == 0 and not texts(sent)[1], f"a copied run has text of {texts(sent)[1]}: {again.stderr}")
    check.that('"source.foreign"' in (sent / "profile.json").read_text(), "nothing says why")
    tomoprof("report", "--reanalyze", run, cwd=folder)
    check.that(texts(run)[1] == wanted, f"analysed again: text of {texts(run)[1]}")
    changed_text(check, run, work, wanted)
    if os.geteuid() == 0:
        for path in (run / "trace").iterdir():
            os.chown(path, 12345, 12345)
        tomoprof("report", "--reanalyze", run, cwd=work)
        check.that(not texts(run)[1], f"of somebody else's run: text of {texts(run)[1]}")


def changed_text(check, run, work, wanted):
    """A file shows the text that it had when the run ended or none, whatever its times say and however soon it was changed."""
    own, text, times = work / "own.py", (work / "own.py").read_bytes(), (work / "own.py").stat()
    secret, rest = work.parent / "secret", {f for f in wanted if f.endswith("mod.py")}
    secret.write_bytes(b"# private\n" * 99)

    def put(path):
        path.write_bytes(b"# other\n" + text[8:])  # of the same size, under the old time
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def renamed(path):
        put(work / "new.py")
        (work / "new.py").replace(path)

    def planted(path):
        path.unlink()
        os.link(secret, path)

    def same(path):
        path.unlink()
        path.write_bytes(text)
        path.chmod(0o600)

    for change in (put, renamed, planted, same):
        change(own)
        tomoprof("report", "--reanalyze", run, cwd=work)
        check.that(texts(run)[1] == (wanted if change is same else rest), f"{change.__name__}: text of {texts(run)[1]}")
        said = '"source.changed"' in (run / "profile.json").read_text()
        check.that(said == (change is not same), f"{change.__name__}: files have changed: {said}")
    # Without the notes: a file that changed after the run's end, by its inode's time, which a program cannot set.
    (run / "trace/sources.txt").unlink()
    time.sleep(2.2)
    put(own)
    tomoprof("report", "--reanalyze", run, cwd=work)
    check.that(texts(run)[1] == rest, f"changed since, without notes: text of {texts(run)[1]}")


HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.\x9b8m\nforged"


def on_terminal(*args, cwd=None):
    """What a terminal gets of stdout and stderr."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([TOMOPROF, *map(str, args)], stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd,
                             env={**os.environ, "TERM": "xterm", "COLUMNS": "120"})
    os.close(theirs)
    got = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        got += part
    child.wait(timeout=300)
    os.close(ours)
    return got.decode("utf-8", "surrogateescape")


def renamed(value):
    """Every name in a part of a profile becomes a hostile one."""
    for row in value if isinstance(value, list) else [value]:
        for key, inner in row.items() if isinstance(row, dict) else ():
            if isinstance(inner, (dict, list)):
                renamed(inner)
            elif isinstance(inner, str) and key in ("name", "path", "file", "function", "module", "native", "from", "to", "call", "title", "file_system"):
                row[key] = HOSTILE


def on_a_terminal(check, folder):
    """Names with control and bidi characters are shown, not obeyed, wherever they are printed."""
    odd = folder / HOSTILE
    odd.mkdir()
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    profile["files"] = {HOSTILE + path: f for path, f in profile["files"].items()}
    for f in profile["files"].values():
        for line in f["lines"]:
            line["text"] = HOSTILE
        for function in f["functions"]:
            function["name"] = HOSTILE
    profile["meta"]["command"] = [HOSTILE]
    for part in ("kernels", "ranges", "locks", "findings", "transfers", "io", "mpi", "threads", "apis"):
        renamed(profile.get(part))
    write_json(odd / "profile.json", profile)
    write_json(odd / "g.json", {**GEOMETRY, HOSTILE: 1})
    np.save(odd / "x.npy", np.ones((2, 2, 2), np.float32))
    shown = 0
    for call in (["report", odd / "profile.json", "--text"], ["info", odd / "x.npy"], ["info", odd / "profile.json"], ["info", odd], ["info", folder / (HOSTILE + "no")],
                 ["export", odd, "--to", "csv"], ["compare", odd, odd], ["list", "--here"], ["apply", HOSTILE], ["frob" + HOSTILE], ["report", "--" + HOSTILE],
                 ["apply", "fbp_filter", "--geometry", odd / "g.json", "--in", odd / "x.npy", "--out", odd / "y.npy"],
                 ["record", "--", "/bin/" + HOSTILE], ["record", "--out", odd, "--", "/bin/true"]):
        # The page is a link: its address has no byte that is not plain.
        text = re.sub(r"\x1b\]8;;(file://[\w./%~-]*)?\x1b\\", "", on_terminal(*call, cwd=folder), flags=re.ASCII)
        bad = [b for b in ("\x1b[2J", "\x1b]", "\x07", "\u202e", "\x9b", "\x1b[8m") if b in text]
        bad += re.findall("^forged.*", text, re.M)  # a line of its own, which could say anything
        check.that(not bad, f"{call[0]}: {bad} reached the terminal: {text[-300:]!r}")
        shown += "\\x1b[2J" in text
    check.that(shown >= 8, f"only {shown} calls showed the name")


def one_line(check, folder):
    """A line end in a name makes no second line of an error, on a terminal or not."""
    done = tomoprof("info", folder / "a\nb\x1b[1m")
    check.that(done.returncode == 2 and done.stderr.count("\n") == 1 and "a\\nb\\x1b[1m" in done.stderr, repr(done.stderr))


def cells(check, folder):
    """Texts that a spreadsheet would take for a formula begin with an apostrophe, as OWASP's page on CSV injection has it."""
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    path, first = next((p, f) for p, f in profile["files"].items() if f["lines"])
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "plain", "a=b", '"=1"']
    first["lines"] = [{**first["lines"][0], "line": i + 1, "text": text} for i, text in enumerate(texts)]
    profile["files"] = {"=cmd|' /C calc'!A0.py": first}
    write_json(folder / "profile.json", profile)
    done = tomoprof("export", folder, "--to", "csv", "--out", folder / "out.csv")
    check.that(done.returncode == 0, done.stderr)
    rows = list(csv.DictReader(io.StringIO((folder / "out.csv").read_bytes().decode(), newline="")))
    check.that([r["text"] for r in rows] == ["'" + t for t in texts[:6]] + texts[6:], f"{[r['text'] for r in rows]}")
    check.that(all(r["file"].startswith("'=cmd") for r in rows) and rows, "the file's name is a formula")
    check.must(profile["ranges"], "the example has no ranges")
    profile["ranges"] = [{**profile["ranges"][0], "style": "push_pop", "domain": None, "name": text} for text in texts]
    write_json(folder / "profile.json", profile)
    done = tomoprof("export", folder, "--to", "nvtx", "--out", folder / "out.csv")
    names = [r["Range"] for r in csv.DictReader(io.StringIO((folder / "out.csv").read_bytes().decode(), newline=""))]
    check.that(done.returncode == 0 and sorted(names) == sorted(["'" + t for t in texts[:6]] + texts[6:]), f"{names} {done.stderr}")


def blanked(value, instead):
    """The same JSON with every number replaced."""
    if isinstance(value, dict):
        return {k: blanked(v, instead) for k, v in value.items()}
    if isinstance(value, list):
        return [blanked(v, instead) for v in value]
    return instead if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def unknown_numbers(check, folder):
    """Numbers that are unknown, or 0 where others are divided by them: never printed or written as nan or inf."""
    made = tomoprof("run", "--sizes", "8", "--runs", "1", "--ops", "parallel_fbp_filter", "--no-trace", "--out", folder / "suite")
    check.that(made.returncode == 0, f"run: {made.stderr}")
    timing = json.loads((folder / "suite/latest/timing.json").read_text())
    profile = json.loads((DATA / "profile" / "example.json").read_text())
    for instead in (None, 0):
        a, b = folder / f"profile{instead}", folder / f"timing{instead}"
        a.mkdir()
        b.mkdir()
        write_json(a / "profile.json", blanked(profile, instead))
        write_json(b / "timing.json", blanked(timing, instead))
        for call in (["report", a / "profile.json", "--text"], ["compare", a, a], ["export", a, "--to", "csv"], ["export", a, "--to", "chrome"],
                     ["info", b], ["report", b], ["triage", b], ["compare", b, b]):
            done = tomoprof(*call)
            check.that(done.returncode in (0, 1, 2), f"{call[0]}: exit {done.returncode}")
            odd = re.findall(r".{0,40}(?<![a-z])-?(?:nan|inf)(?![a-z]).{0,20}", (done.stdout + done.stderr).replace(str(folder), ""))
            check.that(not odd, f"{call[0]} of {instead}: {odd[:3]}")
        for path in [*a.glob("*.csv"), *a.glob("*chrome*")]:
            check.that(not re.search(rb"(?<![a-z])-?(?:nan|inf)(?![a-z])", path.read_bytes()), f"{path.name} of {instead} holds nan or inf")
    done = tomoprof("record", "--measure-overhead", "--out", folder / "runs", "--", "/bin/true")
    check.that(done.returncode == 0 and not re.search(r"-?nan|-?inf\b", done.stderr), f"{done.stderr}")


if __name__ == "__main__":
    main(planted_links, linked_pictures, own_links, private_runs, secrets, secrets_of_a_running_program, secrets_elsewhere, private_text, inputs_stay, on_a_terminal, one_line, cells, unknown_numbers)
