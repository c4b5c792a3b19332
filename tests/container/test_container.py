"""The images build, and the services of compose.yaml do what a stranger would ask of them. No GPU is needed.

TP_CONTAINER_PARTS=cuda,test,nsys names what is tested besides the images for the CPU; TP_CONTAINER_ARCH the GPUs that the image
with CUDA is for, of TP_CUDA_ARCH; TP_CONTAINER_CUDA12=no leaves the build for CUDA 12 out (1.4 GB to fetch);
TOMOPROF_BUILD_TYPE=Quick compiles at -O0, kernels of CUDA at -O1, in half the time."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from engine import ENVIRONMENT, ROOT, Engine, Unable, call

OWNER = 12345 if os.geteuid() == 0 else os.geteuid()
VALIDATE = """import sys
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
document = parse_file(sys.argv[1])
print(len(document.packages), *(m.validation_message for m in validate_full_spdx_document(document)), sep="\\n")
"""
QUICK = ("run", "--quick", "--ops", "parallel_fbp_recon")
SPIN = "import time\nend = time.time() + 600\nwhile time.time() < end: sum(range(1000))"
ENV_FILE = ROOT / ".env"
failed = 0


def check(condition, text):
    global failed
    if not condition:
        failed += 1
        print("FAILED:", text, flush=True)


def use(folder):
    """Results go to a new folder that belongs to OWNER; returns it."""
    output = pathlib.Path(tempfile.mkdtemp(dir=folder))
    os.chown(output, OWNER, OWNER)
    os.environ.update(TOMOPROF_OUTPUT=str(output), TOMOPROF_UID=str(OWNER), TOMOPROF_GID=str(OWNER))
    os.environ["TOMOPROF_GPU"] = "none"  # the machine's engine may have no runtime of NVIDIA
    return output


def newest(output):
    return output / os.readlink(output / "latest")


def all_of_owner(output):
    strangers = [str(p) for p in output.rglob("*") if p.stat().st_uid != OWNER]
    check(not strangers, f"not owned by uid {OWNER}: {strangers[:3]}")


def image(engine, target, most, *arguments):
    began = time.monotonic()
    done = engine.build(target, *arguments)
    check(done.returncode == 0, f"building {target}: {done.stderr[-3000:]}")
    if done.returncode:
        return
    size = int(call(engine.docker, "image", "inspect", "-f", "{{.Size}}", f"tomoprof:{target}").stdout) / 2**20
    print(f"  {target}: {size:.0f} MiB, {time.monotonic() - began:.0f} s", flush=True)
    check(size <= most, f"the image {target} is {size:.0f} MiB, more than {most}")


def cpu_makes_a_report(engine, output):
    done = engine.run("cpu", *QUICK)
    check(done.returncode == 0, f"cpu: {done.returncode} {done.stderr[-1000:]}")
    for name in ("timing.json", "profile.json", "report.html"):
        check((newest(output) / name).stat().st_size > 1000, f"cpu left no {name}")
    all_of_owner(output)


def words_pass_through(engine, output):
    done = engine.run("cpu", "record", "--", "python", "-c", "print(sum(range(10 ** 6))); raise SystemExit(7)")
    check((done.returncode, done.stdout) == (7, "499999500000\n"), f"record in a container: {done}")
    check((newest(output) / "report.html").exists(), "record in a container left no report")
    all_of_owner(output)
    with tempfile.TemporaryDirectory() as tree:
        pathlib.Path(tree, "my.py").write_text("import sys\nprint('mine', *sys.argv[1:])\n")
        os.chmod(tree, 0o755)
        done = engine.run("cpu", "record", "--", "python", "/src/my.py", "a b", options=["-v", f"{tree}:/src:ro"])
        check((done.returncode, done.stdout) == (0, "mine a b\n"), f"a mounted tree: {done}")


def it_is_fenced(engine, output):
    done = engine.run("cpu", "sh", "-c", "id -u; touch /usr/x /work/x /etc/x; grep -c '^CapEff:.0*$' /proc/self/status")
    check(done.stdout.split() == [str(OWNER), "1"], f"uid and capabilities: {done.stdout}")
    check(done.stderr.count("Read-only file system") == 3, f"the root is writable: {done.stderr}")
    made = json.loads(call(engine.docker, "image", "inspect", "-f", "{{json .Config}}", "tomoprof:python").stdout)
    check(made["User"] == "tomoprof" and "Apache-2.0" in made["Labels"]["org.opencontainers.image.licenses"], f"image: {made}")
    rows = json.loads(engine.run("cpu", "doctor", "--json").stdout)["rows"]
    states = {name: rows[name]["state"] for name in ("container", "capture_library", "cpu_timers", "pending_signals", "safe_reads")}
    check(rows["container"]["found"] == "Docker" and set(states.values()) == {"ok"}, f"doctor in a container: {states} {rows['container']}")
    healthy = engine.run("cpu", "sh", "-c", made["Healthcheck"]["Test"][1])
    check(healthy.returncode == 0, f"health check: {healthy}")
    os.chown(output, OWNER + 1, OWNER + 1)
    os.chmod(output, 0o755)
    done = engine.run("cpu", *QUICK)
    if OWNER != os.geteuid():  # root alone can give a folder away
        check(done.returncode == 1 and f"owned by uid {OWNER + 1}" in done.stderr, f"a folder of another: {done}")


def no_gpu_is_said(engine, output):
    done = engine.run("profiler", *QUICK)
    check(done.returncode == 0 and done.stderr.count("the back end cpu computes: no NVIDIA driver") == 1, f"{done}")
    done = engine.run("profiler", "record", "--", "true")
    check(done.returncode == 0 and "no GPU is visible in this container, so the CPU computes" in done.stderr, f"{done}")
    done = engine.run("profiler", *QUICK, "--backend", "cuda")
    check(done.returncode == 1 and "no NVIDIA driver" in done.stderr, f"--backend cuda without a driver: {done}")
    asked = [call(*engine.compose, "config", cwd=ROOT, env={**os.environ, "TOMOPROF_GPU": gpu}).stdout.count("driver: nvidia")
             for gpu in ("none", "nvidia", "")]
    check(asked == [0, 4, 4], f"profiler, profiler-full, gpu-check and nsys ask for a GPU unless TOMOPROF_GPU=none: {asked}")
    done = engine.run("profiler-full", *QUICK)
    check(done.returncode == 0, f"profiler-full: {done.returncode} {done.stderr[-500:]}")
    all_of_owner(output)
    said = json.loads(engine.run("profiler", "doctor", "--json").stdout)["rows"]
    states = {name: said[name]["state"] for name in ("cufft", "cupti", "marks", "capture_library", "nvidia_driver")}
    check(states == {"cufft": "ok", "cupti": "ok", "marks": "ok", "capture_library": "ok", "nvidia_driver": "missing"},
          f"doctor in the CUDA image: {states}")
    done = engine.run("profiler", "cat", "/usr/local/share/doc/tomoprof/sbom.tsv")
    check("wheel\tnvidia-cufft\t" in done.stdout and "debian\tlibc6" in done.stdout, "the image's list of packages")
    spdx = json.loads(engine.run("profiler", "cat", "/usr/local/share/doc/tomoprof/sbom.spdx.json").stdout)
    check(len(spdx["packages"]) == len(done.stdout.splitlines()) - 1, f"SPDX: {len(spdx['packages'])} packages")


def its_packages_are_listed(engine, output):
    """As a table, and as an SPDX document that SPDX's own tools accept."""
    made = call(sys.executable, "-m", "venv", output / "venv")
    made = made if made.returncode else call(output / "venv/bin/pip", "install", "--quiet", "spdx-tools>=0.8,<0.9")
    if made.returncode:
        check(ENVIRONMENT.search(made.stderr), f"spdx-tools: {made.stdout[-300:]} {made.stderr[-600:]}")
        print("not validated: spdx-tools cannot be installed here")
        return
    for target in "cpu", "python":
        folder = "/usr/local/share/doc/tomoprof"
        table, document = (call(engine.docker, "run", "--rm", "--network=none", "--entrypoint", "cat", f"tomoprof:{target}", f"{folder}/sbom{kind}").stdout
                           for kind in (".tsv", ".spdx.json"))
        listed = set(call(engine.docker, "run", "--rm", "--network=none", "--entrypoint", "dpkg-query", f"tomoprof:{target}", "-W", "-f",
                          "${binary:Package}\\n").stdout.split())
        rows = [line.split("\t") for line in table.splitlines()[1:]]
        check(listed and {row[1] for row in rows if row[0] == "debian"} == listed, f"{target}: the table differs from dpkg: {table[:300]}")
        (output / "sbom.spdx.json").write_text(document)
        done = call(output / "venv/bin/python", "-c", VALIDATE, output / "sbom.spdx.json")
        check(done.stdout == f"{len(rows)}\n", f"{target}: SPDX: {len(rows)} packages, {done.stdout[:600]} {done.stderr[-600:]}")


