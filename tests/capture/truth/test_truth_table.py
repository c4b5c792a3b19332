"""The truth table's own logic: right recordings pass, and each kind of wrong one is found; one of its programs for real."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from programs import Program
from recorded import main, need_library, of_samples

from truth_programs import TRUTHS  # noqa: E402
from truth_table import marks, measure, own_clocks, row, shown, table  # noqa: E402


def clocks_are_added_up(check, folder):
    """Two processes and one that became another program; a third, of which only the kernel knows, had a second."""
    for name, pid, total, sums in (("a", 1, 1.0, {"x": 1.0}), ("b", 2, 0.5, {"x": 0.25}), ("c", 2, 2.0, {"y": 1.0})):
        (folder / name).write_text(json.dumps({"pid": pid, "process_s": total, "phases": {
            n: {"thread_s": s / 2, "process_s": s, "wall_s": 9, "calls": 1} for n, s in sums.items()}}))
    check.that(own_clocks(folder, "process", 4.0) == ({"x": 1.25 / 4, "y": 0.25}, 4.0), f"{own_clocks(folder, 'process', 4.0)}")
    check.that(own_clocks(folder, "thread", 1.0) == ({"x": 0.625 / 3, "y": 0.5 / 3}, 3.0), f"{own_clocks(folder, 'thread', 1.0)}")


def lines_are_found_by_their_marks(check, folder):
    (folder / "p.c").write_text("a(); /* truth: one */\nb(); // inclusive: two\nc(); /* truth: one */\n")
    found = marks([folder / "p.c"])
    check.that(found == {"one": [("p.c", 1, "cpu"), ("p.c", 3, "cpu")], "two": [("p.c", 2, "cpu_incl")]}, f"{found}")
    lines = [{"line": n, "cpu": {"share": own}, "cpu_incl": {"share": below}} for n, own, below in ((1, 0.25, 0.5), (2, 0, 0.5), (3, 0.125, 0.5))]
    said = shown({"files": {".../x/p.c": {"lines": lines}, "q.c": {"lines": lines}}}, [folder / "p.c"])
    check.that(said == {"one": 0.375, "two": 0.5}, f"{said}")


def wrong_recordings_miss_the_goal(check, folder):
    def missed(share=0.5, cpu=4.0, differ=(), pairs=2):
        run = {"cpu": 4.0, "wall": 5.0, "truth": {"work": 0.5}}
        mine = {**run, "cpu": cpu, "shown": {"work": share}, "sampled_s": 3.9, "tree_s": 4.0}
        return row(Program("p", "", ["true"]), {"bare": [run] * pairs, "recorded": [mine] * pairs}, list(differ))[1]

    check.that(missed() == [] and missed(0.525, 4.1) == [], f"a right one: {missed(0.525, 4.1)}")
    check.that(missed(share=0.46) == ["work -4.0"], f"a share of 46 % instead of 50: {missed(share=0.46)}")
    check.that(missed(share=0.55) == ["work +5.0"], f"a share of 55 % instead of 50: {missed(share=0.55)}")
    check.that(missed(cpu=4.4) == ["ratio"], f"ten percent more CPU time: {missed(cpu=4.4)}")
    check.that(missed(differ=["ended with 1 instead of 0"]) == ["output"], f"another exit: {missed(differ=['ended'])}")


def time_is_shared_and_what_is_not_reached_is_named(check, folder):
    """Programs that end at once: with no time none is begun; with time that is over before the second pair, each has its first."""
    programs = [Program(name, "", ["true"]) for name in ("a", "b")]
    lines, facts, left = table(programs, 3, 0, None, 0)
    check.that(len(lines) == 2 and not facts and left == ["a", "b"], f"without time: {lines}, {left}")
    runs, _ = measure(programs[0], folder, 3, 0, 0)
    check.that([len(all) for all in runs.values()] == [1, 1], f"after its time: {runs}")


@of_samples
def a_program_with_clocks_agrees(check, folder):
    """vfork, posix_spawn and exec: four processes. The tolerance is three standard errors of 3 s."""
    program = next(p for p in TRUTHS if p.name == "exec chain")
    runs, differ = measure(program, folder, 1)
    check.must(not differ, f"{differ}")
    for name, share in runs["recorded"][0]["truth"].items():
        found = runs["recorded"][0]["shown"][name]
        check.that(abs(found - share) < 0.08, f"{name}: {100 * found:.1f} %, by its clock {100 * share:.1f} %")


need_library()
main(clocks_are_added_up, lines_are_found_by_their_marks, wrong_recordings_miss_the_goal,
     time_is_shared_and_what_is_not_reached_is_named, a_program_with_clocks_agrees)
