"""The kinds of faults, one function each: it makes one fault and tells what differs from the bare run."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import time

import fuse
from fault import HERE, LIBRARY, OWN_WORDS, TOMOPROF, children, loadable, send

KIB, MIB = 1024, 1 << 20


class Skip(Exception):
    """This machine does not allow the fault."""


def fatal_signal(f):
    """A signal without a handler to the launcher, at any time: it is the program's end and the launcher's."""
    number = f.pick(signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
    whole = f.run(f.target("tcp"))
    p = f.start(f.command(f.target("tcp"), analysis=False), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    first = f.ready(p)
    f.pause(0.03)
    send(p.pid, number)
    done = f.end(p)
    f.that(done.code in (-number, whole.code), f"{number.name}: exit {done.code} {done.err!r}")
    f.that(whole.out.startswith(first + done.out), f"{number.name}: output {done.out!r} does not begin {whole.out!r}")
    f.tidy(killed=True)


def handled_signal(f):
    """The program counts what it gets: one, sent to the launcher."""
    number = f.pick(signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
    runs = []
    for words in (f.target("hp"), f.command(f.target("hp"))):
        p = f.start(words)
        first = f.ready(p)
        f.pause()
        send(p.pid, number)
        done = f.end(p)
        done.out = first + done.out
        runs.append(done)
    f.same(*runs)


def signal_storm(f):
    """Hundreds of signals to the program while it works."""
    runs = []
    for words in (f.target("hpt"), f.command(f.target("hpt"))):
        p = f.start(words)
        first = f.ready(p)
        program = p.pid if words[0] != TOMOPROF else f.program_of(p)
        for _ in range(f.pick(20, 100, 300)):
            send(program, signal.SIGUSR1)
        done = f.end(p)
        lines = (first + done.out).splitlines(True)
        done.out = b"".join(lines[:-1])  # how many arrived is the kernel's matter
        done.result = b"".join((done.result or b"").splitlines(True)[:-1])
        f.that(lines and lines[-1].startswith(b"signals "), f"the end is {lines[-1:]}")
        runs.append(done)
    f.same(*runs)


def stopped(f):
    """The program is stopped and continued, by its parent's back."""
    bare = f.run(f.target("tp"))
    p = f.start(f.command(f.target("tp")))
    program = f.program_of(p)
    for _ in range(f.pick(1, 3, 6)):
        if program and p.poll() is None:
            send(program, signal.SIGSTOP)
            f.pause(0.02)
            send(program, signal.SIGCONT)
            f.pause(0.01)
    deadline = time.monotonic() + 300
    while p.poll() is None and time.monotonic() < deadline:  # the launcher has stopped with it, as a shell wants to see
        send(p.pid, signal.SIGCONT)
        send(program, signal.SIGCONT)
        time.sleep(0.02)
    f.same(bare, f.end(p))


def program_killed(f):
    """SIGKILL to the program: what it did until then is told and can be read."""
    whole = f.run(f.target("tcp"))
    p = f.start(f.command(f.target("tcp"), analysis=f.pick(True, False)))
    program = f.program_of(p)
    f.pause()
    if program:
        send(program, signal.SIGKILL)
    done = f.end(p)
    f.that(done.code in (-signal.SIGKILL, whole.code), f"exit {done.code} {done.err!r}")
    f.that(whole.out.startswith(done.out), f"output {done.out!r} does not begin {whole.out!r}")
    f.tidy(killed=True)
    if f.dice.random() < 0.3:
        again = f.run([TOMOPROF, "report", "--text", f.run_folder()])
        f.that(again.code == 0 or not f.traces() or any(t.damage for t in f.traces()), f"report: {again.code} {again.err!r}")


def launcher_killed(f):
    """SIGKILL to the launcher: the program goes on and finishes its work."""
    bare = f.run(f.target("tcp"))
    p = f.start(f.command(f.target("tcp")), stdout=subprocess.PIPE)
    program = f.program_of(p)
    f.pause()
    send(p.pid, signal.SIGKILL)
    p.wait()
    done = f.end(p)  # its output ends with the program
    f.that(done.out in (bare.out, b"") if program is None else done.out == bare.out, f"output {done.out!r}, bare {bare.out!r}")
    f.that(done.result == bare.result or program is None, f"result {done.result!r}, bare {bare.result!r}")
    f.tidy(killed=True)


