"""A container engine for the tests: the one that answers, else Debian's dockerd started by hand as root for this process.

What the machine lacks (engine, base image, network, disk, time) is a reason to skip, never a failure of a test."""

import atexit
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1  # the engine ends with this process, however that ends
SPACE = 25  # GiB: all images with the layers of their builds where the engine copies (vfs); 6 where it does not
BUILD_MINUTES = float(os.environ.get("TP_CONTAINER_MINUTES", "60"))  # for all images together

# What apt, pip and the engine say of a network, a mirror or a disk that fails them.
ENVIRONMENT = re.compile(
    r"^.*(Temporary failure resolving|Could not resolve|Failed to fetch|Unable to connect|"
    r"Release 'trixie' for .* was not found|from versions: none|NewConnectionError|ConnectTimeout|ReadTimeout|Read timed out|ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED|"
    r"Connection (refused|reset|timed out)|Network is unreachable|[Nn]o such host|i/o timeout|TLS handshake|toomanyrequests|"
    r"No space left on device|[Cc]annot allocate memory).*$", re.M)


class Unable(Exception):
    """This machine cannot do what the tests need; the text is the reason."""


def call(*words, timeout=900, **options):
    return subprocess.run(list(map(str, words)), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, **options)


def answers(docker):
    return call(docker, "info").returncode == 0


def find_docker():
    """A client that can build with secrets: version 20 to 22 as it is, later ones with buildx. None without."""
    for folder in os.environ["PATH"].split(":"):
        docker = pathlib.Path(folder) / "docker"
        if not docker.is_file():
            continue
        version = call(docker, "--version").stdout.partition("version ")[2]
        old = version[:2].isdigit() and 20 <= int(version[:2]) <= 22
        if old or call(docker, "buildx", "version").returncode == 0:
            return docker
    return None


def start_by_hand(folder, driver):
    """dockerd without network and kernel extras; the reason when it does not come up."""
    with open(f"{folder}/log", "w") as log:
        daemon = subprocess.Popen(["dockerd", f"--storage-driver={driver}", "--iptables=false", "--bridge=none", "--data-root",
                                   f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid", "-H",
                                   f"unix://{folder}/socket"], stdout=log, stderr=log,
                                  preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM))

    def stop():
        daemon.terminate()
        try:
            daemon.wait(60)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    os.environ["DOCKER_HOST"] = f"unix://{folder}/socket"
    for _ in range(120):
        if answers("docker"):
            return None
        if daemon.poll() is not None:
            break
        time.sleep(1)
    os.environ.pop("DOCKER_HOST")
    return "dockerd does not start: " + pathlib.Path(f"{folder}/log").read_text()[-500:]


def start_engine():
    """With overlays where the kernel and the disk have them, else with copies (vfs)."""
    if os.geteuid():
        raise Unable("no container engine answers, and starting one takes root")
    if not shutil.which("dockerd"):
        raise Unable("no container engine answers, and dockerd is not installed (Debian: docker.io)")
    where = os.environ.get("TMPDIR", "/var/tmp")  # /tmp may be memory
    for driver, space in ("overlay2", 6), ("vfs", SPACE):
        if shutil.disk_usage(where).free < space * 2**30:
            raise Unable(f"{where} has less than {space} GiB free for the images")
        reason = start_by_hand(tempfile.mkdtemp(prefix="tomoprof-engine-", dir=where), driver)
        if not reason:
            return
    raise Unable(reason)


def make_base_image(docker, name):
    with tempfile.TemporaryDirectory(prefix="tomoprof-root-", dir=os.environ.get("TMPDIR", "/var/tmp")) as root:
        # As the images of Debian do it: an image that is cut short is thrown away, and nobody reads manuals in it.
        rules = pathlib.Path(root, "etc/dpkg/dpkg.cfg.d/image")
        rules.parent.mkdir(parents=True)
        rules.write_text("force-unsafe-io\n" + "".join(f"path-exclude /usr/share/{name}/*\n" for name in ("doc", "info", "locale", "man"))
                         + "path-include /usr/share/doc/*/copyright\n")
        made = call("debootstrap", "--variant=minbase", "bookworm", root)
        if made.returncode:
            raise Unable(f"{name} cannot be pulled, and debootstrap fails: {made.stdout[-300:]}{made.stderr[-300:]}")
        os.chmod(root, 0o755)  # the image's /, which others than root must enter
        for path in ("usr/share/man", "usr/share/locale", "usr/share/info", "var/lib/apt/lists"):  # as slim images have it
            shutil.rmtree(f"{root}/{path}", ignore_errors=True)
        for path in pathlib.Path(root).glob("var/cache/apt/archives/*.deb"):
            path.unlink()
        packed = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
        done = subprocess.run([docker, "import", "-", name], stdin=packed.stdout, capture_output=True, text=True, timeout=300)
        packed.wait()
        if done.returncode:
            raise Unable(f"docker import: {done.stderr}")


