"""docs/howto/transcripts.md: what a terminal of 80 columns shows in each workflow. `--write` records it; without it, the workflows
run again. The page must have the same commands, and each must end as it did and print the lines without numbers that the page has."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from terminal import cleaned, of_page, page_of, work_through, write
from tool import SANITIZED, main, of_samples

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/howto/transcripts.md"
HEAD = ("# Transcripts\n\nWhat a terminal of 80 columns shows in each workflow, in a fresh clone after `./start.sh build`. `tests/pipe/docs/test_transcripts.py --write` "
        "records this page, and the test checks it. The seconds are wall time on two CPUs that others used too.")

SECTIONS = '''import time
import zlib

import tomoprof


def until(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        yield


packed = zlib.compress(bytes(range(256)) * 40000)
with tomoprof.region("full read"):
    for _ in until(1.5):
        zlib.decompress(packed)
with tomoprof.region("partial read"):
    for _ in until(1.5):
        sorted(str(i) for i in range(20000))
with tomoprof.region("S3"):
    time.sleep(0.8)
'''
JOB = '''import threading
import time

end = time.time() + 120
lock = threading.Lock()


def project():
    with lock:
        while time.time() < end:
            sum(i * i for i in range(1000))


def save():
    with lock:
        pass


for work in (project, save):
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)
time.sleep(120)
'''

# (title, what for, {file: text} that the page shows, commands). A command that ends with & goes on while the others run.
WORKFLOWS = (
    ("Find the slow function", "`record` runs the program and names its slow line. `report` prints the tables.", {},
     ("build/tomoprof record python3 examples/reconstruct.py", "build/tomoprof report --top 4")),
    ("Prove that a fix helps", "`previous` and `latest` are the two newest runs of this folder.", {},
     ("build/tomoprof record python3 examples/moving_average.py", "build/tomoprof record python3 examples/moving_average.py fast",
      "build/tomoprof compare previous latest --top 4")),
    ("Prove it beyond the noise", "`--against` runs two programs in turns, five times each, before it records them.", {},
     ("build/tomoprof record --against 'python3 examples/moving_average.py' -- python3 examples/moving_average.py fast",)),
    ("Gate a build", "`--fail-over` ends with exit code 1 when the program became slower than that, beyond its noise.", {},
     ("build/tomoprof record --runs 5 --out base -- python3 examples/moving_average.py fast",
      "build/tomoprof record --runs 5 --out new -- python3 examples/moving_average.py",
      "build/tomoprof compare base new --top 3 --fail-over 10%")),
    ("Profile parts of a program", "Each region has its answer, in the order in which they began. `--paused` leaves out what comes before the first.",
     {"sections.py": SECTIONS}, ("PYTHONPATH=python build/tomoprof record --paused python3 sections.py", "build/tomoprof report --top 3")),
    ("Watch a running job", "`top` is live; `--once` prints what it saw within a second. `dump` tells what each thread waits for.", {"job.py": JOB},
     ("python3 job.py &", "build/tomoprof top --once $!", "build/tomoprof dump $!", "build/tomoprof record --pid $! --for 2s")),
    ("See who holds the lock", "The answer names the thread's function that the others wait for.", {}, ("build/tomoprof record python3 examples/lock.py",)),
    ("Find where the time of loading goes", "Two runs of `load` are compared like recordings.", {},
     ("build/tomoprof load tests/data/tooth.h5", "build/tomoprof load tests/data/tooth.h5 --threads 2", "build/tomoprof compare previous latest")),
    ("Time the operators", "A run with each number of threads, and a flame graph of one operation.", {},
     ("build/tomoprof run --threads 1,2 --ops parallel_fbp_recon,median_filter3d --sizes 64,96 --no-trace",
      "build/tomoprof apply parallel_fbp_recon 64 5 --flamegraph")),
    ("Ask about an FPGA", "A recording of another program has nothing to judge, and `triage` says what it takes.", {},
     ("build/tomoprof run --ops median_filter3d,cone_mbir_recon --sizes 32 --runs 3", "build/tomoprof triage latest",
      "build/tomoprof record python3 examples/lock.py", "build/tomoprof triage latest")),
    ("Find runs, share a page", "`report.html` is one file: send it. `--no-source` leaves out the text of your program.", {},
     ("build/tomoprof record python3 examples/lock.py", "build/tomoprof report latest --no-source --top 3", "build/tomoprof list --here --top 3",
      "build/tomoprof export latest --to speedscpe", "build/tomoprof export latest --to speedscope")),
)


def words_of(line):
    return " ".join(line.split())


def the_page_has_the_workflows(check, folder):
    page = of_page(PAGE)
    check.that(list(page) == [w[0] for w in WORKFLOWS], f"titles: {list(page)}")
    for title, why, files, commands in WORKFLOWS:
        check.that([row[0] for row in page.get(title, [])] == list(commands), f"{title}: {page.get(title)}")
        check.that(why in PAGE.read_text() and all(text.strip() in PAGE.read_text() for text in files.values()), f"{title}: its text or files")
    check.that(all(len(line) <= 80 for rows in page.values() for _, lines, _ in rows for line in lines if line.startswith("  self %")), "tables of lines and functions are wider than 80 columns")


def one_workflow(workflow):
    def test(check, folder):
        for (command, kept, expected), (_, text, code, _) in zip(of_page(PAGE)[workflow[0]], work_through(workflow, folder)):
            # A gate is exit code 1 where the program is slower, which noise can hide on a busy machine.
            check.must(code == expected or (code == 0 and "--fail-over" in command), f"{command}: exit {code}, {expected} on the page: {text[-1500:]}")
            here = {words_of(line) for line in text.split("\n")}
            for line in kept:
                if words_of(line) and not re.search(r"\d", line):
                    check.that(words_of(line) in here, f"{command}: {line!r} is not in {text[-3000:]}")
    test.__name__ = workflow[0].lower().replace(" ", "_").replace(",", "")
    return of_samples(test)


def a_wrong_page_is_found(check, folder):
    check.that(cleaned("\x1b[1mbold\x1b[0m a\x1b]8;;file:///x\x1b\\link\x1b]8;;\x1b\\\r\n10 % of\r100 %\r\n50 %\r\x1b[Kend\r\n") == "bold alink\n100 %of\nend", "the screen")
    page = page_of("# A page", [((WORKFLOWS[0]), [("build/tomoprof x", "a\nb", 1, 2.0)])])
    check.that("$ build/tomoprof x\na\nb\n(exit code 1)\n```" in page and "Together 2.0 s." in page, page)


if SANITIZED:
    print("skipped: the transcripts are those of the program as it is used, not of the sanitised one")
    raise SystemExit(77)
if __name__ == "__main__":
    if "--write" in sys.argv:
        write(PAGE, HEAD, WORKFLOWS)
    else:
        main(a_wrong_page_is_found, the_page_has_the_workflows, *map(one_workflow, WORKFLOWS))
