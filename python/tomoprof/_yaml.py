"""The YAML of parameter files: what MBIRJAX writes, and no more.

A file maps each parameter to its `val`, `recompile_flag` and, for arrays, `shape`. Values are numbers, true, false, nothing (None),
words, or lists of these. Long words continue on the next line."""

import re

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|\.inf|\.nan)", re.IGNORECASE)
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


def _scalar_text(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value:
            return ".nan"
        if value in (float("inf"), float("-inf")):
            return ".inf" if value > 0 else "-.inf"
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    text = str(value)
    if isinstance(value, str) and (_scalar_of(text) != text or text[:1] in "-?,[]{}#&*!|>'\"%@`" or ": " in text or " #" in text):
        return "'" + text.replace("'", "''") + "'"
    return text


def dump(entries):
    """{name: {"val": value, "recompile_flag": flag}} as text."""
    lines = []
    for name, entry in entries.items():
        lines.append(f"{name}:")
        for key, value in entry.items():
            if isinstance(value, (list, tuple)):
                lines += [f"  {key}: []"] if not value else [f"  {key}:", *(f"  - {_scalar_text(item)}".rstrip() for item in value)]
            else:
                lines.append(f"  {key}: {_scalar_text(value)}".rstrip())
    return "\n".join(lines) + "\n"


def _scalar_of(text):
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1:
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _value_of(text, number):
    text = re.sub(r"^!!python/tuple\s*", "", text)
    if text.startswith("["):
        if not text.endswith("]"):
            raise ValueError(f"line {number}: a list without its closing ]")
        return [_scalar_of(item.strip()) for item in text[1:-1].split(",") if item.strip()]
    return _scalar_of(text)


def load(text):
    """The inverse of `dump`. ValueError names the line that is not of this form."""
    entries, entry, key, pending = {}, None, None, None

    def finish():
        if key is not None and pending is not None:
            entry[key] = pending if isinstance(pending, list) else _value_of(" ".join(pending[0]), pending[1])

    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#") or bare == "---":
            continue
        depth = len(line) - len(line.lstrip())
        top = re.fullmatch(r"([A-Za-z_]\w*):", line)
        inner = re.fullmatch(r"(val|shape|recompile_flag):(?:\s+(.*))?", bare)
        if depth == 0 and top:
            finish()
            entry, key, pending = entries.setdefault(top[1], {}), None, None
        elif entry is not None and inner and 0 < depth <= 4:
            finish()
            key, pending = inner[1], ([inner[2] or ""], number)
        elif key is not None and bare.startswith("- ") and (isinstance(pending, list) or not pending[0][0] or pending[0][0].startswith("!!")):
            pending = pending if isinstance(pending, list) else []
            pending.append(_scalar_of(bare[2:].strip()))
        elif key is not None and bare == "-":
            pending = [*(pending if isinstance(pending, list) else []), None]
        elif key is not None and isinstance(pending, tuple) and depth > 2:
            pending[0].append(bare)
        else:
            raise ValueError(f"line {number}: {bare[:60]!r} is not part of a parameter; expected `name:`, `  val: VALUE` or `  - VALUE`")
    finish()
    if not entries:
        raise ValueError("no parameters in the text; expected `name:` and `  val: VALUE` below it")
    return entries