def child_killed(f):
    """SIGKILL to a child of the program, which tells how it ended."""
    runs = []
    for words in (f.target("kp"), f.command(f.target("kp"))):
        p = f.start(words)
        first = f.ready(p)
        program, found = p.pid if words[0] != TOMOPROF else f.program_of(p), []
        while program and p.poll() is None and not (found := children(program)):
            time.sleep(0.001)
        f.pause(0.03)
        for child in found:
            send(child, signal.SIGKILL)
        done = f.end(p)
        done.out = first + done.out
        runs.append(done)
    f.same(*runs)


def analysis_interrupted(f):
    """A signal to the launcher after the program's end: the exit code stays, the recording too."""
    number = f.pick(signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
    bare = f.run(f.target("c"))
    p = f.start(f.command(f.target("c"), analysis=True))
    program = f.program_of(p)
    while program and os.path.exists(f"/proc/{program}") and p.poll() is None:
        time.sleep(0.001)
    f.pause(0.2)
    send(p.pid, number)
    done = f.end(p)
    f.that(done.code in (bare.code, -number), f"{number.name}: exit {done.code}, bare {bare.code}: {done.err!r}")
    f.that((done.out, done.result) == (bare.out, bare.result), f"output {done.out!r}, bare {bare.out!r}")
    time.sleep(0.05 if number == signal.SIGKILL else 0)
    f.tidy(killed=number == signal.SIGKILL)
    again = f.run([TOMOPROF, "report", "--text", f.run_folder()])
    f.that(again.code == 0, f"report: {again.code} {again.err!r}")


def disk_full(f):
    """The disk of the trace is as large as some KiB."""
    place = f.folder / "disk"
    place.mkdir()
    mount = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={f.dice.randrange(16, 400)}k none "$0" && exec "$@"', str(place)]
    if subprocess.run([*mount, "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no right to mount a file system")
    f.out = place / "runs"
    f.compare(f.target(f.pick("t", "tc", "p")), prefix=mount)


def own_disk_full(f):
    """tomoprof's own work meets the limit: one sentence, exit 1, nothing half-made."""
    subprocess.run([TOMOPROF, "simulate", "--size", "16", "--out", f.folder / "s"], stderr=subprocess.DEVNULL, check=True)
    words = f.pick(["simulate", "--size", "20", "--out", "t"], ["recon", "--in", "s.h5", "--out", "v.nii"], ["recon", "--in", "s.h5", "--out", "v.npy"],
                   ["apply", "back_project", "-g", "s.json", "-i", "s_sinogram.npy", "-o", "x.npy"])
    whole = f.run([TOMOPROF, *words])
    limit = f.dice.randrange(0, 8 * KIB)
    before = {p: p.read_bytes() for p in f.folder.iterdir()}
    done = f.run([TOMOPROF, *words], preexec_fn=limits({resource.RLIMIT_FSIZE: limit}))
    f.that(whole.code == 0, f"without a limit: {whole.code} {whole.err!r}")
    f.that(done.code == 1 and done.err.count(b"tomoprof: ") == 1, f"{words[0]}, limit {limit}: {done.code} {done.err!r}")
    f.that(all(p.exists() and p.stat().st_size in (len(b), len(p.read_bytes())) for p, b in before.items()), "a file is lost")
    f.that(all(p.read_bytes() == b for p, b in before.items() if p.stat().st_size > limit), "a file has changed to a part of it")
    f.tidy()


def limits(values):
    def set_them():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for what, limit in values.items():
            resource.setrlimit(what, (limit, limit))
    return set_them


def file_limit(f):
    """ulimit -f for program and trace."""
    limit = f.pick(0, 1, 100, f.dice.randrange(1 * KIB, 64 * KIB), f.dice.randrange(64 * KIB, MIB))
    f.compare(f.target(f.pick("t", "c", "tcp")), preexec_fn=limits({resource.RLIMIT_FSIZE: limit}))


def descriptor_limit(f):
    limit = f.pick(4, 5, 6, 8, f.dice.randrange(9, 64), f.dice.randrange(64, 600))
    f.compare(f.target(f.pick("t", "c", "tcpx")), preexec_fn=limits({resource.RLIMIT_NOFILE: limit}))


def process_limit(f):
    """ulimit -u: the launcher may be one process too many."""
    def alone():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534 - f.program_seed)  # nobody else counts
        limits({resource.RLIMIT_NPROC: f.pick(1, 2)})()
    if os.getuid() == 0 and not os.access(TOMOPROF, os.X_OK):
        raise Skip("another user may not read the build folder")
    f.folder.chmod(0o777)
    f.compare(f.target(f.pick("p", "px")), preexec_fn=alone)


def stack_limit(f):
    limit = f.pick(64, 72, 100, 128, 256) * KIB
    f.compare(f.target(f.pick("p", "c", "x")), preexec_fn=limits({resource.RLIMIT_STACK: limit}))


def memory_limit(f):
    """ulimit -v: enough for the program; the recording takes what is left."""
    limit = f.dice.randrange(64, 400) * MIB
    f.compare(f.target(f.pick("p", "c", "x")), preexec_fn=limits({resource.RLIMIT_AS: limit}))


def closed_streams(f):
    """Standard input, output and error closed, in any combination."""
    gone = [fd for fd in range(3) if f.dice.random() < 0.6] or [f.pick(0, 1, 2)]

    def close():
        for fd in gone:
            os.close(fd)
    f.compare(f.target(f.pick("t", "c", "tcpx")), preexec_fn=close)


def broken_pipe(f):
    """Who reads the output goes away: SIGPIPE, or an error where that is ignored."""
    ignored, keep = f.pick(True, False), f.pick(0, 1)
    runs = []
    for words in (f.target("w"), f.command(f.target("w"), analysis=False)):
        p = f.start(words, stdin=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL))
        lines = [p.stdout.readline() for _ in range(keep)]
        p.stdout.close()
        p.stdout = None
        try:
            p.stdin.write(b"x")
        except BrokenPipeError:
            pass  # its first line was one too many
        done = f.end(p)
        done.out = b"".join(lines)
        runs.append(done)
    f.same(*runs)


