"""A Slurm of one machine on loopback, started and stopped by the test that uses it. Needs root, slurm-wlm and munge."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "sinfo", "scancel")
CONF = """ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={slurmd}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
ReturnToService=2
MpiDefault=pmix
FirstJobId={job}
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
SlurmdParameters=config_overrides
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What this machine lacks, "" when Slurm can be started."""
    lacks = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if lacks:
        return f"{', '.join(lacks)} not installed (slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "Slurm on loopback needs root"


def free_ports(count):
    """Below those that the kernel gives to others who ask for any: it is not taken until a daemon is there."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found = []
    places = range(max(1024, lowest - 10000), lowest) or range(20000, 30000)
    for port in random.sample(places, min(200, len(places))):
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports below {lowest}")


def wait_for(what, condition, daemons=(), seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        gone = [p.args[0] for p in daemons if p.poll() is not None]
        if gone or time.monotonic() > end:
            raise TimeoutError(f"{what}: {f'{gone[0]} has ended' if gone else f'not within {seconds} s'}")
        time.sleep(0.05)


def text_of(*words, env):
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=300).stdout.strip()


@contextlib.contextmanager
def slurm(folder):
    """Yields the environment in which sbatch and srun find it."""
    folder = pathlib.Path(folder)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    folder.chmod(0o755)  # munged refuses a socket that others cannot reach
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    port, slurmd = free_ports(2)
    conf.write_text(CONF.format(host=host, port=port, slurmd=slurmd, folder=folder,
                                job=random.randrange(1, 60000000)))  # PMIx and Open MPI name what all on a machine share by it
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    env = {**os.environ, "SLURM_CONF": str(conf), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    quiet = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # they write logs
    daemons = []
    try:
        daemons.append(subprocess.Popen(["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
                                         f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munge.seed",
                                         f"--log-file={folder}/munged.log"], **quiet))
        wait_for("munged", (folder / "munge.socket").exists, daemons)
        daemons.append(subprocess.Popen(["slurmctld", "-D", "-f", str(conf)], **quiet))
        daemons.append(subprocess.Popen(["slurmd", "-D", "-f", str(conf), "-N", host], **quiet))
        wait_for("an idle node", lambda: text_of("sinfo", "-h", "-o", "%T", env=env) == "idle", daemons)
        yield env
    finally:
        subprocess.run(["scancel", "--state=RUNNING", "--user=root"], **quiet, timeout=300)
        for p in reversed(daemons):
            p.send_signal(signal.SIGTERM)
            try:
                p.wait(timeout=60)
            except subprocess.TimeoutExpired:
                p.kill()


def run_job(env, folder, *words):
    """sbatch words; waits for its end. Exit code of the job and what it printed."""
    out = pathlib.Path(folder) / "job.txt"
    r = subprocess.run(["sbatch", "--parsable", "--output", str(out), *map(str, words)], env=env, cwd=folder, capture_output=True,
                       text=True, timeout=300)
    if r.returncode:
        return r.returncode, r.stderr
    job = r.stdout.strip().split(";")[0]
    wait_for("the job's end", lambda: not text_of("squeue", "-h", "-j", job, "-t", "PENDING,RUNNING,COMPLETING,SUSPENDED", env=env))
    state = text_of("scontrol", "show", "job", job, env=env)
    code = state.split("ExitCode=")[1].split(":")[0] if "ExitCode=" in state else "?"
    return int(code) if code.isdigit() else 1, out.read_text() if out.exists() else ""
