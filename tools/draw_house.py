#!/usr/bin/env python3
"""Draws docs/house.svg, the picture of the modules and their rooms: those in the tree filled, those to come outlined.

A module stands one floor above the highest of those that it may include, by the table of docs/architecture.md. So each
arrow of that table points down.

usage: draw_house.py > docs/house.svg
"""

import pathlib
import re
import textwrap

WIDTH, LEFT, GAP, TOP = 940, 20, 10, 92
LINE, LETTER = 15, 6.2  # of the names of rooms, in pixels
# Folders that are no rooms: tests, and one part's sources for machines with and without CUDA.
NO_ROOMS = {"testing", "tests", "testdata", "detail", "cuda", "none", "__pycache__"}


def read_arrows(page: str) -> dict[str, set[str]]:
    """Module -> modules that it may include, by the table of modules."""
    rows = re.findall(
        r"^\| (?:\.\./)?(\w+) \*? ?\|.*\| ([^|]*)\|$", page.split("## Modules and arrows")[1], re.MULTILINE
    )
    arrows = {name: set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", named))) for name, named in rows if name != "module"}
    below = {name for name, named in arrows.items() if named != {"all"}}
    return {name: below if named == {"all"} else named for name, named in arrows.items()}


def floors_of(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The highest floor first."""

    def floor(module: str) -> int:
        return max((floor(other) + 1 for other in arrows[module]), default=0)

    floors: list[list[str]] = [[] for _ in range(max(map(floor, arrows)) + 1)]
    for module in arrows:
        floors[floor(module)].append(module)
    return floors[::-1]


def rooms_of(root: pathlib.Path, module: str) -> list[str]:
    folder = root / ("python/ronde" if module == "python" else f"src/{module}")
    return sorted(path.name for path in folder.glob("*/") if path.is_dir() and path.name not in NO_ROOMS)


def draw_floor(root: pathlib.Path, modules: list[str], y: int) -> tuple[str, int]:
    """The boxes of a floor and its height."""
    width = (WIDTH - 2 * LEFT - GAP * (len(modules) - 1)) / len(modules)
    rooms = {name: textwrap.wrap("\u00a0· ".join(rooms_of(root, name)), int((width - 16) / LETTER)) for name in modules}
    height = 34 + LINE * max(map(len, rooms.values())) + (8 if any(rooms.values()) else 0)
    out = ""
    for i, name in enumerate(modules):
        x = LEFT + i * (width + GAP)
        style = "built" if (root / "python" if name == "python" else root / "src" / name).is_dir() else "planned"
        out += f'<rect class="{style}" x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="6"/>'
        out += f'<text class="{style}-text" x="{x + width / 2:.0f}" y="{y + 23}" text-anchor="middle">{name}</text>'
        for line, words in enumerate(rooms[name]):
            at = f'x="{x + width / 2:.0f}" y="{y + 42 + LINE * line}"'
            out += f'<text class="rooms" {at} text-anchor="middle">{words}</text>'
        out += "\n"
    return out, height + GAP


def draw(root: pathlib.Path) -> str:
    y, floors = TOP, ""
    for modules in floors_of(read_arrows((root / "docs" / "architecture.md").read_text())):
        boxes, height = draw_floor(root, modules, y)
        floors += boxes
        y += height
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 30}"
  font-family="sans-serif" font-size="16">
<style>
.built {{ fill: #2f6f8f; }} .built-text {{ fill: #fff; font-weight: bold; }}
.rooms {{ fill: #d5e6ee; font-size: 11.5px; }}
.planned {{ fill: #fff; stroke: #9bb3c0; stroke-width: 1.5; stroke-dasharray: 5 4; }} .planned-text {{ fill: #5d7380; }}
.note {{ fill: #5d7380; font-size: 14px; }} .roof {{ fill: #c8553d; }}
</style>
<rect width="{WIDTH}" height="{y + 30}" fill="#fff"/>
<polygon class="roof" points="{LEFT - 8},{TOP - 12} {WIDTH // 2},14 {WIDTH - LEFT + 8},{TOP - 12}"/>
<text x="{WIDTH // 2}" y="{TOP - 26}" fill="#fff" font-size="24" font-weight="bold" text-anchor="middle">Ronde</text>
{floors}<text class="note" x="{LEFT}" y="{y + 14}">A module includes only modules of lower floors. \
Below its name are its folders. Dashed: not built yet.</text>
</svg>
"""


if __name__ == "__main__":
    print(draw(pathlib.Path(__file__).resolve().parent.parent), end="")
