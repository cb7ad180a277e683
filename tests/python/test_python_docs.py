"""Every public name of the package says what it is for, shows how, and tells its types. All examples run."""

import ast
import doctest
import importlib
import inspect
import pathlib
import struct
import sys
import tarfile
import types

import pytest
from python_package import ROOT, needs_package

pytest_plugins = ["job_fixtures", "python_fixtures"]
pytestmark = needs_package

MODULES = ("ronde.torch", "ronde.torch.elastic", "ronde.data", "ronde.trace", "ronde.report", "ronde.train")
STUB = ROOT / "python" / "ronde" / "_core.pyi"
CANNOT_RUN = {"ronde.data.bigearthnet", "ronde.data.parquet"}  # a data set of many gigabytes; needs pyarrow


# --- what is public ---------------------------------------------------------------------------------------------------


def stub_functions(node: ast.AST | None = None, prefix: str = "") -> dict[str, ast.FunctionDef]:
    """What _core.pyi says of compiled functions, which carry no annotations: "poll", "trace.span"."""
    found = {}
    for one in (node or ast.parse(STUB.read_text())).body:
        if isinstance(one, ast.ClassDef):
            found |= stub_functions(one, f"{prefix}{one.name}.")
        elif isinstance(one, ast.FunctionDef):
            found[prefix + one.name] = one
    return found


def is_ours(thing) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("ronde")


def members(owner: type) -> dict[str, object]:
    """Public functions, properties and classes of a class, those of its parents too where they are ours."""
    found = {}
    for base in reversed([base for base in owner.__mro__ if is_ours(base)]):
        for name, kept in vars(base).items():
            thing = kept if isinstance(kept, property) else getattr(owner, name)
            if not name.startswith("_") and (
                isinstance(thing, property) or inspect.isroutine(thing) or inspect.isclass(thing)
            ):
                found[name] = thing
    return found


def public(module) -> dict[str, object]:
    """Functions and classes by name, and what classes have: "ronde.torch.ProcessSet.size"."""
    found = {}

    def add(name: str, thing) -> None:
        found[name] = thing
        if inspect.isclass(thing):
            for inner, member in members(thing).items():
                add(f"{name}.{inner}", member)

    for name in module.__all__:
        if callable(getattr(module, name)):
            add(f"{module.__name__}.{name}", getattr(module, name))
    return found


def in_stub(name: str) -> ast.FunctionDef | None:
    _, _, inside = name.partition("ronde.")
    return stub_functions().get(inside) or stub_functions().get(inside.rpartition(".")[2])


def function_of(thing):
    return thing.fget if isinstance(thing, property) else thing


def text_of(name: str, thing) -> str:
    """Its docstring; a compiled function's may stand in the stub."""
    written = in_stub(name) if inspect.isbuiltin(function_of(thing)) else None
    return (written and ast.get_docstring(written)) or inspect.getdoc(thing) or ""


# --- what each must have ----------------------------------------------------------------------------------------------


def without_types(name: str, thing) -> list[str]:
    """Parameters that have no annotation, and "return"."""
    function = function_of(thing)
    if inspect.isbuiltin(function):
        node = in_stub(name)
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        bare = [one.arg for one in every if one and not one.annotation and one.arg != "self"]
        return bare + ([] if node.returns else ["return"])
    if inspect.isclass(thing):
        function = thing.__init__
        if not isinstance(function, types.FunctionType) or not is_ours(function):
            return []
    signature = inspect.signature(function)
    bare = [one.name for one in signature.parameters.values() if one.annotation is one.empty and one.name != "self"]
    return bare + ([] if signature.return_annotation is not signature.empty else ["return"])


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example_and_types(module):
    found = public(importlib.import_module(module))
    lacking = []
    for name, thing in found.items():
        text = text_of(name, thing)
        if not text or (">>>" not in text and not isinstance(thing, property)):
            lacking.append(f"{name} has no {'example' if text else 'docstring'}")
        if bare := without_types(name, thing):
            lacking.append(f"{name} has no types for {', '.join(bare)}")
    assert found and not lacking, "\n".join(lacking)


@pytest.mark.parametrize("module", MODULES)
def test_few_examples_are_left_out(module):
    found = public(importlib.import_module(module))
    assert {name for name, thing in found.items() if "+SKIP" in text_of(name, thing)} <= CANNOT_RUN


# --- the examples -----------------------------------------------------------------------------------------------------


TABLE = "length,width,{}\n5.1,3.5,setosa\n6.2,2.9,virginica\n4.9,3.0,setosa\n"


