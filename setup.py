"""pip install --no-build-isolation . : the package `ronde`, compiled against the torch of the Python that installs it.

RONDE__BUILD_DIR names a build folder (build/release, say) whose module and program are taken as they are.
"""

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

TORCH_MINIMUM = (2, 6)
PROGRAMS = ("ronde", "ronde-train", "ronde-bench")
ROOT = pathlib.Path(__file__).absolute().parent  # not where a link leads


def torch_folder() -> pathlib.Path:
    """Where torch lies, found without importing it: that takes seconds and, where drivers are missing, may fail."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        sys.exit(
            f"ronde is compiled against torch ({TORCH_MINIMUM[0]}.{TORCH_MINIMUM[1]} or newer), and {sys.executable} "
            "has none: install torch first, then ronde by 'pip install --no-build-isolation .' (isolation hides torch)"
        )
    version = importlib.metadata.version("torch")
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < TORCH_MINIMUM:
        sys.exit(
            f"ronde needs torch {TORCH_MINIMUM[0]}.{TORCH_MINIMUM[1]} or newer, and {sys.executable} has {version}"
        )
    return pathlib.Path(found.origin).parent


TORCH = torch_folder()  # before anything else: nothing works without it

from setuptools import Extension, find_namespace_packages, setup  # noqa: E402
from setuptools.command.build_ext import build_ext  # noqa: E402


def version() -> str:
    return re.search(r"project\(ronde VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


class BuildByCMake(build_ext):
    """Compiles the engine and the program, and puts them into the package."""

    def run(self) -> None:
        given = os.environ.get("RONDE__BUILD_DIR")
        build = pathlib.Path(given) if given else ROOT / "build" / "pip" / "cmake"
        if not given:
            self.configure(build)
            self.call("cmake", "--build", build, "--target", *self.targets(build))
        package = ROOT / "python" / "ronde" if self.inplace else pathlib.Path(self.build_lib) / "ronde"
        for name in ("_core", "_tune"):
            self.put(self.only(build / "python" / "ronde", f"{name}.*.so"), package)
        for file in (*(build / name for name in PROGRAMS), *build.glob("ronde-mpi-*.so")):
            self.put(file, package / "bin")

    def configure(self, build: pathlib.Path) -> None:
        for tool in ("cmake", "ninja"):
            if shutil.which(tool) is None:
                sys.exit(
                    f"ronde is built by CMake (3.25 or newer) and ninja, and there is no '{tool}': install it first"
                )
        settings = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_PREFIX_PATH": ";".join(filter(None, [str(TORCH / "share" / "cmake"), *self.other_prefixes()])),
            "Python_EXECUTABLE": sys.executable,
            "RONDE_TESTS": "OFF",
        }
        flags = [f"-D{name}={value}" for name, value in settings.items()]
        self.call("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *flags, *os.environ.get("CMAKE_ARGS", "").split())

    @staticmethod
    def other_prefixes() -> list[str]:
        return os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep)

    @staticmethod
    def targets(build: pathlib.Path) -> list[str]:
        """The modules, the programs, and a plugin for each MPI library that was found."""
        known = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True).stdout
        plugins = sorted(set(re.findall(r"^(ronde-mpi-\w+):", known, re.MULTILINE)))
        return ["ronde_python", "ronde_tune_python", *PROGRAMS, *plugins]

    @staticmethod
    def call(*command: object) -> None:
        done = subprocess.run([str(word) for word in command])
        if done.returncode != 0:
            sys.exit(f"'{' '.join(map(str, command[:2]))} ...' failed: the first error above says why")

    @staticmethod
    def only(folder: pathlib.Path, pattern: str) -> pathlib.Path:
        suffix = pattern.replace("*", importlib.machinery.EXTENSION_SUFFIXES[0].split(".")[1])
        found = sorted(folder.glob(suffix))
        if not found:
            sys.exit(f"{folder} has no module for {sys.executable}: was it configured for another Python?")
        return found[0]

    @staticmethod
    def put(file: pathlib.Path, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, folder / file.name)

    def get_outputs(self) -> list[str]:
        package = pathlib.Path(self.build_lib) / "ronde"
        return [str(file) for file in (*package.glob("_[ct]*.so"), *package.glob("bin/*"))]


(ROOT / "build" / "pip").mkdir(parents=True, exist_ok=True)
setup(
    version=version(),
    packages=find_namespace_packages("python", include=["ronde", "ronde.*"], exclude=["*.__pycache__", "*.bin"]),
    package_dir={"": "python"},
    package_data={"": ["*.pyi", "py.typed"], "ronde.shim": ["*.dist-info/METADATA"]},
    ext_modules=[Extension("ronde._core", sources=[])],
    cmdclass={"build_ext": BuildByCMake},
    # Beside CMake's folders, and not among the sources.
    options={"build": {"build_base": "build/pip"}, "egg_info": {"egg_base": "build/pip"}},
    zip_safe=False,
)
