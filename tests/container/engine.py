"""A container engine for the tests: the one that answers, else Debian's dockerd started by hand as root for this process."""

import atexit
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


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


def start_by_hand(folder):
    """dockerd without network and kernel extras; the reason when it does not come up."""
    if os.geteuid():
        return "no container engine answers, and starting one takes root"
    if not shutil.which("dockerd"):
        return "no container engine answers, and dockerd is not installed (Debian: docker.io)"
    with open(f"{folder}/log", "w") as log:
        daemon = subprocess.Popen(["dockerd", "--storage-driver=vfs", "--iptables=false", "--bridge=none", "--data-root",
                                   f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid", "-H",
                                   f"unix://{folder}/socket"], stdout=log, stderr=log)

    def stop():
        daemon.terminate()
        daemon.wait(60)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    os.environ["DOCKER_HOST"] = f"unix://{folder}/socket"
    for _ in range(60):
        if answers("docker"):
            return None
        if daemon.poll() is not None:
            break
        time.sleep(1)
    return "dockerd does not start: " + pathlib.Path(f"{folder}/log").read_text()[-500:]


def base_image(docker, name):
    """Sees to `name` being there: as it is, pulled, or made by debootstrap; the reason when none of them works."""
    if call(docker, "image", "inspect", name).returncode == 0 or call(docker, "pull", "--quiet", name).returncode == 0:
        return None
    if os.geteuid() or not shutil.which("debootstrap"):
        return f"{name} cannot be pulled, and making it takes root and debootstrap"
    with tempfile.TemporaryDirectory(prefix="tomoprof-root-") as root:
        made = call("debootstrap", "--variant=minbase", "bookworm", root)
        if made.returncode:
            return f"{name} cannot be pulled, and debootstrap fails: {made.stdout[-300:]}{made.stderr[-300:]}"
        for path in ("usr/share/man", "usr/share/locale", "usr/share/info", "var/lib/apt/lists"):  # as slim images have it
            shutil.rmtree(f"{root}/{path}", ignore_errors=True)
        for path in pathlib.Path(root).glob("var/cache/apt/archives/*.deb"):
            path.unlink()
        packed = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
        done = subprocess.run([docker, "import", "-", name], stdin=packed.stdout, capture_output=True, text=True)
        packed.wait()
        return None if done.returncode == 0 else f"docker import: {done.stderr}"


class Engine:
    """docker and compose with the environment they need here; `skip` is the reason when there is no engine."""

    def __init__(self):
        self.skip = self.docker = None
        self.docker = find_docker()
        if not self.docker:
            self.skip = "no docker client that can build with BuildKit is installed (Debian: docker.io)"
            return
        self.compose = [str(self.docker), "compose"]
        if call(*self.compose, "version").returncode:
            self.compose = ["docker-compose"]
            if not shutil.which("docker-compose"):
                self.skip = "docker compose is not installed (Debian: docker-compose)"
                return
        os.environ["PATH"] = f"{self.docker.parent}:{os.environ['PATH']}"
        if not answers(self.docker):
            self.skip = start_by_hand(tempfile.mkdtemp(prefix="tomoprof-engine-"))
        if self.skip:
            return
        os.environ.update(DOCKER_BUILDKIT="1", COMPOSE_DOCKER_CLI_BUILD="1", COMPOSE_HTTP_TIMEOUT="600")  # vfs removes slowly
        if "bridge" not in call(self.docker, "network", "ls", "--format", "{{.Name}}").stdout.split():
            os.environ["TOMOPROF_BUILD_NETWORK"] = "host"
        certificates = os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
        if os.path.exists(certificates):
            os.environ["TOMOPROF_CA"] = certificates
        self.skip = base_image(self.docker, os.environ.get("TOMOPROF_BASE", "debian:bookworm-slim"))

    def build(self, target, *arguments):
        words = [self.docker, "build", "--file", "docker/Dockerfile", "--target", target, "--tag", f"tomoprof:{target}"]
        if "TOMOPROF_BASE" in os.environ:
            words += ["--build-arg", "BASE=" + os.environ["TOMOPROF_BASE"]]
        if "TOMOPROF_BUILD_NETWORK" in os.environ:
            words += ["--network", os.environ["TOMOPROF_BUILD_NETWORK"]]
        if "TOMOPROF_CA" in os.environ:
            words += ["--secret", "id=ca,src=" + os.environ["TOMOPROF_CA"]]
        return call(*words, *arguments, ".", cwd=ROOT, timeout=3600)

    def run(self, service, *words, options=(), env=None, timeout=900):
        """docker compose run --rm -T [options] service words"""
        return call(*self.compose, "run", "--rm", "-T", *options, service, *words, cwd=ROOT, timeout=timeout,
                    env={**os.environ, **(env or {})})
