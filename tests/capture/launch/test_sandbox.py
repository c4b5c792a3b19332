"""Programs that filter their own system calls (seccomp) end as they do bare; what was recorded before stays, and its end is told."""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from injected import main, need_library, run, same, target
from recorded import TOMOPROF, newest
from trace_file import FILTERED, SAMPLE, THREAD_END, traces

# Where the recording ends with the filter; `plain`, `defaults` and `refused` have none, the others are noticed by the library's own calls.
FILTERS = {"strict_prctl", "strict_seccomp", "browser", "no_signals", "killed", "service", "forked", "raw_errno", "raw_trap"}


def filters_now():
    """Of this process, as the launcher counts them."""
    status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
    return int(status.get("Seccomp_filters", status.get("Seccomp", "0")))


def every_filter(check, folder):
    program, now = target(folder, "sandbox"), filters_now()
    for name in run([program]).stdout.decode().split():
        files = same(check, folder, name, [program, name], RATE=1000, FILTERS=now)
        first = min(files, key=lambda f: f.start)
        said = [f for f in files if f.end == FILTERED]
        check.must(bool(said) == (name in FILTERS | {"service_started", "zygote"}), f"{name}: ends {[f.end for f in files]}")
        for f in files:
            cpu = sum(r.weight for r in f.of(SAMPLE)) / 1e9
            check.must(cpu < 100, f"{name}: {cpu} s of CPU time are sampled")
            check.must(all(r.user + r.system < 100e9 for r in f.of(THREAD_END)), f"{name}: {[r.user for r in f.of(THREAD_END)]}")
        if name in FILTERS - {"forked"}:
            check.that(first.of(SAMPLE) or name.startswith("raw"), f"{name}: what ran before the filter is lost")
        if name in ("refused", "zygote"):
            cpu = sum(r.weight for r in first.of(SAMPLE) if r.tid == first.pid)
            whole = sum(r.user + r.system for r in first.of(THREAD_END) if r.tid == first.pid)
            check.that(cpu > whole / 2, f"{name}: {cpu} of {whole} ns are sampled: the recording stopped for a filter that was refused")


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PAGE = "<body><script>let s = 0; for (let i = 0; i < 3e7; i++) s += i % 7; document.body.textContent = `sum ${s}`;</script>"
NOBODY = 65534


def page_of(browser, folder, name, wrap, options):
    """The finished run of the browser that prints the page as its script left it; root's runs are somebody else's, as a browser asks for."""
    place = folder / name
    place.mkdir()
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        os.chown(place, NOBODY, NOBODY)
    words = [*map(str, wrap(place)), browser, "--headless", *options, "--dump-dom", f"--user-data-dir={place}/data", f"file://{folder}/page.html"]
    try:
        return subprocess.run(words, capture_output=True, timeout=300, cwd=place, env={**os.environ, "HOME": str(place)}, **user)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(words, 124, late.stdout or b"", late.stderr or b"")


def real_browser(check, folder):
    """Its zygote demands one thread, its pages run behind filters, or in code behind a key where they have none."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        print("skipped: no browser (Debian: chromium-headless-shell)")
        return
    folder.chmod(0o755)
    (folder / "page.html").write_text(PAGE)
    for name, options in ("sandbox", ()), ("open", ("--no-zygote", "--no-sandbox")):
        bare = page_of(browser, folder, f"{name}-bare", lambda place: [], options)
        if bare.returncode or b"sum 89999995" not in bare.stdout:
            print(f"skipped: {browser} {options} does not run here: {bare.returncode} {bare.stderr[-300:]}")
            continue
        done = page_of(browser, folder, name, lambda place: [pathlib.Path(TOMOPROF).resolve(), "record", "--no-analysis", "--out", place / "runs", "--"], options)
        check.must((done.returncode, done.stdout) == (0, bare.stdout), f"{name}: {done.returncode} {done.stdout[-300:]} {done.stderr[-600:]}")
        files = traces(newest(folder / name / "runs") / "trace")
        check.must(len({f.pid for f in files}) >= 4 and sum(bool(f.of(SAMPLE)) for f in files) >= 2,
                   f"{name}: {[(f.pid, f.facts().get('exe'), len(f.of(SAMPLE))) for f in files]}")


if __name__ == "__main__":
    need_library()
    if platform.machine() != "x86_64":
        print("skipped: the filters are written for x86-64")
        sys.exit(77)
    sys.exit(main(every_filter, real_browser))
