"""Runs tests one after another and prints the CPU seconds of each with its children, which depend little on other work."""

import argparse
import json
import os
import re
import subprocess
import sys
import time


def tests_of(build):
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True)
    for test in json.loads(listing.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        if "command" in test:
            yield (test["name"], properties.get("LABELS", ["none"])[0], test["command"], properties.get("ENVIRONMENT", []),
                   properties.get("ENVIRONMENT_MODIFICATION", []), properties.get("WORKING_DIRECTORY"))


def run(command, environment, first, folder):
    values = dict(os.environ, **dict(line.split("=", 1) for line in environment))
    for name, path in (line.split("=path_list_prepend:", 1) for line in first if line):
        values[name] = f"{path}:{values[name]}"
    began = time.monotonic()
    process = subprocess.Popen(command, env=values, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, time.monotonic() - began, output


def main():
    words = argparse.ArgumentParser(description="CPU seconds of each test, most first. Processes that outlive their parent do not count.")
    words.add_argument("--build", default="build")
    words.add_argument("-R", dest="wanted", default="", help="tests whose names match")
    words.add_argument("-E", dest="unwanted", default="^container/", help="but not these")
    words.add_argument("-L", dest="label", default="", help="tests with a label that matches")
    words = words.parse_args()
    rows, failed = [], 0
    for name, label, command, environment, first, folder in tests_of(words.build):
        if not re.search(words.wanted, name) or re.search(words.unwanted, name) or not re.search(words.label, label):
            continue
        code, cpu, wall, output = run(command, environment, first, folder)
        result = {0: "passed", 77: "skipped"}.get(code, "FAILED")
        if result == "FAILED":
            failed += 1
            sys.stderr.buffer.write(output[-4000:])
        rows.append((cpu, wall, name, label, result))
        print(f"{cpu:8.2f} s CPU {wall:8.1f} s wall  {result:7}  {name}", file=sys.stderr, flush=True)
    print("| test | CPU s | wall s | result |\n|---|---|---|---|")
    for cpu, wall, name, label, result in sorted(rows, reverse=True):
        print(f"| {name} | {cpu:.2f} | {wall:.1f} | {result} |")
    print("\n| label | tests | CPU s |\n|---|---|---|")
    for label in sorted({row[3] for row in rows}):
        mine = [row[0] for row in rows if row[3] == label]
        print(f"| {label} | {len(mine)} | {sum(mine):.1f} |")
    print(f"\nall: {sum(row[0] for row in rows):.1f} s CPU, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
