"""Arguments of Ray Tune that change nothing here, and those that would change the result: refused by name."""

import functools
import inspect
import sys

from ronde import tune

# What they ask for is only about display, storage elsewhere or files that are always or never kept.
WITHOUT_EFFECT = {
    "progress_reporter",
    "sync_config",
    "log_to_file",
    "trial_name_creator",
    "trial_dirname_creator",
    "num_to_keep",
    "checkpoint_score_attribute",
    "checkpoint_score_order",
    "checkpoint_config",
    "keep_checkpoints_num",
    "checkpoint_score_attr",
    "queue_trials",
    "ray_auto_init",
    "upload_dir",
    "reuse_actors",
}


def warn_about(where, given):
    """One line for each."""
    for name, value in given.items():
        print(f"ray: warning: {where}({name}={value!r}) has no effect with Ronde", file=sys.stderr)


def kept(where, known, given):
    """The arguments that Ronde knows. FAILS WITH: TypeError for others that are not left at nothing."""
    mine = {name: value for name, value in given.items() if name in known}
    others = {name: value for name, value in given.items() if name not in known and value not in (None, False, 0, "")}
    refused = [name for name in others if name not in WITHOUT_EFFECT]
    if refused:
        raise TypeError(f"{where}({refused[0]}=...) is not available: Ronde has no such option (docs/tune.md)")
    warn_about(where, others)
    return mine


def _subset(target, where):
    known = inspect.signature(target).parameters

    @functools.wraps(target, updated=())
    def call(*arguments, **named):
        return target(*arguments, **kept(where, known, named))

    return call


RunConfig = _subset(tune.RunConfig, "RunConfig")
TuneConfig = _subset(tune.TuneConfig, "TuneConfig")
run = _subset(tune.run, "tune.run")


def CheckpointConfig(**given):  # noqa: N802
    """All checkpoints are kept. FAILS WITH: TypeError where it asks for some that a trial does not write itself."""
    return kept("CheckpointConfig", (), given) or None


class CLIReporter:
    """The table in the terminal: Ronde shows its own."""

    def __init__(self, *_arguments, **_options):
        pass
