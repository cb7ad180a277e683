"""Programs of torch.distributed on the backend "ronde", for tests: pytest_plugins = ["job_fixtures", "python_fixtures",
"c10d_fixtures"]."""

import pytest

PRELUDE = """
import torch
import torch.distributed as dist
import ronde.torch.distributed
dist.init_process_group("ronde")
rank, size = dist.get_rank(), dist.get_world_size()
"""


@pytest.fixture
def on_groups(on_ranks):
    """Calls functions of the test module on every rank of a process group, where they find torch, dist, rank and size;
    all must come to their end. `helpers`: source of what they call."""

    def run(ranks: int, *functions, helpers: str = "", **options):
        return on_ranks(ranks, *functions, prelude=PRELUDE + helpers, **options)

    return run
