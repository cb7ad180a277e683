"""pip install . into an environment of its own, with what is built already."""

import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest
from conftest import ROOT

pytest_plugins = ["job_fixtures", "python_fixtures"]


@pytest.fixture(scope="module")
def venv(tmp_path_factory) -> pathlib.Path:
    """An environment that sees this one's packages, torch among them, and into which pip may put things."""
    folder = tmp_path_factory.mktemp("install") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def pip(venv: pathlib.Path, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess:
    command = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, cwd=ROOT)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> pathlib.Path:
    """The sources, elsewhere: pip writes beside them."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("CMakeLists.txt", "README.md", "pyproject.toml", "setup.py", "python"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def test_installed_it_works_on_two_ranks(venv, source, build_dir, package, package_env, tmp_path):
    env = {name: value for name, value in package_env.items() if name != "PYTHONPATH"}
    words = ("install", "--no-build-isolation", "--no-index", "--no-deps", str(source))
    done = pip(venv, *words, env=env | {"RONDE__BUILD_DIR": str(build_dir)})
    assert done.returncode == 0, done.stdout + done.stderr
    site = next(venv.glob("lib/python*/site-packages"))
    assert (site / "ronde" / "bin" / "ronde").exists() and (
        site / "ronde" / "shim" / "horovod" / "__init__.py"
    ).exists()
    assert (site / "ronde" / "py.typed").exists() and not list(site.glob("ronde/**/CMakeLists.txt"))
    (tmp_path / "job.py").write_text(
        "import ronde, ronde.torch as hvd\nhvd.init()\n"
        f"assert ronde.__file__.startswith({str(site)!r}), ronde.__file__\n"
        "print(hvd.allgather_object(hvd.rank()))\n"
    )
    program = [venv / "bin" / "ronde", "run", "--log-level", "error", "-n", "2", venv / "bin" / "python", "job.py"]
    job = subprocess.run(program, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert sorted(job.stdout.splitlines()) == ["[0] [0, 1]", "[1] [0, 1]"], job.stderr
    # torch finds the backend by itself.
    (tmp_path / "job.py").write_text(
        "import torch, torch.distributed as dist\ndist.init_process_group('ronde')\none = torch.ones(1)\n"
        "dist.all_reduce(one)\nprint(int(one))\ndist.destroy_process_group()\n"
    )
    job = subprocess.run(program, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert sorted(job.stdout.splitlines()) == ["[0] 2", "[1] 2"], job.stderr


def test_without_torch_one_sentence_says_so(tmp_path, clean_env):
    """The Python is one that has setuptools and nothing else."""
    import setuptools

    (tmp_path / "site").mkdir()
    for name in ("setuptools", "pkg_resources", "_distutils_hack"):
        there = pathlib.Path(setuptools.__file__).parent.parent / name
        if there.exists():
            (tmp_path / "site" / name).symlink_to(there)
    env = clean_env | {"PYTHONPATH": str(tmp_path / "site")}
    for variables in (env, env | {"RONDE__BUILD_DIR": "/nonexistent"}):
        done = subprocess.run(
            [os.path.realpath(sys.executable), "-s", ROOT / "setup.py", "build"],
            env=variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0 or "has none" not in done.stderr:
            pytest.skip("the Python under this environment has a torch of its own")
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert "install torch first" in done.stderr and "--no-build-isolation" in done.stderr
