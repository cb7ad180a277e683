"""libtorch exports a std::filesystem of its own: no call of our programs may end up there."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT

# "binding file A [0] to B [0]: normal symbol `_ZNSt10filesystem..." with both spellings of the namespace's name.
BOUND = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(_ZN?K?S?t?\w*10filesystem\w*)'")


def bound(words: list, folder: pathlib.Path, env: dict[str, str]) -> dict[str, set[str]]:
    """To which libraries the calls of std::filesystem in a program's own file go: {library: names}."""
    log = folder / "bindings"
    env = env | {"LD_DEBUG": "bindings", "LD_BIND_NOW": "1", "LD_DEBUG_OUTPUT": str(log)}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, set[str]] = {}
    for file in folder.glob("bindings.*"):
        for line in file.open(errors="replace"):
            if "10filesystem" in line and (match := BOUND.search(line)):
                source, target, symbol = match.groups()
                if pathlib.Path(source).name == pathlib.Path(str(words[0])).name or "_core" in source:
                    found.setdefault(pathlib.Path(target).name, set()).add(symbol)
        file.unlink()
    return found


def of_libtorch(found: dict[str, set[str]]) -> dict[str, set[str]]:
    return {library: names for library, names in found.items() if "torch" in library or "c10" in library}


def torch_is_loaded(program: pathlib.Path) -> bool:
    return "libtorch_cpu" in subprocess.run(["ldd", program], capture_output=True, text=True).stdout


PROGRAMS = [("ronde-train", "--version"), ("ronde-bench", "--version"), ("train_test", "--gtest_list_tests")]


@pytest.mark.parametrize("words", PROGRAMS, ids=lambda words: words[0])
def test_programs_with_libtorch(words, build_dir, clean_env, tmp_path):
    program = build_dir / words[0]
    assert torch_is_loaded(program), "without libtorch nothing can end up there, and this test shows nothing"
    found = bound([program, *words[1:]], tmp_path, clean_env)
    assert not of_libtorch(found)


def test_ronde_itself_loads_no_libtorch(build_dir):
    assert not torch_is_loaded(build_dir / "ronde")


def test_the_python_package(build_dir, clean_env, tmp_path):
    if not list((build_dir / "python/ronde").glob("_core*.so")):
        pytest.skip("the Python module was not built (target ronde_python)")
    env = clean_env | {"PYTHONPATH": str(build_dir / "python")}
    found = bound([sys.executable, "-c", "import ronde._core"], tmp_path, env)
    assert not of_libtorch(found)


PROGRAM = textwrap.dedent("""
    #include <cstdio>
    #include <filesystem>
    #include <fstream>
    extern "C" int aoti_torch_device_type_cpu();
    namespace fs = std::filesystem;
    int main(int, char** words) {
      const fs::path root = fs::path(words[1]) / "tree";
      fs::create_directories(root / "a" / "b" / "c");
      std::ofstream(root / "a" / "b" / "file") << "text";
      int entries = 0;
      for (const auto& entry : fs::recursive_directory_iterator(root)) entries += entry.exists() ? 1 : 0;
      const int removed = static_cast<int>(fs::remove_all(root)), device = aoti_torch_device_type_cpu();
      std::printf("%d entries, %d removed, torch's device %d\\n", entries, removed, device);
    }
""")
PROJECT = textwrap.dedent("""
    cmake_minimum_required(VERSION 3.25)
    project(probe CXX)
    set(CMAKE_CXX_STANDARD 20)
    include({root}/cmake/own_filesystem.cmake)
    add_executable(probe probe.cc)
    target_link_libraries(probe PRIVATE {torch}/libtorch_cpu.so)
    if(OWN)
      bind_own_filesystem(probe PRIVATE)
    endif()
""")


@pytest.fixture
def probe(tmp_path, clean_env):
    """Builds a program against libtorch with these flags and without a shared C++ library, as some compilers do."""
    found = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.__path__[0])"], capture_output=True, text=True
    )
    torch = pathlib.Path(found.stdout.strip()) / "lib"
    if not (torch / "libtorch_cpu.so").exists() or not shutil.which("g++"):
        pytest.skip("there is no libtorch_cpu.so, or no g++")
    (tmp_path / "probe.cc").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT, torch=torch))

    def build(flags: str, own: bool) -> dict[str, set[str]]:
        folder = tmp_path / "build"
        shutil.rmtree(folder, ignore_errors=True)
        configure = ["cmake", "-S", tmp_path, "-B", folder, "-G", "Ninja", f"-DOWN={int(own)}"]
        configure += ["-DCMAKE_CXX_COMPILER=g++", f"-DCMAKE_EXE_LINKER_FLAGS={flags}"]
        for words in (configure, ["cmake", "--build", folder]):
            done = subprocess.run(words, env=clean_env, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        if not own:  # what it would call is enough to know: it may crash
            listed = subprocess.run(["nm", "-DC", "--undefined-only", folder / "probe"], capture_output=True, text=True)
            return {"undefined": set(re.findall(r"U (std::filesystem::.*)", listed.stdout))}
        return bound([folder / "probe", tmp_path], tmp_path, clean_env)

    return build


LINKERS = [name for name in ("bfd", "mold") if shutil.which(f"ld.{name}")]


@pytest.mark.parametrize("linker", LINKERS)
def test_a_compiler_that_links_the_cxx_library_statically(probe, linker):
    flags = f"-fuse-ld={linker} -static-libstdc++"
    assert any("remove_all" in name for name in probe(flags, own=False)["undefined"]), "this libtorch has none: no test"
    assert not of_libtorch(probe(flags, own=True))


@pytest.mark.parametrize("linker", LINKERS)
def test_a_compiler_with_a_shared_cxx_library(probe, linker):
    found = probe(f"-fuse-ld={linker}", own=True)
    assert "libstdc++.so.6" in found, "what binds is seen"
    assert not of_libtorch(found)


def test_a_static_library_without_its_parts_is_refused(tmp_path, clean_env):
    (tmp_path / "CMakeLists.txt").write_text(
        textwrap.dedent(f"""
            cmake_minimum_required(VERSION 3.25)
            project(probe CXX)
            include({ROOT}/cmake/own_filesystem.cmake)
            set(CMAKE_AR /bin/false)
            extract_filesystem(archive)
        """)
    )
    words = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja"]
    done = subprocess.run(words, env=os.environ | clean_env, capture_output=True, text=True)
    assert done.returncode != 0
    assert "take a compiler that has a shared libstdc++" in " ".join(done.stderr.split())
