"""What a page says that a command prints, against what it printed."""

import re

NUMBER = r"[-+]?\d[\d.]*(?:e[-+]?\d+)?"


def printed(line, output):
    """Is `line` of a page in the output?"""
    parts = ("".join(NUMBER if re.fullmatch(NUMBER, word) else r"\s+" if word.isspace() else ".*" if word == "..." else re.escape(word)
                     for word in re.split(rf"(\.\.\.|{NUMBER}|\s+)", line)))
    return re.search(parts, output)
