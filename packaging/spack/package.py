"""tomoprof for Spack. In a repository of packages of your own; `spack repo create` prints where it lies, REPO:

    spack repo create FOLDER mine
    mkdir -p REPO/packages/tomoprof
    ln -s CHECKOUT/packaging/spack/package.py REPO/packages/tomoprof/package.py
    spack repo add REPO && spack install tomoprof@main

The sources come from the checkout that this file lies in. A release is pinned by its commit, which exists after the release only:
version("0.1.0", tag="v0.1.0", commit=...)."""

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
except ImportError:  # before Spack 1.0 spack.package has them
    pass

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class Tomoprof(CMakePackage):
    """Profiles programs and tomographic reconstruction down to the source line, and reconstructs scans."""

    homepage = "file://" + CHECKOUT
    git = "file://" + CHECKOUT

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("hdf5", default=True, description="Read and write HDF5")
    variant("curl", default=True, description="Read files from https and S3")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("cjson")
    depends_on("zlib-api")
    depends_on("elfutils")
    depends_on("sqlite")
    depends_on("libdeflate")
    depends_on("zstd")
    depends_on("lz4")
    depends_on("c-blosc")
    depends_on("libaec")
    depends_on("bzip2")
    depends_on("c-blosc2")
    depends_on("libtiff")
    depends_on("libjpeg-turbo")
    depends_on("liburing")
    depends_on("fftw~mpi precision=float")
    depends_on("hdf5~mpi", when="+hdf5")
    depends_on("curl@7.75:", when="+curl")

    generator("ninja")
    conflicts("platform=darwin", msg="tomoprof runs on Linux")
    conflicts("platform=windows", msg="tomoprof runs on Linux, and in WSL2")

    def cmake_args(self):
        without = [name for name in ("hdf5", "curl") if not self.spec.variants[name].value]
        return [
            self.define("TP_TESTS", False),
            self.define("TP_CUDA", False),
            self.define("TP_WITHOUT", ";".join(name.upper() for name in without)),
        ]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.tomoprof.python)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def doctor(self):
        Executable(self.prefix.bin.tomoprof)("doctor")
