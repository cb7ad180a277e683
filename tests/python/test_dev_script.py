"""./ronde-dev on machines where something is missing: one clear sentence, exit code 2."""

import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT


@pytest.fixture
def stubs(tmp_path) -> pathlib.Path:
    """A folder for the front of the path, to put programs into that answer as another machine would."""
    folder = tmp_path / "stubs"
    folder.mkdir()
    return folder


def put(folder: pathlib.Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def bash(script: str, path: str, cwd=ROOT) -> subprocess.CompletedProcess:
    """Runs a piece of bash with the functions of tools/dev, under the same rules as ./ronde-dev."""
    sources = "".join(f"source {ROOT}/tools/dev/{name}.sh; " for name in ("say", "setup", "build", "test"))
    command = ["/bin/bash", "-c", f"set -euo pipefail; {sources} {script}"]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ | {"PATH": path})


def test_packages_that_dpkg_has_never_heard_of_are_missing(stubs):
    put(stubs, "dpkg-query", "echo 'g++ installed'; echo 'cmake config-files'; echo 'no package found' >&2; exit 1")
    missing = bash('missing_packages "${apt_packages[@]}"', f"{stubs}:{os.environ['PATH']}").stdout.split()
    assert "g++" not in missing
    assert {"cmake", "ninja-build", "libhwloc-dev"} <= set(missing)


@pytest.mark.parametrize("tools_there", [True, False])
def test_neither_root_nor_sudo(stubs, tools_there):
    for name in ("cat", "sed", "grep", "printf", "mktemp"):
        (stubs / name).symlink_to(shutil.which(name))
    put(stubs, "dpkg-query", "exit 1")
    put(stubs, "id", "echo 1000")
    put(stubs, "apt-get", "echo apt-get must not run; exit 1")
    for name in ("g++", "cmake", "ninja", "python3") if tools_there else ("python3",):
        put(stubs, name, "exit 0")
    done = bash("set_up_system", str(stubs))
    assert "apt-get must not run" not in done.stdout + done.stderr
    if tools_there:
        assert done.returncode == 0
        assert "libtomlplusplus-dev" in done.stdout
    else:
        assert done.returncode == 2
        assert "libtomlplusplus-dev" in done.stderr and "no sudo" in done.stderr


