"""`ronde train --plugin libmine.so`: examples/plugin, built against an installed Ronde as a user would."""

import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT

FEW = ("--train-epochs", "2", "--train-device", "cpu")


@pytest.fixture(scope="module")
def prefix(build_dir, tmp_path_factory):
    if "RONDE_TORCH:BOOL=OFF" in (build_dir / "CMakeCache.txt").read_text():
        pytest.skip("this build has no libtorch")
    folder = tmp_path_factory.mktemp("install")
    subprocess.run(["cmake", "--install", build_dir, "--prefix", folder], check=True, capture_output=True)
    return folder


def configure(source: pathlib.Path, build: pathlib.Path, prefix: pathlib.Path) -> subprocess.CompletedProcess:
    command = ["cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def plugin(prefix, tmp_path_factory):
    build = tmp_path_factory.mktemp("plugin")
    done = configure(ROOT / "examples" / "plugin", build, prefix)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["cmake", "--build", build], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return build / "libmine.so"


@pytest.fixture
def mine(prefix, plugin, clean_env, tmp_path):
    """mine("train", ...): the installed program with the plugin; ranks=2: on so many."""

    def run(*words, ranks=0, plugins=plugin) -> subprocess.CompletedProcess:
        program = prefix / "bin" / "ronde"
        start = [program, "--log-level", "info", "run", "-n", str(ranks)] if ranks else []
        command = [*start, program, *words, *(("--plugin", plugins) if plugins else ())]
        return subprocess.run(command, env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run


RECIPE = ROOT / "examples" / "plugin" / "mine.toml"


def test_a_training_of_the_plugin_goes_on_and_is_evaluated(mine, tmp_path):
    begun = mine("train", RECIPE, *FEW, "--train-steps", "20", ranks=2)
    assert begun.returncode == 0, begun.stderr
    job = mine("train", RECIPE, *FEW, "--trace-dir", "trace", ranks=2)
    assert job.returncode == 0, job.stderr
    assert "continues after step 20" in job.stderr, job.stderr
    found = mine("eval", "ronde-output/mine", ranks=2)
    assert found.returncode == 0 and ", accuracy " in found.stdout, found.stderr
    alone = mine("eval", "ronde-output/mine", plugins=None)
    assert alone.returncode == 2
    assert "was trained with a plugin: add --plugin " in alone.stderr, alone.stderr
    report = mine("report", "trace", plugins=None)
    assert report.returncode == 0, report.stderr


@pytest.mark.learning
def test_the_network_of_the_plugin_learns(mine):
    job = mine("train", RECIPE, "--train-device", "cpu")
    assert job.returncode == 0, job.stderr
    found = mine("eval", "ronde-output/mine")
    accuracy = float(found.stdout.partition("accuracy ")[2].partition("%")[0])
    assert accuracy > 90, found.stdout


def test_limits_and_benchmarks_know_it(mine):
    limits = mine("limits", RECIPE)
    assert limits.returncode == 0, limits.stderr
    assert limits.stdout.startswith("rings: 4482 parameters, 2 inputs"), limits.stdout
    bench = mine(
        "bench", "train", "-n", "2", "--model", "rings", "--data-name", "spirals", "--train-loss", "hard",
        "--turns", "1",
    )  # fmt: skip
    assert bench.returncode == 0, bench.stderr
    assert "rings" in bench.stdout


def test_names_that_nobody_registered(mine):
    for flags, sentence in (
        (("--model-name", "ring"), "unknown model 'ring' (did you mean rings?)"),
        (("--data-augment", "jiter"), "data.augment is 'jiter', which no plugin has registered (did you mean jitter?)"),
        (
            ("--train-loss", "hart"),
            "train.loss is 'hart': there is no such loss (did you mean hard?); there are focal, dice",
        ),
        (("--optimizer-name", "lions"), "there is no such optimizer (did you mean lion?)"),
        (("--optimizer-nesterov", "true"), "lion does not read it"),
    ):
        job = mine("train", RECIPE, *flags)
        assert job.returncode == 2 and sentence in job.stderr, job.stderr
    none = mine("train", RECIPE, plugins=None)
    assert none.returncode == 2 and "there is no such optimizer" in none.stderr, none.stderr


def test_a_plugin_of_another_build_is_refused_in_a_sentence(mine, plugin, tmp_path):
    def changed(name: str, old: bytes, new: bytes) -> pathlib.Path:
        file = tmp_path / name
        data = plugin.read_bytes()
        at = data.index(b"ronde plugin built with: ")
        place = data.index(old, at)
        file.write_bytes(data[:place] + new + data[place + len(old) :])
        return file

    for name, old, new in (("other.so", b"ronde 0.", b"ronde 9."), ("torch.so", b"libtorch 2.", b"libtorch 1.")):
        job = mine("train", RECIPE, plugins=changed(name, old, new))
        assert job.returncode == 2, job.stderr
        assert job.stderr.count("\n") == 1 and f"{name} was built with ronde" in job.stderr, job.stderr
        assert new.decode() in job.stderr and job.stderr.endswith(": build it again\n"), job.stderr
    twice = shutil.copy(plugin, tmp_path / "copy.so")
    job = mine("train", RECIPE, plugins=f"{plugin},{twice}")
    assert job.returncode == 2 and "there are two entries for the model 'rings'" in job.stderr, job.stderr


def test_cmake_names_the_component_that_is_missing(prefix, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "main.cc").write_text("int main() {}\n")
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(forgot LANGUAGES CXX)\nfind_package(ronde REQUIRED)\n"
        "add_executable(forgot main.cc)\ntarget_link_libraries(forgot PRIVATE ronde::train)\n"
    )
    done = configure(source, tmp_path / "build", prefix)
    assert done.returncode != 0
    assert "the_component_train_is_missing_in_find_package_ronde_COMPONENTS" in done.stderr, done.stderr
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(forgot LANGUAGES CXX)\nfind_package(ronde REQUIRED)\n"
        "ronde_add_plugin(forgot main.cc)\n"
    )
    done = configure(source, tmp_path / "other", prefix)
    assert done.returncode != 0 and "COMPONENTS train" in done.stderr, done.stderr
