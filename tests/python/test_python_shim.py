"""Programs that say `import horovod.torch` run as they are."""

import json

import pytest
from conftest import ROOT

pytest_plugins = ["job_fixtures", "python_fixtures"]

SAME = """
import horovod, horovod.torch as hvd, ronde.torch, sys
assert hvd is ronde.torch and horovod.torch is ronde.torch
assert sys.modules["horovod.torch"].__spec__.name == "ronde.torch"
from horovod.torch.mpi_ops import allreduce, rank, is_homogeneous
from horovod.torch.compression import Compression
from horovod.torch.functions import broadcast_object
from horovod.torch.optimizer import DistributedOptimizer
from horovod.torch.sync_batch_norm import SyncBatchNorm
from horovod.torch.elastic import run, TorchState, ElasticSampler
from horovod.torch.elastic.state import get_handler_registry
from horovod.common.elastic import ObjectState, run_fn
from horovod.common.util import env
from horovod.common.process_sets import ProcessSet
from horovod.common.exceptions import HorovodInternalError
import horovod.torch.elastic, horovod.runner
from horovod.common.util import is_version_greater_equal_than
from horovod.runner.elastic.worker import HostUpdateResult
from horovod.torch.mpi_ops import _basics
assert HostUpdateResult.mixed == HostUpdateResult.added | HostUpdateResult.removed and _basics.gloo_built()
assert is_version_greater_equal_than("2.13.0+cpu", "2.9.1") and not is_version_greater_equal_than("2.9.0", "2.9.1")
assert HorovodInternalError is ronde.torch.HorovodInternalError is hvd.HorovodInternalError
assert ProcessSet is ronde.torch.ProcessSet and issubclass(HorovodInternalError, RuntimeError)
assert horovod.__version__ == "0.28.1" and horovod.ronde_version and horovod.run is horovod.runner.run
import importlib.util
import importlib.metadata
assert importlib.metadata.version("horovod") == "0.28.1" and importlib.util.find_spec("horovod.tensorflow")
from horovod.common.basics import HorovodBasics
assert HorovodBasics().gloo_built()
assert importlib.util.find_spec("horovod.torch") and importlib.util.find_spec("horovod.torch.nothing") is None
for name in ("tensorflow", "keras", "mxnet", "spark", "ray", "tensorflow.keras"):
    try:
        importlib.import_module(f"horovod.{name}")
    except ImportError as error:
        assert "horovod.torch" in str(error) and "\\n" not in str(error), error
    else:
        raise AssertionError(name)
hvd.init()
print(hvd.rank(), hvd.size())
hvd.shutdown()
"""

WORDS = """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "name": __name__, "path": sys.path[0], "file": __file__,
                  "horovod": {k: v for k, v in os.environ.items() if k.startswith("HOROVOD_")}}))
"""


def test_the_modules_are_the_same(python, tmp_path):
    (tmp_path / "same.py").write_text(SAME)
    done = python("-W", "error::ImportWarning", "-m", "ronde.horovod", "same.py")
    assert (done.returncode, done.stdout) == (0, "0 1\n"), done.stderr


def test_without_it_there_is_no_horovod(python):
    assert python("-c", "import ronde, horovod").returncode != 0


def test_arguments_as_python_takes_them(python, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "words.py").write_text(WORDS)
    for words in (["folder/words.py"], ["-m", "folder.words"]):
        done = python("-m", "ronde.horovod", *words, "-x", "--np", "3")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["argv"] == ["-x", "--np", "3"] and told["name"] == "__main__"
        assert told["path"] in (str(tmp_path / "folder"), str(tmp_path), "")
        assert told["horovod"]["HOROVOD_SIZE"] == "1" and told["horovod"]["HOROVOD_CROSS_RANK"] == "0"
    assert python("-m", "ronde.horovod", "-c", "import horovod.torch").returncode == 0
    nothing = python("-m", "ronde.horovod")
    assert nothing.returncode == 1 and nothing.stderr.startswith("usage:")


SLURM = {"SLURM_PROCID": "4", "SLURM_LOCALID": "0", "SLURM_NODEID": "2", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, "0 1 0 1 0 1"),
        (
            {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "1"},
            "3 4 1 2 1 2",
        ),
        (
            {
                "OMPI_COMM_WORLD_" + k: v
                for k, v in zip(("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"), "5623", strict=True)
            },
            "5 6 2 3 1 2",
        ),
        (SLURM | {"PMI_RANK": "4"}, "4 5 0 1 2 3"),
        (SLURM, "0 1 0 1 0 1"),  # a batch script: one process
        ({"HOROVOD_RANK": "1", "RANK": "0"}, ""),  # was told already
    ],
)
def test_launchers_are_understood(told, expected, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "python")
    from ronde.horovod import horovod_variables

    found = horovod_variables(told)
    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
    assert " ".join(found[f"HOROVOD_{name}"] for name in names if found) == expected


def test_children_see_it_too(python, tmp_path):
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import horovod; print(horovod.__version__)'])"
    )
    assert python("-m", "ronde.horovod", "parent.py").stdout == "0.28.1\n"


def test_the_shim_alone_finds_the_rest(python, package):
    done = python("-c", "import horovod.common.util", env={"PYTHONPATH": str(package / "ronde" / "shim")})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("launcher", ["ronde", "mpirun"])
def test_ranks_know_who_they_are(python_job, tmp_path, launcher):
    (tmp_path / "who.py").write_text(
        "import os, horovod.torch as hvd\nhvd.init()\n"
        "assert [hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()] == ["
        "int(os.environ['HOROVOD_' + n]) for n in 'RANK SIZE LOCAL_RANK LOCAL_SIZE CROSS_RANK CROSS_SIZE'.split()]\n"
        "assert hvd.allgather_object(hvd.rank()) == [0, 1]\n"
    )
    done = python_job(2, "-m", "ronde.horovod", "who.py", launcher=launcher)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def with_horovod_flag(ronde):
    if "--horovod " not in ronde("run", "--help").stdout:
        pytest.skip("this 'ronde run' has no --horovod")


RUN = """
import sys
import horovod

def where(word, more=0):
    import horovod.torch as hvd
    hvd.init()
    if word == "fail" and hvd.rank() == 1:
        raise KeyError("on purpose")
    total = hvd.allreduce(__import__("torch").ones(1), op=hvd.Sum).item()
    return word, hvd.rank() + more, total

if __name__ == "__main__":
    assert horovod.run(where, args=("x",), kwargs={"more": 10}, num_proc=2) == [("x", 10, 2.0), ("x", 11, 2.0)]
    try:
        horovod.run(where, ("fail",), np=2, use_gloo=True)
    except RuntimeError as error:
        assert "rank 1" in str(error) and "on purpose" in str(error), error
    else:
        raise AssertionError("it failed, and nothing was said")
    print("done")
"""


def test_run_from_python(python, tmp_path, with_horovod_flag):
    (tmp_path / "run.py").write_text(RUN)
    done = python("-m", "ronde.horovod", "run.py")
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr
    assert not list(tmp_path.glob(".ronde-run-*"))
