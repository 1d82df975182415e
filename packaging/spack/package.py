# Spack's recipe. In a repository of your own:
#
#   spack repo create phaseflow-repo phaseflow
#   mkdir -p phaseflow-repo/packages/phaseflow && cp package.py phaseflow-repo/packages/phaseflow/
#   spack repo add phaseflow-repo
#   spack dev-build --source-path CHECKOUT phaseflow@main

from spack.package import *


class Phaseflow(Package):
    """Says in which phase of an MPI program which link of a network is the bottleneck, and what another routing,
    placement or network would change."""

    license("MIT OR Apache-2.0")

    # Sources are a checkout: spack dev-build, or spack develop.
    version("main")

    depends_on("rust@1.89:", type="build")
    # For the linker alone; there is no C source.
    depends_on("c", type="build")
    # Not needed to build: the recorder finds the MPI of the program when that starts.

    phases = ["build", "install"]

    def build(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("build", "--release", "--locked")

    def install(self, spec, prefix):
        script = Executable(join_path(self.stage.source_path, "packaging", "install"))
        script(prefix, join_path(self.stage.source_path, "target", "release"))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def quickstart(self):
        """Runs the bundled recording through the installed commands."""
        pipeline = Executable(join_path(self.prefix.share, "phaseflow", "pipelines", "quickstart.sh"))
        pipeline.add_default_env("PHASEFLOW_BIN", self.prefix.bin)
        pipeline(join_path(self.stage.path, "quickstart"))
