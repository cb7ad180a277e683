"""What `ronde run --trace-dir` puts on PYTHONPATH: a program that imports torch is recorded (ronde.traced).

It makes way for the user's own sitecustomize. Programs that do not import torch run as they always do.
"""

import os
import sys


def _others_first():
    """Imports the sitecustomize that Python would have found without this folder, if there is one."""
    here, itself = os.path.dirname(os.path.abspath(__file__)), sys.modules["sitecustomize"]
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    sys.path_importer_cache.pop(here, None)
    del sys.modules["sitecustomize"]
    try:
        import sitecustomize  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", itself)


class _AfterTorch:
    """The loader of torch, and what follows when torch has been loaded."""

    def __init__(self, loader, then):
        self._loader, self._then = loader, then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()


class _WaitForTorch:
    """A finder that finds nothing, but learns that torch is asked for."""

    def __init__(self, then):
        self._then = then

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or path is not None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = _AfterTorch(spec.loader, self._loaded)
            if spec is not None:
                return spec
        return None

    def _loaded(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._then()


def _find_ronde():
    """The package that this folder belongs to, where Python knows no other; nothing else of its folder is found."""
    import importlib.util

    if "ronde" in sys.modules or importlib.util.find_spec("ronde") is not None:
        return
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    spec = importlib.util.spec_from_file_location(
        "ronde", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    module = sys.modules["ronde"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def _record():
    try:
        _find_ronde()
        import ronde.traced

        ronde.traced.install()
    except Exception as error:  # the program must run all the same
        if os.environ.get("LOCAL_RANK", "0") == "0":
            print(f"ronde: this Python program is not recorded: {type(error).__name__}: {error}", file=sys.stderr)


if os.environ.get("RONDE_TRACE_DIR"):
    os.environ["RONDE_TRACE_DIR"] = os.path.abspath(os.environ["RONDE_TRACE_DIR"])  # wherever the program goes
sys.meta_path.insert(0, _WaitForTorch(_record))
_others_first()
