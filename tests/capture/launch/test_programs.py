"""Programs that nobody here wrote behave the same under record, and their profile says where the time went.

The longer list, with MBIRJAX and JITs: tests/capture/matrix.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import PROGRAMS, compare, facts, mentions
from recorded import main, need_library, of_samples


def test_of(program):
    @of_samples
    def test(check, folder):
        reason = program.absent()
        if reason:
            print(f"  skipped: {reason}")
            return
        _, mine, differences = compare(program, folder)
        check.must(not differences, f"{program.name}: {differences}")
        data, record, _ = facts(folder)
        check.must(data["schema"].startswith("tomoprof-profile/"), f"{program.name}: {data['schema']}")
        kernel = record["end"]["user_s"] + record["end"]["system_s"]
        found = data["totals"]["cpu"]["user"] + data["totals"]["cpu"]["sys"]
        # A killed program's last moments are nobody's; what runs before the library is loaded is not sampled.
        if program.end != -9 and not program.brief:
            check.that(abs(found - kernel) < 0.1 * kernel + 0.1, f"{program.name}: {found} s sampled of {kernel} s")
        if program.hot:
            seconds, share = mentions(data, program.hot)
            check.that(share > 0.5, f"{program.name}: {program.hot} has {seconds:.3f} s, {100 * share:.0f} % of the CPU time")

    test.__name__ = program.name
    return test


need_library()
main(*(test_of(p) for p in PROGRAMS if p.ci))
