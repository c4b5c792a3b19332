"""`report --what-if`: what it answers, and what it refuses. unit/test_what_if replays known threads; bench.py compares with real gains."""

import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import faster_lines  # noqa: E402
from recorded import command, main, need_library, newest, run, tomoprof  # noqa: E402

need_library()


def asked(folder, question):
    return tomoprof("report", folder, "--what-if", question)


def answers_and_errors(check, folder):
    path, line, _ = faster_lines.write(folder, "threads_uneven")
    out = folder / "out"
    done = run(command(out, "--", sys.executable, path, "0.5"))
    check.that(done.returncode == 0, done.stderr.decode()[-300:])
    recording = newest(out)
    before = (recording / "profile.json").read_bytes()
    numbers = {}
    for factor in ("1", "0.5", "0", "3"):
        done = asked(recording, f"{path.name}:{line}={factor}")
        match = re.match(rf"If threads_uneven.py:{line} took {factor} times as long, the program would take (\S+) s instead of (\S+) s ", done.stdout)
        check.that(done.returncode == 0 and match, f"{done.stdout}{done.stderr}")
        numbers[factor] = [float(x) for x in match.groups()]
        check.that(("this change saves at most" in done.stdout) == (float(factor) < 1), done.stdout)
    check.that(numbers["1"][0] == numbers["1"][1], f"a line as it was changes nothing: {numbers}")
    check.that(numbers["3"][0] > numbers["1"][0] > 0 and numbers["0"][0] <= numbers["0.5"][0] <= numbers["1"][0], f"faster and slower: {numbers}")
    check.that((recording / "profile.json").read_bytes() == before, "the profile stays")
    for question, says in ((f"{path.name}:99999=0.5", "no sample is at this line"), ("other.py:1=0.5", "no sample"), (path.name, "expected a file, a line"),
                           (f"{path.name}:{line}=-1", "expected"), (f"{path.name}:{line}=", "expected"), (f":{line}=0.5", "expected"),
                           (f"{path.name}:{line}=0.5x", "expected"), (f"{path.name}:0=0.5", "expected")):
        done = asked(recording, question)
        check.that(done.returncode == 2 and says in done.stderr, f"{question}: {done.returncode} {done.stderr[-200:]}")
    shutil.rmtree(recording / "trace")
    done = asked(recording, f"{path.name}:{line}=0.5")
    check.that(done.returncode == 2 and "--what-if read the recording again" in done.stderr, done.stderr)


main(answers_and_errors)