def write_bytes(file: pathlib.Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


@pytest.fixture
def folder(ronde, tmp_path) -> pathlib.Path:
    """Files that examples read."""
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "iris.csv").write_text(TABLE.format("species"))
    (tmp_path / "table.csv").write_text(TABLE.format("class"))
    converted = {"tfrecord": "tfrecords", "lmdb": "lmdb", "hdf5": "iris.h5", "npy": "arrays", "pack": "packed"}
    for format, name in converted.items():
        done = ronde("data", "convert", "table.csv", f"examples/{name}", "--to", format)
        assert done.returncode == 0, done.stderr
    for name in ("cat/1.png", "dog/1.png"):
        write_bytes(folder / "pictures" / name, b"not looked at")
    for number in range(2):
        write_bytes(tmp_path / f"{number}.jpg", b"not looked at")
        with tarfile.open(folder / f"train-{number:03}.tar", "w") as tar:
            tar.add(tmp_path / f"{number}.jpg", f"{number}.jpg")
    write_bytes(folder / "mnist/train-images-idx3-ubyte", struct.pack(">4I", 0x803, 2, 28, 28) + bytes(2 * 28 * 28))
    write_bytes(folder / "mnist/train-labels-idx1-ubyte", struct.pack(">2I", 0x801, 2) + bytes([7, 2]))
    for number in range(1, 6):
        write_bytes(folder / f"cifar-10-batches-bin/data_batch_{number}.bin", bytes(1 + 3 * 32 * 32))
    return folder


def test_the_examples_of_training_run(python, folder):
    modules = ("ronde", "ronde.torch", "ronde.torch.elastic")
    done = python(__file__, str(folder), *modules, env={"HOROVOD_TIMELINE": "DYNAMIC"})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_of_data_traces_and_reports_run(python, folder):
    done = python(__file__, str(folder), "ronde.data", "ronde.trace", "ronde.report")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_of_the_trainer_run(python, folder):
    done = python(__file__, str(folder), "ronde.train", "ronde.train.schedules")
    assert done.returncode == 0, done.stdout + done.stderr


def examples_of(module_name: str) -> dict[str, str]:
    module = importlib.import_module(module_name)
    inside = public(module) if hasattr(module, "__all__") else {}
    texts = {name: text_of(name, thing) for name, thing in inside.items()}
    return {module_name: module.__doc__} | texts


def run_examples(folder: pathlib.Path, *modules: str) -> int:
    """How many examples fail; there must be some. They find hvd, torch, folder, and a model with its optimizer."""
    import torch

    import ronde.torch as hvd

    record_steps(folder / "trace")
    hvd.init()
    runner = doctest.DocTestRunner()
    for name, text in [pair for module in modules for pair in examples_of(module).items()]:
        model = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        names = {"hvd": hvd, "torch": torch, "folder": folder, "model": model, "optimizer": optimizer}
        runner.run(doctest.DocTestParser().get_doctest(text, names, name, None, None))
    assert runner.tries > 0
    return runner.summarize().failed


def record_steps(folder: pathlib.Path) -> None:
    import ronde.trace

    with ronde.trace.record(folder):
        for number in range(10):
            ronde.trace.step(number)
            with ronde.trace.span("forward"):
                pass


# --- the stub ---------------------------------------------------------------------------------------------------------


def names_in_stub(node: ast.AST, prefix: str = "") -> set[str]:
    found = set()
    for one in getattr(node, "body", []):
        if isinstance(one, ast.AnnAssign) and prefix.count(".") == 1 and one.target.id.isupper():
            found.add(prefix + one.target.id)
        if isinstance(one, ast.FunctionDef | ast.ClassDef) and not one.name.startswith("_"):
            found |= {prefix + one.name}
            found |= names_in_stub(one, f"{prefix}{one.name}.") if isinstance(one, ast.ClassDef) else set()
    return found


def names_in_module(thing, prefix: str = "") -> set[str]:
    found = set()
    for name, value in vars(thing).items():
        if not name.startswith("_"):
            found |= {prefix + name}
            inside = inspect.ismodule(value) or inspect.isclass(value)
            found |= names_in_module(value, f"{prefix}{name}.") if inside else set()
    return found


def test_the_stub_names_exactly_what_is_compiled():
    import torch  # noqa: F401  (before the engine, which is linked to it)

    from ronde import _core

    written, there = names_in_stub(ast.parse(STUB.read_text())), names_in_module(_core)
    assert not there - written, "_core.pyi lacks these"
    assert not written - there, "_core.pyi has these, and the module does not"


if __name__ == "__main__":
    sys.exit(1 if run_examples(pathlib.Path(sys.argv[1]), *sys.argv[2:]) else 0)