@pytest.mark.parametrize(("user", "apt"), [("0", "exit 0"), ("0", "echo no network; exit 1"), ("1000", "exit 0")])
def test_what_only_tests_need_stops_nobody(stubs, tmp_path, user, apt):
    put(stubs, "dpkg-query", "echo 'munge installed'")
    put(stubs, "id", f"echo {user}")
    put(stubs, "apt-get", f'echo "$@" >>{tmp_path}/apt; {apt}')
    put(stubs, "sudo", f"touch {tmp_path}/sudo")
    done = bash("set_up_tests", f"{stubs}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert "slurm-wlm" in done.stdout and "munge" not in done.stdout
    assert not (tmp_path / "sudo").exists()
    assert (tmp_path / "apt").exists() == (user == "0")
    assert ("skipped" in done.stdout) == (user != "0" or apt != "exit 0")
    assert ("no network" in done.stderr) == (apt != "exit 0")


LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"


def test_apt_that_another_process_uses_is_waited_for(stubs, tmp_path):
    put(stubs, "dpkg-query", "echo 'munge installed'")
    put(stubs, "id", "echo 0")
    (tmp_path / "locked").write_text("2")  # attempts
    left = f"{tmp_path}/locked"
    put(
        stubs,
        "apt-get",
        f'n=$(cat {left}); echo "$1" >>{tmp_path}/apt; [ $n -gt 0 ] || exit 0\n'
        f"echo $((n - 1)) >{left}; echo '{LOCKED}' >&2; exit 100",
    )
    done = bash("apt_pause=1; set_up_tests; name_skipped", f"{stubs}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "apt").read_text().split() == ["update", "update", "update", "install"]
    assert done.stdout.count("Another process uses apt: waiting for it") == 1
    assert "kipped" not in done.stdout


def test_the_wait_for_apt_ends_and_what_is_skipped_comes_last(stubs):
    put(stubs, "dpkg-query", "echo 'munge installed'")
    put(stubs, "id", "echo 0")
    put(stubs, "apt-get", f"echo '{LOCKED}' >&2; exit 100")
    script = "apt_pause=1 apt_timeout=2; set_up_tests; echo the tests run; name_skipped"
    done = bash(script, f"{stubs}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert "held by process 7" in done.stderr
    last = done.stdout.split("the tests run\n")[1].splitlines()
    assert last[0] == "Skipped:"
    assert last[1].startswith("    apt-get failed, see above: some tests are skipped without mpich slurm-wlm ")


# What ctest logs of tests with a process each, and of a whole program under test_program.sh.
CTEST_LOG = """\
1/4 Testing: comm.Nccl.Sums
[ RUN      ] Nccl.Sums
[  SKIPPED ] Nccl.Sums (0 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Nccl.Sums
<end of output>
2/4 Testing: data.Pack.Reads
[ RUN      ] Pack.Reads
[       OK ] Pack.Reads (1 ms)
<end of output>
3/4 Testing: models.1-of-2
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Gpu.Copies
<end of output>
"""
FAILURES = """\
4/4 Testing: data.Pack.Ends
[ RUN      ] Pack.Ends
<end of output>
3/4 Testing: models.2-of-2
[  FAILED  ] All/Net.Learns/3, where GetParam() = 3 (5 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] All/Net.Learns/3, where GetParam() = 3
<end of output>
"""


NOTHING_BUILT = "set_up() { :; }; set_up_tests() { :; }; build() { echo built $*; };"


@pytest.mark.parametrize("code", [0, 8])
def test_skipped_and_failed_tests_are_the_last_lines_of_a_run(stubs, tmp_path, code):
    folder = tmp_path / "build/release/Testing/Temporary"
    folder.mkdir(parents=True)
    (tmp_path / "log").write_text(CTEST_LOG + (FAILURES if code else ""))
    put(stubs, "ctest", f"cp {tmp_path}/log {folder}/LastTest.log; exit {code}")
    done = bash(
        f"{NOTHING_BUILT} python() {{ echo 9 passed; }}; skip_group 'no slurm here'; test_all release",
        f"{stubs}:{os.environ['PATH']}",
        cwd=tmp_path,
    )
    assert done.returncode == code, done.stderr
    assert ("pytest" in done.stdout) == (code == 0)
    failed = ["Failed:", "    C++ tests: data.Pack.Ends models.All/Net.Learns/3"] if code else []
    skipped = ["Skipped:", "    no slurm here", "    C++ tests: comm.Nccl (1), models.Gpu (1)"]
    assert done.stdout.splitlines()[-len(failed + skipped) :] == failed + skipped


def test_what_is_built_and_run_by_tier(stubs, tmp_path):
    def lines(command: str) -> list[str]:
        put(stubs, "ctest", "echo ctest $*")
        put(stubs, "nproc", "echo 2")
        script = f'{NOTHING_BUILT} python() {{ echo python "$@"; }}; {command}'
        done = bash(script, f"{stubs}:{os.environ['PATH']}", cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if not line.startswith("==>")]

    everything = ["built release", "ctest --preset release --parallel 2", "python -m pytest -q -rs tests/python"]
    assert lines("test_all") == lines("test_all release") == everything
    comm = lines("test_all asan comm base")
    assert comm[0] == "built asan src/comm/all src/base/all"
    assert comm[1:] == [r"ctest --preset asan --parallel 2 --tests-regex ^(comm|base)\."]
    built, units, programs = lines("test_fast dev")
    assert "src/comm/all" in built and "src/train/all" not in built
    assert units.startswith("ctest --preset dev") and "train" not in units
    files = programs.split()[5:]
    assert "tests/python/test_cli.py" in files and all((ROOT / file).exists() for file in files)


NINJA = """\
rule regenerate
  command = touch $out
  generator = 1
rule make
  command = touch $out
build build.ninja: regenerate list
build a: make
build b: make a
build c: make
"""


def test_a_build_says_what_it_will_take(tmp_path):
    (tmp_path / "build.ninja").write_text(NINJA)
    (tmp_path / "list").touch()
    os.utime(tmp_path / "build.ninja", (1, 1))  # as if a list of sources had changed since

    def says(*targets: str) -> str:
        return bash(f"building_takes {tmp_path} {' '.join(targets)}", os.environ["PATH"]).stdout.strip()

    assert says("a", "b").startswith("2 steps, at most about 1 min on ")
    assert says().startswith("3 steps, ")
    for name in "abc":
        (tmp_path / name).touch()
    subprocess.run(["ninja", "-C", tmp_path], check=True, capture_output=True)
    assert says() == "nothing has changed"


def test_a_build_can_count_its_steps(build_dir):
    """With a GLOB that CMake looks at before each build, ninja's dry run ends there: two steps, whatever is to come."""
    assert not (build_dir / "CMakeFiles/VerifyGlobs.cmake").exists(), "file(GLOB ... CONFIGURE_DEPENDS) somewhere"


# How a GoogleTest program ends, and what test_program.sh says of it.
@pytest.mark.parametrize(
    ("end", "code", "says"),
    [
        ("echo '[       OK ] A.Ends (1 ms)'; echo '[  PASSED  ] 2 tests.'", 0, "[  PASSED  ] 2 tests."),
        ("echo '[  FAILED  ] A.Ends (1 ms)'; exit 1", 1, "why\n[  FAILED  ] A.Ends (1 ms)"),
        ("echo '[  SKIPPED ] A.Ends (0 ms)'", 0, "why\n[  SKIPPED ] A.Ends (0 ms)"),
        ("exit 0", 1, "why\n\n[  FAILED  ] A.Ends did not end"),
        ("kill -SEGV $$", 139, "A.Ends did not end\n{program} ended with signal 11, SIGSEGV"),
        ("sleep 100", 124, "A.Ends did not end\n{program} was stopped after 1 s"),
    ],
)
def test_a_whole_program_tells_of_tests_that_do_not_pass(tmp_path, end, code, says):
    quiet = "echo '[ RUN      ] A.Passes'; echo noise; echo '[       OK ] A.Passes (0 ms)'"
    put(tmp_path, "program", f"{quiet}\necho '[ RUN      ] A.Ends'; echo why\n{end}")
    program = str(tmp_path / "program")
    done = subprocess.run([ROOT / "tools/dev/test_program.sh", "1", program], capture_output=True, text=True)
    assert done.returncode == code
    assert says.format(program=program) in done.stdout
    assert "noise" not in done.stdout and ("why" in done.stdout) == ("PASSED" not in says)


def test_a_python_without_venv_leaves_nothing_half_made(stubs, tmp_path):
    put(stubs, "python3", "mkdir -p .venv/bin; touch .venv/bin/python; chmod +x .venv/bin/python; exit 1")
    done = bash("set_up_python", f"{stubs}:{os.environ['PATH']}", cwd=tmp_path)
    assert done.returncode == 2
    assert "python3-venv" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_an_active_torch_that_is_too_old_is_named(stubs, tmp_path):
    site = tmp_path / "site"
    (site / "torch").mkdir(parents=True)
    (site / "torch" / "__init__.py").write_text("")
    (site / "torch-2.1.0.dist-info").mkdir()
    (site / "torch-2.1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.1.0\n")
    put(stubs, "python3", f'PYTHONPATH={site} exec {shutil.which("python3")} "$@"')
    done = bash('torch_of python3 || echo "problem: $torch_problem"', f"{stubs}:{os.environ['PATH']}")
    assert done.stdout == "problem: too old: torch 2.1, and 2.6 is needed\n"


@pytest.fixture
def tree(tmp_path) -> pathlib.Path:
    """A copy of the sources whose Python environment is already there, so that nothing is downloaded."""
    copy = tmp_path / "tree"
    copy.mkdir()
    for name in ("CMakeLists.txt", "CMakePresets.json", "cmake", "src", "tools", "ronde-dev"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
    (copy / ".venv").mkdir()
    for entry in (ROOT / ".venv").iterdir():
        if entry.name != ".ronde-torch":
            (copy / ".venv" / entry.name).symlink_to(entry)
    return copy


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("set(Torch_FOUND TRUE)", "is version 2.1.0; ronde needs 2.6 or newer"),
        ("", "libtorch (>= 2.6) is missing"),
    ],
)
def test_a_libtorch_that_will_not_do(tree, tmp_path, config, sentence):
    package = tmp_path / "libtorch" / "share" / "cmake" / "Torch"
    package.mkdir(parents=True)
    (package / "TorchConfig.cmake").write_text(config or "set(Torch_FOUND FALSE)")
    (package / "TorchConfigVersion.cmake").write_text(
        "set(PACKAGE_VERSION 2.1.0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)"
    )
    env = os.environ | {"CMAKE_PREFIX_PATH": str(tmp_path / "libtorch")}
    done = subprocess.run(["./ronde-dev", "build"], cwd=tree, capture_output=True, text=True, env=env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["build", "fast"],
        ["test", "fast", "dev", "comm"],
        ["build", "sanitized"],
        ["exec"],
        ["demo", "more"],
    ],
)
def test_wrong_use(arguments):
    done = subprocess.run(["./ronde-dev", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "./ronde-dev help" in done.stderr


def test_locks_are_not_checked_without_clang(stubs):
    done = bash("locks", str(stubs))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Not checking locks: there is no clang (Debian: clang-14)."
