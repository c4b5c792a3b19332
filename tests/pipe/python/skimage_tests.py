"""Runs scikit-image's tests of radon, iradon and iradon_sart with those of tomoprof.instead.transform in their place, on request.

    TOMOPROF=build/tomoprof python3 tests/pipe/python/skimage_tests.py FILE

FILE is tests/skimage/transform/test_radon_transform.py of scikit-image's sources, version 0.26. Needs scikit-image and pytest. The functions
take what is equal and leave the rest to scikit-image, so all tests are applicable; the last lines tell how many calls tomoprof took itself.
Exit 1: a test failed."""

import pathlib
import subprocess
import sys

import module

RUN = """
import collections, sys
import skimage.transform
import tomoprof.instead.transform as ours
from tomoprof import _geometries, _sart
calls = collections.Counter()
for kind, method in ((_geometries.ParallelBeamModel, "forward_project"), (_geometries.ParallelBeamModel, "direct_recon")):
    def counted(self, *arguments, _call=getattr(kind, method), _name=method, **options):
        calls[_name] += 1
        return _call(self, *arguments, **options)
    setattr(kind, method, counted)
def counted_sart(*arguments, **options):
    calls["sart"] += 1
    return _sart.sart(*arguments, **options)
ours.sart = counted_sart
import pytest

class Instead:
    # In the test's module alone: what tomoprof does not take goes on to skimage.transform's own functions.
    def pytest_collection_modifyitems(self, items):
        for item in items:
            item.module.radon, item.module.iradon, item.module.iradon_sart = ours.radon, ours.iradon, ours.iradon_sart

code = pytest.main([sys.argv[1], "-q", "-p", "no:cacheprovider", "--tb=line", "-W", "ignore"], plugins=[Instead()])
print("tomoprof computed", calls["forward_project"], "of radon,", calls["direct_recon"], "of iradon and", calls["sart"], "of iradon_sart")
sys.exit(code)
"""


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_file():
        print(f"usage: skimage_tests.py FILE: {sys.argv[1:]} does not name one file", file=sys.stderr)
        return 2
    module.need("skimage", "pytest")
    return subprocess.run([sys.executable, "-c", RUN, str(pathlib.Path(sys.argv[1]).resolve())], timeout=1800).returncode


if __name__ == "__main__":
    sys.exit(main())