def a_stop_leaves_a_readable_run(engine, output):
    tool = os.environ["TOMOPROF"]
    for words, first, last, reader in (
            (("record", "--", "python", "-c", SPIN), "trace/*", "profile.json", ("report", "--text")),
            (("run", "--sizes", "32,64,128,256", "--runs", "50"), "log.txt", "timing.json", ("info",))):
        name = f"tomoprof-stop-{os.getpid()}"
        running = subprocess.Popen([*engine.compose, "run", "--rm", "-T", "--name", name, "cpu", *words], cwd=ROOT,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 600
        while time.monotonic() < end and not list(output.glob(f"2*Z*/{first}")):
            time.sleep(0.5)
        time.sleep(5)
        stopped = call(engine.docker, "stop", "--time", "600", name)
        text = running.communicate(timeout=900)[0]
        check(stopped.returncode == 0, f"docker stop: {stopped.stderr}")
        run = max(output.glob("2*Z*"), key=lambda p: p.name)
        check((run / last).exists(), f"{words[0]} stopped without {last}: {[p.name for p in run.iterdir()]} {text[-800:]}")
        all_of_owner(output)
        read = call(tool, *reader, run)
        check(read.returncode == 0, f"the stopped {words[0]} cannot be read: {read.stderr}")
        shutil.rmtree(run)
        (output / "latest").unlink(missing_ok=True)


def start_sh_drives_it(engine, output):
    environment, had = {k: v for k, v in os.environ.items() if k != "TOMOPROF_GPU"}, ENV_FILE.exists()
    try:
        done = call("./start.sh", "docker", *QUICK, cwd=ROOT, env=environment, timeout=3600)
        check(had or "TOMOPROF_GPU=" in ENV_FILE.read_text(), "start.sh docker notes nothing in .env")
    finally:
        if not had:
            ENV_FILE.unlink(missing_ok=True)
    check(done.returncode == 0, f"start.sh docker: {done.returncode} {done.stderr[-2000:]}")
    if "nvidia" not in call(engine.docker, "info", "--format", "{{json .Runtimes}}").stdout:
        check("no NVIDIA runtime" in done.stderr, f"start.sh docker says nothing of the GPU: {done.stderr[-500:]}")
    check((newest(output) / "report.html").exists(), "start.sh docker left no report")


def the_tests_run_in_it(engine, output):
    done = engine.run("test", "-L", "unit", timeout=1800)
    check(done.returncode == 0 and "100% tests passed" in done.stdout, f"service test: {done.stdout[-2000:]}")


def nsight_systems_captures(engine, output):
    done = engine.run("nsys", "tomoprof", *QUICK, "--no-trace", timeout=1800)
    check(done.returncode == 0 and "Capture: " in done.stderr, f"nsys: {done.returncode} {done.stdout[-500:]} {done.stderr[-1000:]}")
    profile = json.loads((newest(output) / "profile.json").read_text())
    check(profile["environment"]["import.format"] == "nsys", f"not an import: {profile['environment']}")
    names = {row["name"]: row["time"]["n"] for row in profile["ranges"]}
    check(names.get("parallel_fbp_recon", 0) > 0, f"the capture lacks the ranges of the operation: {names}")
    check((newest(output) / "report.html").stat().st_size > 10000, "nsys left no report")
    all_of_owner(output)


EVERYWHERE = (cpu_makes_a_report, words_pass_through, it_is_fenced, its_packages_are_listed, a_stop_leaves_a_readable_run, start_sh_drives_it)
PARTS = {"cuda": no_gpu_is_said, "test": the_tests_run_in_it, "nsys": nsight_systems_captures}


def main():
    parts = os.environ.get("TP_CONTAINER_PARTS", ",".join(PARTS)).split(",")
    engine = Engine()
    if "cuda" in parts:  # first: its toolkit is fetched while the C is compiled, for all of them
        image(engine, "cuda", 900, "--build-arg", "ARCH=" + os.environ.get("TP_CONTAINER_ARCH", "75;80;86;89;90;100;120"),
              "--build-arg", "CUDA12=" + os.environ.get("TP_CONTAINER_CUDA12", "yes"))
    image(engine, "cpu", 120)
    image(engine, "python", 160)
    if "test" in parts:
        image(engine, "test", 3000)
    if "nsys" in parts:
        try:
            image(engine, "nsys", 1000)
        except Unable as reason:  # Debian non-free is not to be had everywhere
            print("nsys is skipped:", reason, flush=True)
            parts.remove("nsys")
    if failed:
        return 1
    with tempfile.TemporaryDirectory(prefix="tomoprof-container-") as folder:
        os.chmod(folder, 0o755)
        for test in EVERYWHERE + tuple(test for name, test in PARTS.items() if name in parts):
            began = time.monotonic()
            test(engine, use(folder))
            print(f"{test.__name__}: {time.monotonic() - began:.0f} s", flush=True)
    print("not tested:", *(set(PARTS) - set(parts) or ["nothing"]))
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unable as reason:
        print("skipped:", reason)
        sys.exit(1 if failed else 77)
