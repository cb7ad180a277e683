"""Answers to the name of Horovod: `import horovod.torch` gives `ronde.torch`, the same module.

This folder's parent goes on the path by `ronde run --horovod` and by `python -m ronde.horovod`; nothing else sees it.
"""

import importlib
import importlib.abc
import importlib.util
import pathlib
import sys

if importlib.util.find_spec("ronde") is None:  # only this shim is on the path
    sys.path.append(str(pathlib.Path(__file__).parents[3]))

_HERE = {"common", "runner", "torch"}


class _SameModule(importlib.abc.Loader):
    """Loads a module by handing out the one of another name."""

    def __init__(self, name):
        self.name = name

    def create_module(self, spec):
        self.module = importlib.import_module(self.name)
        self.own_spec = self.module.__spec__
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.own_spec  # which the import has just overwritten


class _NotHere(importlib.abc.Loader):
    """A framework's part that can be looked for, as Horovod's can, and says what is missing when it is imported."""

    def create_module(self, spec):
        raise ModuleNotFoundError(
            f"{spec.name} is not available: ronde provides Horovod for PyTorch (horovod.torch) only", name=spec.name
        )

    def exec_module(self, module):
        pass


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        top, _, inside = fullname.partition(".")
        if top != "horovod" or not inside:
            return None
        if inside.split(".")[0] not in _HERE:
            return importlib.util.spec_from_loader(fullname, _NotHere())
        found = importlib.util.find_spec(f"ronde.{inside}")
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return importlib.util.spec_from_loader(fullname, _SameModule(f"ronde.{inside}"), is_package=is_package)


sys.meta_path.insert(0, _Finder())

from ronde import __version__ as ronde_version  # noqa: E402
from ronde.runner import run  # noqa: E402

__version__ = "0.28.1"  # whose interface this is

__all__ = ["__version__", "ronde_version", "run"]
