"""The tables of rules in docs/internals are those that `tomoprof reference rules` prints. With --write they are written there."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, tomoprof

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = {"recordings": "docs/internals/report.md", "loading": "docs/internals/loading.md"}
BLOCK = r"<!-- rules of (\w+) -->\n.*?<!-- rules end -->"


def blocks(text):
    """{"recordings": its table with the marks around it}"""
    return {block[1]: block[0] for block in re.finditer(BLOCK, text, re.S)}


def tables_are_printed_from_the_rules(check, folder):
    printed = blocks(tomoprof("reference", "rules").stdout)
    check.that(printed.keys() == PAGES.keys(), f"printed: {list(printed)}")
    for name, page in PAGES.items():
        path = ROOT / page
        kept = blocks(path.read_text()).get(name, "")
        if "--write" in sys.argv and kept:
            path.write_text(path.read_text().replace(kept, printed[name]))
        else:
            check.that(kept == printed[name], f"{page} is not what `tomoprof reference rules` prints: run {__file__} --write")


def a_changed_row_is_found(check, folder):
    text = (ROOT / PAGES["recordings"]).read_text()
    check.that(blocks(text.replace("| `io.open` |", "| `io.opened` |")) != blocks(text), "a changed row makes no difference")


main(tables_are_printed_from_the_rules, a_changed_row_is_found)
