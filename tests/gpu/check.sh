#!/bin/sh
# Checks and times the CUDA back end on a machine with a GPU, within 9 minutes: tests/gpu/check.sh BUILD OUT.
# BUILD: a build folder with its tests, or what tests/gpu/pack.sh made of one. OUT receives check.json, logs, timings.
exec python3 "$(dirname "$0")/check.py" "$@"