def filtered(f):
    """The program filters its own system calls."""
    if os.uname().machine != "x86_64":
        raise Skip("the filters are written for x86-64")
    f.compare([str(f.tools.sandbox), f.pick(*f.tools.filters)], preexec_fn=limits({}))


def links(f):
    """Program, output folder and working folder by links, some of which go nowhere while it runs."""
    real, by = f.folder / "real", f.folder / "by link"
    real.mkdir()
    by.symlink_to(real)
    program = by / "a b"
    program.symlink_to(f.tools.target)
    loose = f.folder / "loose"
    loose.symlink_to("nowhere")
    victim = f.folder / "victim"
    victim.write_text("kept")
    f.out = by / "runs"
    words = [str(program), *f.target("tp")[1:]]
    bare = f.run(words)
    p = f.start(f.command(words))
    first = f.ready(p)
    f.pause(0.03)
    how = f.pick("moved", "renamed", "none")
    if how == "moved" and (real / "runs").exists():
        (real / "runs").rename(f.folder / "moved")
    elif how == "renamed":
        by.unlink()
        by.symlink_to("nowhere")
    done = f.end(p)
    done.out = first + done.out
    f.same(bare, done)
    f.that(victim.read_text() == "kept" and loose.is_symlink() and not (f.folder / "nowhere").exists(), "a link was followed, a file lost")


def folder_gone(f):
    """The trace folder goes away, or may not be written to, while the program forks and executes itself."""
    bare = f.run(f.target("tcpx"))
    p = f.start(f.command(f.target("tcpx")))
    f.program_of(p)
    f.pause(0.03)
    how = f.pick("removed", "read-only", "a file")
    for trace in f.out.glob("*/trace"):
        if how == "read-only":
            trace.chmod(0o500)
        else:
            shutil.rmtree(trace, ignore_errors=True)
        if how == "a file" and not trace.exists():
            trace.write_text("")
    f.same(bare, f.end(p))


