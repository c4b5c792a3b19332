"""A file system in user space that fails on demand, as NFS and FUSE do: it passes a folder on, and answers chosen calls with an error, with
less, or never. It speaks to /dev/fuse itself, in a process and a mount namespace of its own. Root alone may mount."""

import ctypes
import errno
import json
import os
import pathlib
import select
import signal
import stat
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x20000, 0x4000, 0x40000, 2, 4
OPS = {1: "lookup", 2: "forget", 3: "getattr", 4: "setattr", 5: "readlink", 6: "symlink", 9: "mkdir", 10: "unlink", 11: "rmdir", 12: "rename", 13: "link",
       14: "open", 15: "read", 16: "write", 17: "statfs", 18: "release", 20: "fsync", 25: "flush", 26: "init", 27: "opendir", 28: "readdir",
       29: "releasedir", 35: "create", 36: "interrupt", 38: "destroy", 42: "batch_forget", 43: "fallocate", 45: "rename2"}
DIRECT_IO = 1
HEAD = struct.Struct("IIQQIIII")
MAX_WRITE = 1 << 17
TOLD_MOST = 1000  # lines of some 50 bytes, of 64 KiB


class Failure(Exception):
    """Why this machine cannot mount."""


def called(result, what):
    if result < 0:
        raise Failure(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def own_mounts():
    """What this process mounts from now on goes with it."""
    called(LIBC.unshare(CLONE_NEWNS), "a mount namespace")
    called(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")


class Server:
    """Serves requests until its mount or its parent ends."""

    def __init__(self, fd, control, log, folder):
        self.fd, self.control, self.log, self.folder = fd, control, log, str(folder)
        self.paths, self.nodes, self.faults, self.hung = {1: ""}, {"": 1}, [], set()
        self.told = 0

    def serve(self):
        while True:
            ready, _, _ = select.select([self.fd, self.control], [], [])
            if self.control in ready and not self.faults_take():
                return
            if self.fd in ready:
                try:
                    self.request(os.read(self.fd, MAX_WRITE + 4096))
                except OSError as e:
                    if e.errno == errno.ENODEV:  # unmounted
                        return
                    if e.errno not in (errno.EINTR, errno.ENOENT):  # a request that was taken back
                        raise

    def faults_take(self):
        """0: the parent has ended. It waits for the answer, so that its next call meets them."""
        line = b""
        while not line.endswith(b"\n"):
            piece = os.read(self.control, 65536)
            if not piece:
                return 0
            line += piece
        self.faults, self.told = json.loads(line), 0
        self.tell("ok")
        return 1

    def tell(self, text):
        """At most what the pipe holds: nobody reads meanwhile."""
        self.told += text != "ok"
        if self.told < TOLD_MOST:
            os.write(self.log, f"{text}\n".encode())

    def fault(self, op, path):
        for f in self.faults:
            if f["op"] != op or f.get("name", "") not in path:
                continue
            f["seen"] = f.get("seen", 0) + 1
            if f.get("after", 0) < f["seen"] <= f.get("after", 0) + f.get("times", 1 << 30):
                self.tell(f"{op} {path}")
                return f
        return None

    def answer(self, unique, error=0, data=b""):
        try:
            os.write(self.fd, struct.pack("IiQ", 16 + len(data), -error, unique) + data)
        except OSError as e:
            if e.errno != errno.ENOENT:  # the caller has gone
                raise

    def request(self, data):
        length, code, unique, node, *_ = HEAD.unpack_from(data)
        op, body = OPS.get(code, ""), data[HEAD.size:length]
        if op in ("forget", "batch_forget"):
            return
        if op == "interrupt":
            first = struct.unpack_from("Q", body)[0]
            if first in self.hung:
                self.hung.discard(first)
                self.answer(first, errno.EINTR)
            return
        path = self.paths.get(node, "")
        try:
            names = [n.decode() for n in body.split(b"\0") if n] if op in ("lookup", "unlink", "rmdir") else [""]
            f = self.fault(op, f"{path}/{names[0]}" if names[0] else path)
            if f and f.get("hang"):
                self.hung.add(unique)
                return
            if f and f.get("errno"):
                raise OSError(f["errno"], "")
            action = getattr(self, f"do_{op}", None)
            if not action:
                raise OSError(errno.ENOSYS, "")
            self.answer(unique, 0, action(path, body, f or {}) or b"")
        except OSError as e:
            self.answer(unique, e.errno)

    def real(self, path):
        return self.folder + path

    def attributes(self, path):
        s = os.lstat(self.real(path))
        return struct.pack("6Q10I", s.st_ino, s.st_size, s.st_blocks, int(s.st_atime), int(s.st_mtime), int(s.st_ctime), s.st_atime_ns % 10**9,
                           s.st_mtime_ns % 10**9, s.st_ctime_ns % 10**9, s.st_mode, s.st_nlink, s.st_uid, s.st_gid, 0, 4096, 0)

    def entry(self, path):
        attributes = self.attributes(path)
        node = self.nodes.setdefault(path, len(self.nodes) + len(self.paths) + 1)
        self.paths[node] = path
        return struct.pack("4Q2I", node, 0, 0, 0, 0, 0) + attributes

    def child(self, path, body, skip=0):
        return f"{path}/{body[skip:].split(bytes(1))[0].decode()}"

    def do_init(self, path, body, f):
        major, minor, ahead, _ = struct.unpack_from("4I", body)
        return struct.pack("4I2H2I2HI7I", 7, min(minor, 31), ahead, 0, 12, 9, MAX_WRITE, 1, 0, 0, 0, *[0] * 7)

    def do_lookup(self, path, body, f):
        return self.entry(self.child(path, body))

    def do_getattr(self, path, body, f):
        return struct.pack("Q2I", 0, 0, 0) + self.attributes(path)

    def do_setattr(self, path, body, f):
        valid, _, _, size = struct.unpack_from("IIQQ", body)
        mode = struct.unpack_from("I", body, 68)[0]
        if valid & 8:
            os.truncate(self.real(path), size)
        if valid & 1:
            os.chmod(self.real(path), stat.S_IMODE(mode))
        return self.do_getattr(path, body, f)

    def do_readlink(self, path, body, f):
        return os.readlink(self.real(path)).encode()

    def do_symlink(self, path, body, f):
        name, to = [n.decode() for n in body.split(bytes(1))[:2]]
        os.symlink(to, self.real(f"{path}/{name}"))
        return self.entry(f"{path}/{name}")

    def do_mkdir(self, path, body, f):
        new = self.child(path, body, 8)
        os.mkdir(self.real(new), struct.unpack_from("I", body)[0] & 0o7777)
        return self.entry(new)

    def forget(self, path):
        self.nodes.pop(path, None)

    def do_unlink(self, path, body, f):
        os.unlink(self.real(self.child(path, body)))
        self.forget(self.child(path, body))

    def do_rmdir(self, path, body, f):
        os.rmdir(self.real(self.child(path, body)))
        self.forget(self.child(path, body))

    def do_rename(self, path, body, f, skip=8):
        old, new = [n.decode() for n in body[skip:].split(bytes(1))[:2]]
        old, new = f"{path}/{old}", f"{self.paths[struct.unpack_from('Q', body)[0]]}/{new}"
        os.rename(self.real(old), self.real(new))
        for known in [p for p in self.nodes if p == old or p.startswith(old + "/")]:
            node = self.nodes.pop(known)
            self.paths[node] = new + known[len(old):]
            self.nodes[self.paths[node]] = node

    def do_rename2(self, path, body, f):
        old, new = [n.decode() for n in body[16:].split(bytes(1))[:2]]
        target = f"{self.paths[struct.unpack_from('Q', body)[0]]}/{new}"
        flags = struct.unpack_from("I", body, 8)[0]
        if flags & ~1:
            raise OSError(errno.EINVAL, "")
        if flags & 1 and os.path.lexists(self.real(target)):
            raise OSError(errno.EEXIST, "")
        self.do_rename(path, body, f, 16)

    def do_link(self, path, body, f):
        new = self.child(path, body, 8)
        os.link(self.real(self.paths[struct.unpack_from("Q", body)[0]]), self.real(new), follow_symlinks=False)
        return self.entry(new)

    def opened(self, path, flags, f, mode=0o600):
        fd = os.open(self.real(path), flags & ~os.O_CREAT | os.O_CLOEXEC if mode is None else flags | os.O_CREAT | os.O_CLOEXEC, mode or 0)
        return struct.pack("QII", fd, DIRECT_IO if f.get("direct") else 0, 0)

    def do_open(self, path, body, f):
        return self.opened(path, struct.unpack_from("I", body)[0] & ~(os.O_APPEND | os.O_DIRECT), f, None)

    def do_create(self, path, body, f):
        flags, mode, umask = struct.unpack_from("3I", body)
        new = self.child(path, body, 16)
        opened = self.opened(new, flags & ~os.O_APPEND & ~os.O_DIRECT, f, mode & 0o7777 & ~umask)
        return self.entry(new) + opened

    def do_read(self, path, body, f):
        fd, at, size = struct.unpack_from("QQI", body)
        return os.pread(fd, min(size, f.get("most", size)), at)

    def do_write(self, path, body, f):
        fd, at, size = struct.unpack_from("QQI", body)
        return struct.pack("II", os.pwrite(fd, body[40:40 + min(size, f.get("most", size))], at), 0)

    def do_statfs(self, path, body, f):
        s = os.statvfs(self.folder)
        free = f.get("free", s.f_bavail)
        return struct.pack("5Q4I6I", s.f_blocks, free, free, s.f_files, s.f_ffree, s.f_bsize, 255, s.f_frsize, 0, *[0] * 6)

    def do_release(self, path, body, f):
        os.close(struct.unpack_from("Q", body)[0])

    def do_fsync(self, path, body, f):
        return b""

    do_flush = do_releasedir = do_fsync

    def do_opendir(self, path, body, f):
        return struct.pack("QII", 0, 0, 0)

    def do_readdir(self, path, body, f):
        _, at, size = struct.unpack_from("QQI", body)
        out = b""
        for i, name in enumerate([".", "..", *sorted(os.listdir(self.real(path)))]):
            piece = struct.pack("QQII", 1 + i, i + 1, len(os.fsencode(name)), 0) + os.fsencode(name)
            piece += bytes(-len(piece) % 8)
            if i >= at and len(out) + len(piece) <= size:
                out += piece
            elif i >= at:
                break
        return out

    def do_fallocate(self, path, body, f):
        fd, at, length, mode = struct.unpack_from("QQQI", body)
        if mode:
            raise OSError(errno.EOPNOTSUPP, "")
        os.posix_fallocate(fd, at, length)


class Disk:
    """Mounted at `place`, with what `folder` holds. own_mounts() comes first."""

    def __init__(self, folder, place):
        self.folder, self.place = pathlib.Path(folder), pathlib.Path(place)
        for path in (self.folder, self.place):
            path.mkdir(exist_ok=True)
        try:
            fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError as e:
            raise Failure(f"/dev/fuse: {e.strerror}") from e
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        called(LIBC.mount(b"faulty", str(place).encode(), b"fuse", MS_NOSUID | MS_NODEV, options.encode()), "mounting a file system in user space")
        control, log = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(control[1])
            os.close(log[0])
            try:
                Server(fd, control[0], log[1], folder).serve()
            finally:
                os._exit(0)
        os.close(fd)
        os.close(control[0])
        os.close(log[1])
        self.control, self.log = control[1], log[0]

    def said(self, seconds):
        """The calls that met a fault meanwhile; they are not told again."""
        ready, _, _ = select.select([self.log], [], [], seconds)
        return os.read(self.log, 1 << 16).decode().split("\n") if ready else []

    def fails(self, *faults):
        """From now on these alone: {op, name: a part of the path, after: how many go well, times, and errno, hang, most, direct or free}."""
        os.write(self.control, (json.dumps(faults) + "\n").encode())
        lines = []
        while "ok" not in lines:
            select.select([self.log], [], [])
            lines += os.read(self.log, 1 << 16).decode().split("\n")
        return [line for line in lines if line not in ("", "ok")]

    def fired(self):
        """The calls that met a fault since the last question; there are none from now on."""
        return self.fails()

    def end(self):
        """The server goes first: what uses the mount then gets ENOTCONN."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.control)
        os.close(self.log)
        LIBC.umount2(str(self.place).encode(), 2)
