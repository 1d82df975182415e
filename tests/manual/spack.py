"""Runs the recipe for Spack without Spack: `spack.package` is what the recipe takes of it, in a few lines.

    spack.py RECIPE SOURCE PREFIX

SOURCE has the built commands in target/release. The phase `build` is left out, as it is a call of cargo.
"""

import os
import runpy
import subprocess
import sys
import types

recipe, source, prefix_path = sys.argv[1:]


class Prefix(str):
    """A path whose folders are attributes."""

    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


class Executable:
    def __init__(self, path):
        self.path, self.environment = path, dict(os.environ)

    def add_default_env(self, name, value):
        self.environment[name] = str(value)

    def __call__(self, *words):
        subprocess.run([self.path, *map(str, words)], env=self.environment, check=True, stdout=subprocess.DEVNULL)


class Package:
    def __init__(self):
        self.prefix = Prefix(prefix_path)
        self.stage = types.SimpleNamespace(source_path=source, path=os.path.join(prefix_path, "stage"))


def directive(*words, **settings):
    """Directives and decorators: the recipe may call them, and functions stay as they are."""
    return lambda function: function


stub = types.ModuleType("spack.package")
stub.Package, stub.Executable, stub.join_path = Package, Executable, os.path.join
for name in ("license", "version", "depends_on", "run_after", "on_package_attributes", "which"):
    setattr(stub, name, directive)
sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), stub

package = runpy.run_path(recipe)["Phaseflow"]()
assert package.phases == ["build", "install"]
package.install(None, package.prefix)
os.makedirs(package.stage.path)
package.quickstart()
