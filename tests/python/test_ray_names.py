"""Programs for Ray Tune run as they are by `python -m ronde.ray`, and hear by name of what is not there."""

import pathlib
import subprocess
import sys

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]

MODERN = """
import ray
from ray import tune
from ray.air import session
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search.optuna import OptunaSearch


def objective(config):
    for step in range(8):
        session.report({"score": -((config["x"] - 2) ** 2) + step * 0.01})


ray.init(num_cpus=2, logging_level="ERROR")
tuner = tune.Tuner(
    objective,
    param_space={"x": tune.uniform(0, 4)},
    tune_config=tune.TuneConfig(
        metric="score", mode="max", num_samples=20, scheduler=ASHAScheduler(max_t=8), search_alg=OptunaSearch()
    ),
    run_config=tune.RunConfig(
        name="modern", storage_path=FOLDER, verbose=0, progress_reporter=tune.CLIReporter(max_report_frequency=5)
    ),
)
best = tuner.fit().get_best_result()
print("best is near 2:", abs(best.config["x"] - 2) < 1, "trials:", len(tuner.get_results()))
ray.shutdown()
"""

OLD = """
from ray import tune


def train(config, reporter):
    for step in range(3):
        reporter(mean_accuracy=config["a"] * step)


class Net(tune.Trainable):
    def setup(self, config):
        self.total = 0

    def step(self):
        self.total += self.config["a"]
        return {"total": self.total, "done": self.total > 5}


def logs(config):
    tune.track.log(mean_accuracy=config["a"])


words = {"local_dir": FOLDER, "verbose": 0, "resources_per_trial": {"cpu": 1}}
grid = {"a": tune.grid_search([1, 2])}
for number, trainable in enumerate((train, logs)):
    analysis = tune.run(trainable, config=grid, name=f"old-{number}", queue_trials=True, **words)
    print(analysis.get_best_config("mean_accuracy", "max"))
print(sorted(each.metrics["total"] for each in tune.run(Net, config=grid, name="class", **words).trials))
"""

OUTSIDE = """
import ray
from ray import tune

for line in [
    "ray.remote",
    "import ray.rllib",
    "from ray.tune.integration.keras import TuneReportCallback",
    "tune.with_nothing",
    "tune.RunConfig(callbacks=[1])",
    "tune.CheckpointConfig(checkpoint_frequency=1)",
]:
    try:
        exec(line)
        print("taken:", line)
    except (ImportError, TypeError) as error:
        print(line, "->", error)
"""


@pytest.fixture
def ray_program(package_env, tmp_path):
    def run(text: str) -> subprocess.CompletedProcess:
        script = tmp_path / "search.py"
        script.write_text(f"FOLDER = {str(tmp_path / 'out')!r}\n" + text)
        command = [sys.executable, "-m", "ronde.ray", str(script)]
        return subprocess.run(command, env=package_env, capture_output=True, text=True, timeout=200)

    return run


def test_a_program_of_today(ray_program, tmp_path):
    done = ray_program(MODERN)
    assert done.returncode == 0, done.stderr
    assert "best is near 2: True trials: 20" in done.stdout
    assert "RunConfig(progress_reporter=" in done.stderr and "has no effect with Ronde" in done.stderr
    assert (pathlib.Path(tmp_path) / "out" / "modern" / "journal.jsonl").exists()


def test_a_program_of_older_days(ray_program):
    done = ray_program(OLD)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["{'a': 2}", "{'a': 2}", "[6, 6]"]


def test_what_is_not_there_is_named(ray_program):
    done = ray_program(OUTSIDE)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert len(told) == 6 and not any(line.startswith("taken") for line in told), done.stdout
    for name, line in zip(
        [
            "ray.remote",
            "ray.rllib",
            "ray.tune.integration",
            "ray.tune.with_nothing",
            "callbacks",
            "checkpoint_frequency",
        ],
        told,
        strict=True,
    ):
        assert f"{name}" in line.split("->")[1] and "not available" in line
