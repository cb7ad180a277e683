"""ronde.tune: searches in Ray Tune's words, as programs write them."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from python_package import needs_package

pytest_plugins = ["job_fixtures", "python_fixtures"]
pytestmark = needs_package


@pytest.fixture
def tune():
    from ronde import tune

    return tune


def search(tune, folder, trainable, space, name="search", stop=None, failure=None, **options):
    options = {"metric": "score", "mode": "max", **options}
    return tune.Tuner(
        trainable,
        param_space=space,
        tune_config=tune.TuneConfig(**options),
        run_config=tune.RunConfig(
            name=name, storage_path=str(folder), verbose=0, stop=stop, failure_config=failure or tune.FailureConfig()
        ),
    )


def linear(config):
    from ronde import tune

    for step in range(1, 5):
        tune.report({"score": config["x"] * step})


def test_a_function_that_reports(tune, tmp_path):
    grid = search(tune, tmp_path, linear, {"x": tune.grid_search([1, 3, 2])}).fit()
    assert len(grid) == grid.num_terminated == 3
    best = grid.get_best_result()
    assert best.config == {"x": 3} and best.metrics["score"] == 12 and best.metrics["training_iteration"] == 4
    assert [each["score"] for each in best.results()] == [3, 6, 9, 12]
    folder = pathlib.Path(best.path)
    assert json.loads((folder / "params.json").read_text()) == {"x": 3}
    assert (folder / "progress.csv").read_text().splitlines()[0].split(",").count("score") == 1
    assert grid.get_best_result(mode="min").config == {"x": 1}
    assert grid.get_best_result(scope="avg").config == {"x": 3}


def test_functions_may_return_or_yield(tune, tmp_path):
    def yields(config):
        yield {"score": config["x"]}
        yield {"score": config["x"] + 1}

    returned = search(tune, tmp_path, lambda config: {"score": config["x"]}, {"x": 5}, name="returned").fit()
    assert returned[0].metrics["score"] == 5
    assert search(tune, tmp_path, yields, {"x": 5}, name="yielded").fit()[0].metrics["score"] == 6
    number = search(tune, tmp_path, lambda config: 7.5, {}, name="number", metric="_metric").fit()
    assert number.get_best_result().metrics["_metric"] == 7.5


def test_values_of_a_space(tune, tmp_path):
    class Kind:
        name = "an object that JSON cannot hold"

    kind = Kind()
    space = {
        "a": tune.randint(0, 10),
        "b": tune.sample_from(lambda config: config.a * 2),
        "c": tune.choice([{"kind": "x", "depth": tune.randint(1, 3)}, {"kind": "y"}]),
        "old": tune.sample_from(lambda spec: spec.config.a + 1),
        "object": kind,
    }
    grid = search(
        tune, tmp_path, lambda config: {"score": config["a"], "name": config["object"].name}, space, num_samples=20
    ).fit()
    assert len(grid) == 20 and not grid.errors
    for each in grid:
        assert each.config["b"] == 2 * each.config["a"] and each.config["old"] == each.config["a"] + 1
        assert ("depth" in each.config["c"]) == (each.config["c"]["kind"] == "x")
        assert each.config["object"] is kind and each.metrics["name"] == Kind.name
    assert len({each.config["a"] for each in grid}) > 3


def test_the_same_seed_draws_the_same(tune, tmp_path):
    def configs(name, seed):
        grid = search(
            tune, tmp_path, lambda config: {"score": 0}, {"x": tune.loguniform(1e-4, 1)}, name, num_samples=4, seed=seed
        ).fit()
        return [each.config for each in grid]

    assert configs("a", 1) == configs("b", 1) != configs("c", 2)


def trainable_class(tune):
    class Learner(tune.Trainable):
        made = 0

        def setup(self, config):
            Learner.made += 1
            self.work = 0.0

        def step(self):
            self.work += self.config["lr"]
            return {"score": self.work, "made": Learner.made}

        def save_checkpoint(self, checkpoint_dir):
            return {"work": self.work}

        def load_checkpoint(self, checkpoint):
            self.work = checkpoint["work"]

        def reset_config(self, new_config):
            self.work = 0.0
            return True

    return Learner


def test_a_class_is_made_once_per_process(tune, tmp_path):
    learner = trainable_class(tune)
    grid = search(
        tune, tmp_path, learner, {"lr": tune.uniform(0, 1)}, num_samples=6, stop={"training_iteration": 3}
    ).fit()
    for each in grid:
        assert each.metrics["score"] == pytest.approx(3 * each.config["lr"])
        assert each.metrics["made"] == 1


def test_paused_trials_keep_their_weights(tune, tmp_path):
    scheduler = tune.schedulers.HyperBandScheduler(max_t=9)
    grid = search(
        tune, tmp_path, trainable_class(tune), {"lr": tune.uniform(0, 1)}, num_samples=17, scheduler=scheduler
    ).fit()
    assert grid.num_terminated == 17
    for each in grid:
        assert each.metrics["score"] == pytest.approx(each.metrics["training_iteration"] * each.config["lr"])
    iterations = sorted(each.metrics["training_iteration"] for each in grid)
    assert iterations == [1] * 6 + [3] * 5 + [9] * 6  # brackets of 3, 5 and 9 trials


def test_a_class_without_checkpoints_is_not_paused(tune, tmp_path):
    class Plain(tune.Trainable):
        def step(self):
            return {"score": 1}

    with pytest.raises(ValueError, match="pauses trials, so they must save and load checkpoints"):
        search(tune, tmp_path, Plain, {}, scheduler="hyperband").fit()


def test_functions_go_on_from_their_checkpoints(tune, tmp_path):
    def train(config):
        from ronde import tune

        start = 0
        if checkpoint := tune.get_checkpoint():
            start = int((pathlib.Path(checkpoint.path) / "step").read_text())
        for step in range(start + 1, 4):
            folder = pathlib.Path("state")
            folder.mkdir(exist_ok=True)
            (folder / "step").write_text(str(step))
            tune.report({"score": step, "start": start}, checkpoint=tune.Checkpoint.from_directory(folder))
            if step == 2 and start == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    grid = search(tune, tmp_path, train, {}, failure=tune.FailureConfig(max_failures=1)).fit()
    assert not grid.errors
    assert [(each["score"], each["start"]) for each in grid[0].results()] == [(1, 0), (2, 0), (3, 2)]
    assert grid[0].metrics["training_iteration"] == 3


def test_a_trial_that_fails_costs_itself_alone(tune, tmp_path):
    def train(config):
        if config["fault"] == "raise":
            raise ValueError("this learning rate is too high")
        if config["fault"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if config["fault"] == "hang":
            time.sleep(3600)
        return {"score": 1}

    faults = ["none", "raise", "kill", "hang", "none"]
    grid = search(tune, tmp_path, train, {"fault": tune.grid_search(faults)}, trial_timeout_s=1).fit()
    assert [each.state for each in grid] == ["TERMINATED", "ERROR", "ERROR", "ERROR", "TERMINATED"]
    assert "ValueError: this learning rate is too high" in str(grid[1].error) and "error.txt" in str(grid[1].error)
    assert "signal 9 (killed)" in str(grid[2].error)
    assert "no report for 1.0 s" in str(grid[3].error)
    assert "line" in (pathlib.Path(grid[1].path) / "error.txt").read_text()


def test_a_score_that_is_no_number_is_the_worst(tune, tmp_path):
    def train(config):
        tune.report({"score": float("nan") if config["x"] == 1 else config["x"], "other": float("-inf")})

    grid = search(tune, tmp_path, train, {"x": tune.grid_search([0, 1])}).fit()
    assert [each.state for each in grid] == ["TERMINATED", "TERMINATED"]
    assert grid[1].metrics["score"] is None and grid.get_best_result().config == {"x": 0}


def test_population_based_training_copies_weights(tune, tmp_path):
    learner = trainable_class(tune)
    step, save, load = learner.step, learner.save_checkpoint, learner.load_checkpoint
    meeting = tmp_path / "meeting"
    meeting.mkdir()

    def wait_until(condition):
        for _ in range(4000):
            if condition():
                return
            time.sleep(0.005)

    def meet(self):
        # How quick each is does not matter: after two steps both wait for each other, after four for a checkpoint,
        # and none is done before the checkpoint was taken over.
        if self.iteration == 2:
            (meeting / str(os.getpid())).touch()
            wait_until(lambda: len(list(meeting.iterdir())) >= min(2, len(os.sched_getaffinity(0))))
        if self.iteration == 4:
            wait_until((tmp_path / "saved").exists)
        if self.iteration == 20:
            wait_until((tmp_path / "taken").exists)
        return step(self)

    def save_and_tell(self, folder):
        (tmp_path / "saved").touch()
        return save(self, folder)

    def load_and_tell(self, checkpoint):
        (tmp_path / "taken").touch()
        return load(self, checkpoint)

    learner.step, learner.save_checkpoint, learner.load_checkpoint = meet, save_and_tell, load_and_tell
    scheduler = tune.schedulers.PopulationBasedTraining(
        time_attr="training_iteration", perturbation_interval=2, hyperparam_mutations={"lr": [0.001]}
    )
    space = {"lr": tune.grid_search([1.0, 0.001])}
    grid = search(
        tune, tmp_path, learner, space, scheduler=scheduler, stop={"training_iteration": 40}, max_concurrent_trials=2
    ).fit()
    # What the slow one has beyond 40 slow steps came with the weights of the fast one.
    assert max(each.metrics["score"] for each in grid) > 30
    assert min(each.metrics["score"] for each in grid) > 1


def test_population_based_bandits_stay_inside_their_bounds(tune, tmp_path):
    grid = search(
        tune, tmp_path, trainable_class(tune), {"lr": tune.grid_search([0.1, 0.2, 0.3, 0.4])},
        scheduler=tune.schedulers.PB2(
            time_attr="training_iteration", perturbation_interval=2, hyperparam_bounds={"lr": [0.01, 1.0]}
        ),
        stop={"training_iteration": 20},
    ).fit()  # fmt: skip
    assert all(0.01 <= each.config["lr"] <= 1.0 for each in grid)
    with pytest.raises(ValueError, match="hyperparam_bounds must name at least one parameter"):
        search(tune, tmp_path, trainable_class(tune), {}, name="none", scheduler=tune.schedulers.PB2()).fit()


def test_stoppers(tune, tmp_path):
    grid = search(tune, tmp_path, linear, {"x": 1}, name="dict", stop={"score": 2}).fit()
    assert grid[0].metrics["training_iteration"] == 2
    grid = search(
        tune, tmp_path, linear, {"x": 1}, name="function", stop=lambda trial, result: result["score"] >= 3
    ).fit()
    assert grid[0].metrics["training_iteration"] == 3
    maximum = tune.stopper.MaximumIterationStopper(1)
    assert (
        search(tune, tmp_path, linear, {"x": 1}, name="most", stop=maximum).fit()[0].metrics["training_iteration"] == 1
    )
    plateau = tune.stopper.TrialPlateauStopper("score", num_results=3, grace_period=3)
    flat = [plateau("a", {"score": score}) for score in (1, 5, 5.001, 5.002)]
    assert flat == [False, False, False, True]
    whole = tune.stopper.ExperimentPlateauStopper("score", top=2, mode="max")
    assert [whole("a", {"score": score}) for score in (1, 5, 5, 5)] == [False, False, True, True]


def test_asha_stops_weak_trials(tune, tmp_path):
    def train(config):
        from ronde import tune

        for step in range(1, 28):
            tune.report({"score": config["x"] * step})

    grid = search(
        tune,
        tmp_path,
        train,
        {"x": tune.grid_search([9, 8, 7, 6, 5, 4, 3, 2, 1])},
        scheduler=tune.schedulers.ASHAScheduler(max_t=27, reduction_factor=3),
        max_concurrent_trials=1,
    ).fit()
    assert grid[0].metrics["training_iteration"] == 27
    assert sum(each.metrics["training_iteration"] for each in grid) < 100
    assert grid[8].stopped_early


PROGRAM = """
    import os, signal, sys
    from ronde import tune

    def train(config):
        if config["x"] == 3 and not os.path.exists(sys.argv[1] + "/mark"):
            open(sys.argv[1] + "/mark", "w").close()
            os.kill(os.getppid(), getattr(signal, sys.argv[2]))
            import time
            time.sleep(30)
        return {"score": config["x"]}

    tuner = tune.Tuner(train, param_space={"x": tune.grid_search(list(range(6)))},
                       tune_config=tune.TuneConfig(metric="score", mode="max", max_concurrent_trials=1),
                       run_config=tune.RunConfig(name="search", storage_path=sys.argv[1]))
    print(len(tuner.fit()), "trials")
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_search_that_is_killed_goes_on(package_env, tmp_path, how):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))

    def run():
        return subprocess.run(
            [sys.executable, program, tmp_path, how], env=package_env, capture_output=True, text=True, timeout=120
        )

    first = run()
    assert first.returncode == {"SIGKILL": -signal.SIGKILL, "SIGTERM": 75, "SIGINT": -signal.SIGINT}[how], first.stderr
    again = run()
    assert again.returncode == 0, again.stderr
    assert again.stdout == "6 trials\n"
    assert "going on with 4 trials" in again.stderr
    for number in range(6):
        results = (tmp_path / "search" / f"trial_{number:05d}" / "result.json").read_text().splitlines()
        assert len(results) == 1, "a trial that had ended was run again"


