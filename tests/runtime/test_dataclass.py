"""Ours makes what the standard library makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from tableformats.dataclass import dataclass
from tableformats.limits import Limits

Made = tuple[type, type]


def both(**options: Any) -> Made:
    """The same class twice: by the standard library, and by ours."""

    def made(decorate: Callable[..., Any]) -> type:
        @decorate(**options)
        class Shape:
            """A shape."""

            name: str
            corners: int = 3
            points: list[int] = field(default_factory=list)
            hidden: int = field(default=0, repr=False, compare=False)
            later: list[int] = field(init=False, default_factory=lambda: [1])
            unit: str = field(default="m", kw_only=True)
            count: ClassVar[int] = 0
            _: dataclasses.KW_ONLY
            depth: int = 0

        return Shape

    return made(dataclasses.dataclass), made(dataclass)


@pytest.fixture(params=[{}, {"frozen": True}, {"eq": False}, {"frozen": True, "eq": False}, {"repr": False}])
def made(request: pytest.FixtureRequest) -> Made:
    return both(**request.param)


def test_objects_are_alike(made: Made) -> None:
    theirs, ours = (kind("a", 4, [1], 7, unit="km") for kind in made)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert ("__repr__" in vars(made[1])) == ("__repr__" in vars(made[0]))
    if "__repr__" in vars(made[0]):
        assert repr(ours) == repr(theirs)
    assert ours.later is not made[1]("a").later
    assert (made[1]("a", hidden=1) == made[1]("a")) == (made[0]("a", hidden=1) == made[0]("a"))
    assert (made[1]("a") == made[1]("b")) == (made[0]("a") == made[0]("b"))
    assert ours != theirs and ours != 1
    changed = [dataclasses.replace(one, name="b") for one in (theirs, ours)]
    assert dataclasses.asdict(changed[1]) == dataclasses.asdict(changed[0])


def test_classes_are_alike(made: Made) -> None:
    theirs, ours = made
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    for name in ("init", "repr", "eq", "frozen"):
        assert getattr(ours.__dataclass_params__, name) == getattr(theirs.__dataclass_params__, name)  # type: ignore[attr-defined]
    assert [f.type for f in dataclasses.fields(ours)] == [f.type for f in dataclasses.fields(theirs)]
    assert ours.__annotations__ == theirs.__annotations__
    assert ours.__match_args__ == theirs.__match_args__  # type: ignore[attr-defined]
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert ours.__doc__ == theirs.__doc__ == "A shape."
    with pytest.raises(TypeError):
        ours()
    with pytest.raises(TypeError):
        ours("a", 1, [], 0, "km")


def test_what_is_frozen_refuses() -> None:
    for kind in both(frozen=True):
        shape = kind("a", points=[])
        with pytest.raises(dataclasses.FrozenInstanceError, match=r"^cannot assign to field 'name'$"):
            shape.name = "b"
        with pytest.raises(dataclasses.FrozenInstanceError, match=r"^cannot delete field 'name'$"):
            del shape.name
        with pytest.raises(dataclasses.FrozenInstanceError):
            shape.other = 1


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass])
def test_what_derives_from_a_frozen_class_has_attributes_of_its_own(decorate: Callable[..., Any]) -> None:
    @decorate(frozen=True)
    class Base:
        x: int

    class Derived(Base):
        pass

    one = Derived(1)
    one.y = 2
    assert one.y == 2
    del one.y
    assert not hasattr(one, "y")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 3
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x


@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_fields_are_compared(n: int) -> None:
    kind = dataclass(frozen=True)(type("Many", (), {"__annotations__": {f"f{i}": "int" for i in range(n)}}))
    values = list(range(n))
    for i in range(n):
        other = [*values[:i], 7, *values[i + 1 :]]
        assert kind(*values) != kind(*other) and hash(kind(*values)) != hash(kind(*other))


def test_classes_of_one_shape_have_their_own_names_and_defaults() -> None:
    @dataclass
    class One:
        _1: int
        b: str = "_0"

    @dataclass
    class Two:
        c: int
        _0: str = "_1"

    assert vars(One(1)) == {"_1": 1, "b": "_0"} and vars(Two(2)) == {"c": 2, "_0": "_1"}
    assert vars(Two(_0="x", c=3)) == {"c": 3, "_0": "x"}
    with pytest.raises(TypeError, match=r"One\.__init__\(\) missing 1 required positional argument: '_1'"):
        One()  # type: ignore[call-arg]
    for decorate in (dataclass, dataclasses.dataclass):
        with pytest.raises(TypeError, match=r"non-default argument 'y' follows default argument"):
            decorate(type("Wrong", (), {"__annotations__": {"x": int, "y": int}, "x": 1}))


def test_own_methods_stay() -> None:
    @dataclass(frozen=True)
    class Point:
        x: int
        y: int = 0

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

        def __repr__(self) -> str:
            return "here"

        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            return True

    @dataclass(frozen=True)
    class Named(Point):
        name: str = ""

    assert repr(Point(1)) == "here" and hash(Point(1)) == 7 and Point(1) == 5
    with pytest.raises(ValueError, match="x"):
        Point(-1)
    assert Named(1, 2, "n").name == "n" and Named(1, 2).y == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Named(1).x = 2  # type: ignore[misc]
    assert Point.__doc__ is None


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass])
def test_own_equality_and_own_hashes(decorate: Callable[..., Any]) -> None:
    """A class with its own ``==`` has no hash of its own, unless one was written."""

    class Compared:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    class Unhashable:
        x: int
        __hash__ = None  # type: ignore[assignment]

    assert hash(decorate(frozen=True)(Compared)(1)) == hash((1,))
    assert decorate(frozen=True)(Unhashable).__hash__ is None


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass])
def test_fields_that_are_no_parameters(decorate: Callable[..., Any]) -> None:
    @decorate
    class Plain:
        x: int
        y: int = field(init=False, default=2)
        z: list[int] = field(init=False, default_factory=list)

    assert str(inspect.signature(Plain)) == "(x: 'int') -> None"
    assert vars(Plain(1)) == {"x": 1, "z": []} and Plain(1).y == 2


def test_hashes_agree_with_equality() -> None:
    @dataclass(frozen=True)
    class One:
        x: float

    @dataclass(frozen=True)
    class None_:
        pass

    nan = float("nan")
    assert hash(One(1)) == hash(One(1.0)) and One(1) == One(1.0)
    assert One(nan) == One(nan), "the same object, as in a tuple"
    assert None_() == None_() and hash(None_()) == hash(None_())


def test_they_travel() -> None:
    limits = Limits()
    assert pickle.loads(pickle.dumps(limits)) == limits == copy.deepcopy(limits)


def test_a_repr_that_contains_itself() -> None:
    @dataclass
    class Node:
        child: Any

    node = Node(None)
    node.child = node
    assert repr(node).endswith("Node(child=...)")
