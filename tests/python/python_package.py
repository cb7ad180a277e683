"""The Python package of the build folder, for tests that use it in their own process."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RONDE__BUILD_DIR", ROOT / "build" / "release"))
PACKAGES = BUILD / "python"

needs_package = pytest.mark.skipif(
    not list((PACKAGES / "ronde").glob("_core*.so")), reason=f"the Python package is not built in {BUILD}"
)
if str(PACKAGES) not in sys.path:
    sys.path.insert(0, str(PACKAGES))