def test_programs_for_old_versions(tune, tmp_path):
    def with_reporter(config, reporter):
        for step in range(3):
            reporter(score=step, timesteps_total=step)

    tune.register_trainable("old", with_reporter)
    trials = tune.run_experiments(
        {"exp": {"run": "old", "config": {}, "repeat": 2, "stop": {"score": 1}, "local_dir": str(tmp_path)}}, verbose=0
    )
    assert [each.metrics["score"] for each in trials] == [1, 1]
    analysis = tune.run(
        linear,
        name="run",
        config={"x": tune.grid_search([1, 2])},
        metric="score",
        mode="max",
        storage_path=str(tmp_path),
        verbose=0,
    )
    assert analysis.best_config == {"x": 2} and analysis.best_result["score"] == 8

    def fails(config):
        raise ValueError("no")

    with pytest.raises(tune.TuneError, match=r"trials \[0\] failed, the first with: ValueError: no"):
        tune.run(fails, name="fails", storage_path=str(tmp_path), verbose=0)


def test_wrong_words_are_refused(tune, tmp_path):
    with pytest.raises(ValueError, match="x: loguniform.*lower end must be above 0"):
        search(tune, tmp_path, linear, {"x": tune.loguniform(0, 1)}).fit()
    with pytest.raises(ValueError, match="needs a metric"):
        search(tune, tmp_path, linear, {}, metric=None, mode=None, scheduler="asha").fit()
    with pytest.raises(ValueError, match="there is no scheduler 'ash'"):
        search(tune, tmp_path, linear, {}, scheduler="ash")
    with pytest.raises(ValueError, match="must be a function or a subclass"):
        search(tune, tmp_path, 3, {})
    search(tune, tmp_path, linear, {"x": 1}, name="same").fit()
    with pytest.raises(ValueError, match="holds another search: space differ"):
        search(tune, tmp_path, linear, {"x": 2}, name="same").fit()
    with pytest.raises(RuntimeError, match="inside of a trial"):
        tune.report({"score": 1})


