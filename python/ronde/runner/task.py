"""One rank of ronde.runner.run: calls the function that lies in the folder named, and leaves there what it returns."""

from __future__ import annotations

import os
import pathlib
import sys
import traceback
from typing import Any

import cloudpickle


def leave(folder: pathlib.Path, rank: str, result: tuple[str, Any]) -> None:
    half = folder / f"half-{rank}"
    half.write_bytes(cloudpickle.dumps(result))
    half.rename(folder / f"result-{rank}")


def main() -> int:
    folder, rank = pathlib.Path(sys.argv[1]), os.environ.get("HOROVOD_RANK", os.environ.get("RANK", "0"))
    function, args, kwargs = cloudpickle.loads((folder / "task").read_bytes())
    try:
        leave(folder, rank, ("done", function(*args, **kwargs)))
    except Exception:
        leave(folder, rank, ("failed", traceback.format_exc()))
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
