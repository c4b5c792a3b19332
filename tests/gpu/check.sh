#!/bin/sh
# Checks and times the CUDA back end on a machine with a GPU, within 9 minutes: tests/gpu/check.sh BUILD OUT [SETTINGS].
# BUILD: a build folder with its tests, or what tests/gpu/pack.sh made of one, an archive too. OUT receives at most 8 files: check.json
# (a row per step), figures.json, table.txt, logs.json, recordings. SETTINGS: a JSON file that replaces some of settings.py.
# Exit 1: a step failed; 77: no GPU works here.
exec python3 "$(dirname "$0")/check.py" "$@"
