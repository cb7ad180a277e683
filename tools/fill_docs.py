#!/usr/bin/env python3
"""Puts what commands print into a page, so that the page cannot say anything else.

A line `<!-- ronde run --script slurm ... -->` names the command; the code block after it holds its output.

usage: fill_docs.py PROGRAM PAGE      rewrites the page
"""

import pathlib
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"<!-- ronde (.+?) -->\n```(\w+)\n(.*?)```\n", re.DOTALL)


def filled(text: str, program: str) -> str:
    def fill(block: re.Match) -> str:
        command = [program, *shlex.split(block[1])]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        return f"<!-- ronde {block[1]} -->\n```{block[2]}\n{printed}```\n"

    return BLOCK.sub(fill, text)


def main() -> int:
    program, page = sys.argv[1], pathlib.Path(sys.argv[2])
    page.write_text(filled(page.read_text(), program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
