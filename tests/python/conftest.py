"""Fixtures that whole-program tests share. The build folder is named by RONDE__BUILD_DIR, default build/release."""

import os
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Shells start what runs in the background with some of these ignored, and so does nohup. Programs that tests start
# would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def build_dir() -> pathlib.Path:
    return pathlib.Path(os.environ.get("RONDE__BUILD_DIR", ROOT / "build" / "release"))


@pytest.fixture
def clean_env(tmp_path) -> dict[str, str]:
    """The environment without settings of whoever runs the tests, nor what was measured before."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RONDE_", "HOROVOD_"))}
    return kept | {"XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def ronde(build_dir, clean_env, tmp_path):
    """Runs the program in an empty folder: ronde("info", "--json", env={"RONDE_LOG_LEVEL": "off"})."""

    def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [build_dir / "ronde", *arguments],
            env=clean_env | (env or {}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run