def clocks(f):
    """Clocks that jump, go backwards, stand still or fail, for the program and all that is preloaded with it."""
    env = {**os.environ, "CLOCKS": f.pick("back", "jump", "frozen", "fail")}
    bare = f.run(["env", f"LD_PRELOAD={loadable(f.tools.shim)}", *f.target("tcp")], env=env)
    preloads = [f.tools.shim, LIBRARY] if f.dice.random() < 0.5 else [LIBRARY, f.tools.shim]
    begin = time.monotonic()
    done = f.run(f.command(["env", "LD_PRELOAD=" + " ".join(map(loadable, preloads)), *f.target("tcp")]), env=env)
    wall = time.monotonic() - begin
    f.same(bare, done)
    f.that(len(f.traces()) == 3, f"{len(f.traces())} traces of env, the program and its child")
    for t in f.traces():  # the recording goes by the kernel's clocks
        took = (t.end_ns - t.start) / 1e9
        f.that(0 <= took <= wall, f"{env['CLOCKS']}: {took} s of {wall} s are recorded")
        heavy = [r for r in t.records if getattr(r, "weight", 0) > wall * 1e9]
        f.that(not heavy, f"{env['CLOCKS']}: {heavy and heavy[0].weight / 1e9} s in one sample")


def other_clock(f):
    """The program has a name space of clocks of its own: its monotonic clock is days ahead of the launcher's, or behind."""
    apart = ["unshare", "--time", "--monotonic", str(f.pick(-1, 1) * f.dice.randrange(1, 3000)), "--fork", "--kill-child"]
    if subprocess.run([*apart, "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no right to a name space of clocks")
    bare = f.run([*apart, *f.target("tc")])
    begin = time.monotonic()
    done = f.run(f.command([*apart, *f.target("tc")], analysis=True))
    took = time.monotonic() - begin
    f.same(bare, done)
    wall = json.loads((f.run_folder() / "profile.json").read_bytes())["meta"]["wall_s"]
    f.that(0 <= wall <= took, f"{wall} s, and all of it took {took} s")


CALLS = ("create", "write", "mkdir", "open", "read", "symlink", "rename", "flush", "setattr", "getattr", "lookup", "unlink", "link")


def failing_disk(f):
    """The run lies on a disk that fails at some calls, as NFS and FUSE do: refused before the program begins, or as bare."""
    try:
        fuse.own_mounts()
        disk = fuse.Disk(f.folder / "real", f.folder / "disk")
    except fuse.Failure as why:
        raise Skip(str(why)) from why
    f.out = disk.place / "runs"
    words = f.target(f.pick("t", "tc", "p"))
    bare = f.run(words)
    fault = {"op": f.pick(*CALLS), "after": f.dice.randrange(40), "times": f.pick(1, 4, 1 << 30),
             "errno": f.pick(errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EDQUOT, errno.EACCES)}
    disk.fails(fault)
    done = f.run(f.command(words))
    disk.fails()
    if done.code in (1, 2) and done.err.count(b"tomoprof: ") == 1 and not done.out and done.result is None:
        disk.end()
        return
    said = b"".join(line for line in done.err.splitlines(True) if not OWN_WORDS.match(line))
    f.that((done.code, done.out, said, done.result) == (bare.code, bare.out, bare.err, bare.result), f"{fault}: {done.code} {done.out!r} {done.err!r}, bare {bare.code}")
    for run in (p for p in f.out.glob("*/trace") if not p.parent.is_symlink()):
        again = f.run([TOMOPROF, "report", "--reanalyze", "--text", run.parent])
        f.that(again.code == 0 or again.err.count(b"tomoprof: ") == 1, f"{fault}: report: {again.code} {again.err!r}")
    disk.end()


STORES = ("npy/f4.npy", "nifti/i2.nii", "nifti/i2.nii.gz", "hdf5/filters.h5", "tiff/u2_deflate_tiles.tif", "tiff/stack", "czi/raw.czi", "mrc/f4.mrc",
          "nrrd/i2_gzip.nrrd", "metaimage/i2.mhd", "zarr/zarr2/raw", "zarr/ome.zarr")


def failing_store(f):
    """A file that is read, or the one that is made of it, lies on a disk that fails at some calls: all of it, or one sentence and no file."""
    try:
        fuse.own_mounts()
        disk = fuse.Disk(f.folder / "real", f.folder / "disk")
    except fuse.Failure as why:
        raise Skip(str(why)) from why
    source, out = HERE.parent / "data/store" / f.pick(*STORES), f.pick(f.folder, disk.place) / "made.npy"
    for path in [source.parent / "i2.raw", source] if source.suffix == ".mhd" else [source]:
        (shutil.copytree if path.is_dir() else shutil.copy)(path, disk.folder / path.name)
    name = disk.place / source.name
    words = [TOMOPROF, *f.pick(["convert", name, out], ["load", name, "--out", disk.place / "runs"], ["info", name], ["info", "--histogram", name])]
    fault = {"op": f.pick(*CALLS), "after": f.dice.randrange(30), "times": f.pick(1, 4, 1 << 30), **f.pick({"most": f.dice.randrange(1, 5000)}, *(
        {"errno": e} for e in (errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EDQUOT, errno.EACCES)))}
    whole = f.run(words)
    made = out.read_bytes() if out.exists() else None
    out.unlink(missing_ok=True)
    disk.fails(fault)
    done = f.run(words)
    disk.fails()
    kept = fault["op"] in ("lookup", "unlink") and "errno" in fault  # which removing a file needs
    left = [] if kept else [p.name for p in (*f.folder.glob("*.tmp*"), *disk.folder.glob("*.tmp*"))]
    found = out.read_bytes() if out.exists() else None
    same = done.code == whole.code and found == made and (words[1] != "info" or done.out == whole.out)
    refused = done.code in (1, 2) and done.err.count(b"tomoprof: ") == 1 and found is None
    f.that((same or refused) and not left, f"{words[1:3]}, {fault}: {done.code} {done.err!r}, left {left}, whole {whole.code}")
    disk.end()


def environment(f):
    """Variables that are odd, huge, wrong or missing."""
    name, value = f.pick(("TOMOPROF_CAPTURE_RATE", "-1"), ("TOMOPROF_CAPTURE_DIR", "/nowhere"), ("LD_PRELOAD", "/nowhere/lib.so"), ("LD_BIND_NOW", "1"),
                         ("HUGE", "x" * 100000), ("MALLOC_PERTURB_", "85"), ("LANG", "xx_YY.UTF-8"), ("TMPDIR", "/nowhere"), ("HOME", ""), ("PATH", ""),
                         ("GLIBC_TUNABLES", "glibc.malloc.check=3"), ("LD_LIBRARY_PATH", ":."), ("TOMOPROF_CAPTURE_SIGNAL", "99"))
    env = {name: value} if f.dice.random() < 0.3 else {**os.environ, name: value}
    bare = f.run(f.target("tcx"), env=env)
    done = f.run(f.command(f.target("tcx")), env=env)
    if name == "LD_PRELOAD":  # the loader tells it for each program that starts: one more with the launcher
        bare.err = done.err = b""
    f.same(bare, done)


def torn_run(f):
    """Files of a run are cut, changed, removed or replaced: a sentence or a report, no crash, and no other file lost."""
    f.run(f.command(f.target("tc"), analysis=f.pick(True, False)))
    run = f.run_folder()
    kept = f.folder / "kept"
    kept.write_text("kept")
    files = sorted(p for p in run.rglob("*") if p.is_file())
    for _ in range(f.pick(1, 2, 4)):
        path = f.dice.choice(files)
        how = f.pick("cut", "flip", "flip", "remove", "pipe", "folder", "empty")
        data = bytearray(path.read_bytes()) if path.is_file() else bytearray()
        if how == "flip" and data:
            for _ in range(f.pick(1, 10, 1000)):
                data[f.dice.randrange(len(data))] = f.dice.randrange(256)
            path.write_bytes(data)
        elif how in ("cut", "empty") and data:
            path.write_bytes(data[:f.dice.randrange(len(data)) if how == "cut" else 0])
        elif path.is_file():
            path.unlink()
            if how == "pipe":
                os.mkfifo(path)
            elif how == "folder":
                path.mkdir()
    for words in (["report", run], ["report", "--reanalyze", "--text", run], ["export", "--to", f.pick("speedscope", "csv", "folded"), run], ["info", run]):
        done = f.run([TOMOPROF, *words])
        f.that(done.code in (0, 1, 2), f"{words[0]}: exit {done.code} {done.err!r}")
        f.that(done.code == 0 or done.err.count(b"tomoprof: ") == 1, f"{words[0]}: {done.err!r}")
    f.that(kept.read_text() == "kept" and not list(f.folder.rglob("*.tmp")), "a file is lost, or half-made")


KINDS = (fatal_signal, handled_signal, signal_storm, stopped, program_killed, launcher_killed, child_killed, analysis_interrupted, disk_full,
         own_disk_full, file_limit, descriptor_limit, process_limit, stack_limit, memory_limit, closed_streams, broken_pipe, filtered, links,
         folder_gone, clocks, other_clock, failing_disk, failing_store, environment, torn_run)
assert len(KINDS) >= 20
