"""Fixtures for jobs on several machines: pytest_plugins = ["job_fixtures", "launcher_fixtures"]."""

import json
import os
import pathlib
import sys

import pytest

FAKE = pathlib.Path(__file__).with_name("fake_launcher.py")
BATCH = ("SLURM", "LSB_", "PBS_", "OMPI_", "PMI", "FAKE_")  # of the job that the tests themselves may run in


class Fakes:
    """Launchers of our own in front of the PATH, and what they were called with."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.log = folder, folder / "log.json"
        folder.mkdir()
        self.env = {"PATH": str(folder), "FAKE_LOG": str(self.log)}

    def install(self, *names: str) -> None:
        for name in names:
            script = self.folder / name
            lines = [f"#!{sys.executable}", "import sys", f"sys.path.insert(0, {str(FAKE.parent)!r})"]
            lines += ["import fake_launcher", "sys.exit(fake_launcher.main())", ""]
            script.write_text("\n".join(lines))
            script.chmod(0o755)

    @property
    def argv(self) -> list[str]:
        return json.loads(self.log.read_text())["argv"]

    @property
    def launcher_env(self) -> dict[str, str]:
        return json.loads(self.log.read_text())["env"]


@pytest.fixture
def no_batch(monkeypatch):
    for name in list(os.environ):
        if name.startswith(BATCH):
            monkeypatch.delenv(name)


@pytest.fixture
def fakes(no_batch, tmp_path):
    return Fakes(tmp_path / "bin")