def test_tpe_looks_near_good_values(tune, tmp_path):
    searcher = tune.search.OptunaSearch(seed=1)
    grid = search(
        tune,
        tmp_path,
        lambda config: {"score": -abs(config["x"] - 7)},
        {"x": tune.uniform(0, 100)},
        num_samples=60,
        search_alg=searcher,
    ).fit()
    late = [each.config["x"] for each in list(grid)[30:]]
    assert sum(abs(x - 7) < 10 for x in late) > 15  # by chance: 5


@pytest.mark.parametrize("name", ["gp", "cmaes", "evolution", "sobol", "optuna"])
def test_samplers_by_name(tune, tmp_path, name):
    def train(config):
        return {"score": -((config["x"] - 0.3) ** 2) - (config["y"] - 2) ** 2}

    options = {"evolution": {"population_size": 8, "sample_size": 4}, "optuna": {"sampler": tune.search.GPSampler(5)}}
    searcher = tune.search.create_searcher(name, **options.get(name, {}))
    space = {"x": tune.uniform(0, 1), "y": tune.uniform(-5, 5)}
    grid = search(tune, tmp_path, train, space, num_samples=32, search_alg=searcher, max_concurrent_trials=2).fit()
    assert grid.num_terminated == 32
    assert grid.get_best_result().metrics["score"] > {"gp": -0.01, "optuna": -0.01}.get(name, -1)


def test_it_needs_no_torch(package_env):
    code = "import sys, ronde.tune; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=package_env, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
