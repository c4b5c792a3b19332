"""start.ps1 parses: with PowerShell's own parser where pwsh is, else with the tree-sitter grammar of the language.

The grammar is the Python packages tree-sitter and tree-sitter-powershell, fetched where they are not installed. Neither runs
the script."""

import importlib
import shutil
import subprocess
import sys
import tempfile

from sources import ROOT

SCRIPT = ROOT / "start.ps1"
PACKAGES = "tree-sitter==0.26.1", "tree-sitter-powershell==0.26.4"
BROKEN = "function f( { if ($x -eq 1 { 'a' }\n"


def pwsh_errors(text):
    ask = ("$e = $null; [void][System.Management.Automation.Language.Parser]::ParseInput("
           "[Console]::In.ReadToEnd(), [ref]$null, [ref]$e); $e | ForEach-Object { $_.ToString() }")
    done = subprocess.run(["pwsh", "-NoProfile", "-Command", ask], input=text, text=True, capture_output=True, timeout=300)
    return done.stdout.splitlines() + done.stderr.splitlines()


def grammar_errors(text):
    import tree_sitter
    import tree_sitter_powershell
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
    found, waiting = [], [parser.parse(text.encode()).root_node]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            found.append(f"line {node.start_point[0] + 1}: {node.text.decode()[:60]!r} does not parse")
        waiting += node.children
    return found


def fetch_grammar(folder):
    """Why it cannot be had, else None."""
    try:
        importlib.import_module("tree_sitter_powershell")
        return None
    except ImportError:
        pass
    try:
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder,
                               *PACKAGES], text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    except subprocess.TimeoutExpired:
        return "not within 5 minutes"
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    return (done.stderr.strip().splitlines() or ["no reason"])[-1] if done.returncode else None


def main():
    with tempfile.TemporaryDirectory(prefix="tomoprof-grammar-") as folder:
        return check(folder)


def check(folder):
    errors, how = pwsh_errors, "PowerShell"
    if not shutil.which("pwsh"):
        errors, how = grammar_errors, "the tree-sitter grammar"
        reason = fetch_grammar(folder)
        if reason:
            print("skipped: pwsh is not installed, and pip cannot get its grammar:", reason)
            return 77
    if not errors(BROKEN):
        print(f"{how} finds nothing wrong with a broken script: this check checks nothing")
        return 1
    found = errors(SCRIPT.read_text())
    print(*found, f"start.ps1 read by {how}: {len(found)} error(s)", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
