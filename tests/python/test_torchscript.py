"""`model.name = torchscript:net.pt`: a module that Python has saved is trained further."""

import hashlib
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="Python has no torch")

FEW = (
    "--data-resolution", "8", "--data-samples", "120", "--data-test-samples", "40", "--data-classes", "4",
    "--train-batch", "20", "--train-epochs", "2", "--train-device", "cpu", "--train-deterministic", "true",
)  # fmt: skip


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.head(x.mean([2, 3]))


@pytest.fixture
def saved(tmp_path):
    torch.manual_seed(0)
    torch.jit.script(Network()).save(str(tmp_path / "net.pt"))
    return "torchscript:net.pt"


@pytest.fixture
def train(build_dir, clean_env, tmp_path, saved):
    def run(*words: str, ranks: int = 2) -> subprocess.CompletedProcess:
        program = build_dir / "ronde"
        if "RONDE_TORCH:BOOL=OFF" in (build_dir / "CMakeCache.txt").read_text():
            pytest.skip("this build has no libtorch")
        command = [program, "--log-level", "info", "run", "-n", str(ranks), program, *words]
        return subprocess.run(command, env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run


def model_of(folder) -> str:
    newest = sorted((folder / "checkpoints").glob("step-*"))[-1]
    return hashlib.sha256(b"".join(p.read_bytes() for p in sorted(newest.glob("*.safetensors")))).hexdigest()


def test_trains_resumes_and_is_evaluated(train, ronde, saved, tmp_path):
    same = ("train", "demo", "--model-name", saved, *FEW)
    whole = train(*same, "--output-dir", "whole")
    assert whole.returncode == 0, whole.stderr
    for steps in ("5", "0"):
        job = train(*same, "--output-dir", "parts", "--train-steps", steps)
        assert job.returncode == 0, job.stderr
    assert "continues after step 5" in job.stderr
    assert model_of(tmp_path / "parts") == model_of(tmp_path / "whole")
    found = train("eval", "whole")
    assert found.returncode == 0 and ", accuracy " in found.stdout, found.stderr
    limits = ronde("limits", "demo", "--model-name", saved, *FEW)
    assert limits.returncode == 0 and limits.stdout.startswith(f"{saved}: 132 parameters"), (
        limits.stdout + limits.stderr
    )


def test_what_does_not_fit_is_said(train, saved):
    job = train("train", "demo", "--model-name", saved, "--data-classes", "5", ranks=1)
    assert job.returncode == 2
    assert (
        "model.name = torchscript:net.pt gives [4] numbers per sample, but data.target = class needs [5]" in job.stderr
    )
    job = train("train", "demo", "--model-name", "torchscript:other.pt", ranks=1)
    assert job.returncode == 2
    assert "model.name = torchscript:other.pt: other.pt does not exist" in job.stderr
