"""The values that a search may try."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Domain:
    """A distribution: a name of Ray Tune's and its arguments."""

    def __init__(self, function: str, *arguments: Any) -> None:
        self.function = function
        self.arguments = list(arguments)

    def __repr__(self) -> str:
        return f"{self.function}({', '.join(map(repr, self.arguments))})"


class Computed:
    """A value that a function computes from the others."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def uniform(lower: float, upper: float) -> Domain:
    """A float of lower <= x < upper, evenly."""
    return Domain("uniform", lower, upper)


def quniform(lower: float, upper: float, q: float) -> Domain:
    """As uniform, rounded to multiples of q; both ends are possible."""
    return Domain("quniform", lower, upper, q)


def loguniform(lower: float, upper: float) -> Domain:
    """A float of lower <= x < upper, evenly in its logarithm."""
    return Domain("loguniform", lower, upper)


def qloguniform(lower: float, upper: float, q: float) -> Domain:
    """As loguniform, rounded to multiples of q."""
    return Domain("qloguniform", lower, upper, q)


def randint(lower: int, upper: int) -> Domain:
    """An integer of lower <= n < upper."""
    return Domain("randint", lower, upper)


def qrandint(lower: int, upper: int, q: int = 1) -> Domain:
    """A multiple of q of lower <= n <= upper."""
    return Domain("qrandint", lower, upper, q)


def lograndint(lower: int, upper: int) -> Domain:
    """An integer of lower <= n < upper, evenly in its logarithm."""
    return Domain("lograndint", lower, upper)


def qlograndint(lower: int, upper: int, q: int) -> Domain:
    """As lograndint, rounded to multiples of q."""
    return Domain("qlograndint", lower, upper, q)


def randn(mean: float = 0.0, sd: float = 1.0) -> Domain:
    """A normal variable."""
    return Domain("randn", mean, sd)


def qrandn(mean: float, sd: float, q: float) -> Domain:
    """As randn, rounded to multiples of q."""
    return Domain("qrandn", mean, sd, q)


def choice(categories: Sequence[Any]) -> Domain:
    """One of these, evenly; an entry may be a dict with distributions of its own."""
    return Domain("choice", *categories)


def grid_search(values: Sequence[Any]) -> dict[str, list[Any]]:
    """Every one of these."""
    return {"grid_search": list(values)}


def sample_from(function: Callable[..., Any]) -> Computed:
    """What `function(config)` computes from the values that the others have."""
    return Computed(function)


class Space:
    """A search space as the search reads it: JSON, and numbers where Python objects and functions stand."""

    def __init__(self, tree: Mapping[str, Any] | None) -> None:
        self.objects: list[Any] = []  # values that JSON cannot hold
        self.functions: list[Callable[..., Any]] = []
        self.json = self._encode(dict(tree or {}))

    def _encode(self, value: Any) -> Any:
        if isinstance(value, Domain):
            return {value.function: [self._encode(argument) for argument in value.arguments]}
        if isinstance(value, Computed):
            self.functions.append(value.function)
            return {"sample_from": len(self.functions) - 1}
        if isinstance(value, Mapping):
            return {str(key): self._encode(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._encode(item) for item in value]
        if hasattr(value, "item") and not isinstance(value, (str, bytes)) and getattr(value, "size", 1) == 1:
            value = value.item()  # a NumPy number
        try:
            json.dumps(value)
        except TypeError:
            self.objects.append(value)
            return {_OBJECT: len(self.objects) - 1}
        return value

    def decode(self, value: Any) -> Any:
        """A configuration of the search with the objects in their places."""
        if isinstance(value, dict):
            if len(value) == 1 and _OBJECT in value:
                return self.objects[value[_OBJECT]]
            return {key: self.decode(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        return value

    def compute(self, function: str, config: str) -> str:
        """For the search: what a function of sample_from gives."""
        values = self.decode(json.loads(config))
        wanted = self.functions[json.loads(function)]
        return json.dumps(self._encode(_call(wanted, values)))


_OBJECT = "__python_object__"


class _Spec:
    """What functions for old versions of Ray Tune read: spec.config.lr."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = _Attributes(config)


class _Attributes(dict):
    def __getattr__(self, name: str) -> Any:
        try:
            value = self[name]
        except KeyError:
            raise AttributeError(name) from None
        return _Attributes(value) if isinstance(value, dict) else value


def _call(function: Callable[..., Any], config: dict[str, Any]) -> Any:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin
        names = ["config"]
    if not names:
        return function()
    return function(_Spec(config) if names[0] == "spec" else _Attributes(config))
