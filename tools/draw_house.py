#!/usr/bin/env python3
"""Draws docs/house.svg, the picture of the modules: those in the tree filled, those to come outlined.

usage: draw_house.py > docs/house.svg
"""

import pathlib

FLOORS = [
    ("what you type", ["cli", "bench", "python"]),
    ("see, tune, deploy", ["report", "sim", "tune", "infer", "classic"]),
    ("train", ["train", "parallel", "models"]),
    ("feed and connect", ["data", "launch", "comm"]),
    ("know the machine", ["trace", "device", "topology"]),
    ("stand on", ["base"]),
]
WIDTH, FLOOR, LEFT, GAP, TOP = 860, 62, 170, 10, 92


def box(name: str, x: float, y: float, width: float, built: bool) -> str:
    style = "built" if built else "planned"
    return (
        f'<rect class="{style}" x="{x:.0f}" y="{y}" width="{width:.0f}" height="{FLOOR - GAP}" rx="6"/>'
        f'<text class="{style}-text" x="{x + width / 2:.0f}" y="{y + 32}" text-anchor="middle">{name}</text>'
    )


def floor(row: int, title: str, modules: list[str], built: set[str]) -> str:
    y = TOP + row * FLOOR
    width = (WIDTH - LEFT - 20 - GAP * (len(modules) - 1)) / len(modules)
    boxes = [box(name, LEFT + i * (width + GAP), y, width, name in built) for i, name in enumerate(modules)]
    return f'<text class="title" x="{LEFT - 16}" y="{y + 32}" text-anchor="end">{title}</text>' + "".join(boxes)


def draw(built: set[str]) -> str:
    height = TOP + len(FLOORS) * FLOOR + 34
    middle = LEFT + (WIDTH - LEFT - 20) / 2
    floors = "\n".join(floor(row, title, modules, built) for row, (title, modules) in enumerate(FLOORS))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"
  font-family="sans-serif" font-size="16">
<style>
.built {{ fill: #2f6f8f; }} .built-text {{ fill: #fff; }}
.planned {{ fill: #fff; stroke: #9bb3c0; stroke-width: 1.5; stroke-dasharray: 5 4; }} .planned-text {{ fill: #5d7380; }}
.title, .note {{ fill: #5d7380; font-size: 14px; }} .roof {{ fill: #c8553d; }}
</style>
<rect width="{WIDTH}" height="{height}" fill="#fff"/>
<polygon class="roof" points="{LEFT - 8},{TOP - 12} {middle:.0f},14 {WIDTH - 12},{TOP - 12}"/>
<text x="{middle:.0f}" y="{TOP - 26}" fill="#fff" font-size="24" font-weight="bold" text-anchor="middle">Ronde</text>
{floors}
<text class="note" x="{LEFT}" y="{height - 12}">Arrows point down. Filled: in the tree. Dashed: on the way.</text>
</svg>
"""


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    built = {path.parent.name for path in root.glob("src/*/CMakeLists.txt")}
    print(draw(built), end="")


if __name__ == "__main__":
    main()