def pinned_base(docker):
    """The Dockerfile's base image; where it cannot be pulled its name alone, which base_image makes and the build is told."""
    pinned = re.search(r"^ARG BASE=(\S+)", (ROOT / "docker/Dockerfile").read_text(), re.M).group(1)
    if call(docker, "image", "inspect", pinned).returncode and call(docker, "pull", "--quiet", pinned).returncode:
        os.environ["TOMOPROF_BASE"] = pinned.partition("@")[0]
        return os.environ["TOMOPROF_BASE"]
    return pinned


def base_image(docker, name):
    """Sees to `name` being there: as it is, pulled, or made by debootstrap."""
    try:
        if call(docker, "image", "inspect", name).returncode == 0 or call(docker, "pull", "--quiet", name).returncode == 0:
            return
        if os.geteuid() or not shutil.which("debootstrap"):
            raise Unable(f"{name} cannot be pulled, and making it takes root and debootstrap")
        make_base_image(docker, name)
    except subprocess.TimeoutExpired as late:
        raise Unable(f"{name} is not there within {late.timeout:.0f} s: {late.cmd[:2]}") from None


class Engine:
    """docker and compose with the environment they need here. Raises Unable."""

    def __init__(self):
        self.seconds = 60 * BUILD_MINUTES
        self.docker = find_docker()
        if not self.docker:
            raise Unable("no docker client that can build with BuildKit is installed (Debian: docker.io)")
        self.compose = [str(self.docker), "compose"]
        if call(*self.compose, "version").returncode:
            self.compose = ["docker-compose"]
            if not shutil.which("docker-compose") or call("docker-compose", "version").returncode:
                raise Unable("docker compose is not installed (Debian: docker-compose)")
        os.environ["PATH"] = f"{self.docker.parent}:{os.environ['PATH']}"
        if not answers(self.docker):
            start_engine()
        os.environ.update(DOCKER_BUILDKIT="1", COMPOSE_DOCKER_CLI_BUILD="1", COMPOSE_HTTP_TIMEOUT="600")  # vfs removes slowly
        if "bridge" not in call(self.docker, "network", "ls", "--format", "{{.Name}}").stdout.split():
            os.environ["TOMOPROF_BUILD_NETWORK"] = "host"
        certificates = os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
        if os.path.exists(certificates):
            os.environ["TOMOPROF_CA"] = certificates
        base = os.environ.get("TOMOPROF_BASE") or pinned_base(self.docker)
        base_image(self.docker, base)
        trial = call(self.docker, "run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--user=1000", base, "true")
        if trial.returncode:
            raise Unable(f"containers cannot run here: {trial.stderr[-500:]}")

    def build(self, target, *arguments):
        words = [self.docker, "build", "--file", "docker/Dockerfile", "--target", target, "--tag", f"tomoprof:{target}"]
        words += ["--build-arg", "BUILD_TYPE=" + os.environ.get("TOMOPROF_BUILD_TYPE", "RelWithDebInfo")]
        if "TOMOPROF_BASE" in os.environ:
            words += ["--build-arg", "BASE=" + os.environ["TOMOPROF_BASE"]]
        if "TOMOPROF_BUILD_NETWORK" in os.environ:
            words += ["--network", os.environ["TOMOPROF_BUILD_NETWORK"]]
        if "TOMOPROF_CA" in os.environ:
            words += ["--secret", "id=ca,src=" + os.environ["TOMOPROF_CA"]]
        began = time.monotonic()
        try:
            done = call(*words, *arguments, ".", cwd=ROOT, timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise Unable(f"the images are not built within {BUILD_MINUTES:g} minutes (TP_CONTAINER_MINUTES)") from None
        self.seconds -= time.monotonic() - began
        why = ENVIRONMENT.search(done.stderr) if done.returncode else None
        if why:
            raise Unable(f"building {target} fails for this machine's sake: {why.group(0)[:500]}")
        return done

    def run(self, service, *words, options=(), env=None, timeout=900):
        """docker compose run --rm -T [options] service words"""
        return call(*self.compose, "run", "--rm", "-T", *options, service, *words, cwd=ROOT, timeout=timeout,
                    env={**os.environ, **(env or {})})
