"""``dataclass`` as in :mod:`dataclasses`, made in a fraction of the time.

The standard library writes and compiles five functions for each class. That takes longer than anything else that is
done when this package is imported, and a process that plans one small table does little else. Here only ``__init__``
is compiled, once for all classes whose fields are of the same number and kinds; ``__eq__``, ``__hash__``, ``__repr__``
and those that refuse assignment are shared by all. Classes that derive from another dataclass, and options that are not
named here, are left to the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses as _std
    from functools import lru_cache as _cache
    from operator import attrgetter as _attrgetter
    from reprlib import recursive_repr as _recursive_repr
    from types import CodeType as _Code
    from types import FunctionType as _Function

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True):
        """See :func:`dataclasses.dataclass`."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, repr=repr)
        if any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:]):
            return _std.dataclass(cls, frozen=frozen, eq=eq, repr=repr)
        own = cls.__dict__
        has_hash = own.get("__hash__", _std.MISSING) is not _std.MISSING and not (
            own["__hash__"] is None and "__eq__" in own
        )
        # With a docstring no signature is written for one, which is slow.
        doc, cls.__doc__ = cls.__doc__, cls.__name__
        # Types are texts, and the standard library looks into each of them for three names by a regular expression.
        types = own.get("__annotations__", {})
        cls.__annotations__ = {name: kind if _may_be_special(kind) else object for name, kind in types.items()}
        _std.dataclass(cls, init=False, repr=False, eq=False)
        cls.__doc__, cls.__annotations__ = doc, types
        params = cls.__dataclass_params__
        params.init, params.repr, params.eq, params.frozen = True, repr, eq, frozen
        fields = _std.fields(cls)
        for f in fields:
            f.type = types[f.name]
        _add(cls, "__init__", _init(cls, fields, frozen))
        if repr:
            _add(cls, "__repr__", _repr([f.name for f in fields if f.repr]))
        compared = [f for f in fields if f.compare]
        if eq:
            _add(cls, "__eq__", _eq(_values([f.name for f in compared])))
        if frozen:
            _add(cls, "__setattr__", _refusing(cls, "assign to", {f.name for f in fields}))
            _add(cls, "__delattr__", _refusing(cls, "delete", {f.name for f in fields}))
        if eq and not has_hash:
            hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
            cls.__hash__ = _hash(_values(hashed)) if frozen else None
        return cls

    def _may_be_special(kind):
        """Whether a type may be ClassVar, InitVar or KW_ONLY, which make no usual field."""
        return not isinstance(kind, str) or "Var" in kind or "KW_ONLY" in kind

    def _add(cls, name, function):
        if name not in cls.__dict__:
            function.__qualname__ = f"{cls.__qualname__}.{name}"
            function.__module__ = cls.__module__
            setattr(cls, name, function)

    def _init(cls, fields, frozen):
        """The function ``__init__``; its parameters are the fields.

        Classes with as many fields of the same kinds share its code, in which only names differ: field i is ``_i``.
        """
        values, lines = {"_set": object.__setattr__, "_made": _Made}, []
        parameters, keywords = ["self"], []
        for i, f in enumerate(fields):
            name = value = f"_{i}"
            has_factory = f.default_factory is not _std.MISSING
            if has_factory:
                values[f"_factory{i}"] = f.default_factory
                value = f"_factory{i}() if {name} is _made else {name}" if f.init else f"_factory{i}()"
            if f.init:
                (keywords if f.kw_only else parameters).append(name)
            if f.init or has_factory:  # else the class has the default
                lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        text = ", ".join([*parameters, *(["*"] if keywords else []), *keywords])
        code = _renamed(_code(f"def __init__({text}):\n " + "\n ".join(lines or ["pass"])), [f.name for f in fields])
        defaults = _defaults([f for f in fields if f.init and not f.kw_only])
        found = _Function(code, values, "__init__", tuple(defaults.values()))
        found.__kwdefaults__ = _defaults([f for f in fields if f.kw_only])
        found.__annotations__ = {**{f.name: f.type for f in fields if f.init}, "return": None}
        return found

    def _defaults(fields):
        """{name of a field: its default}. Raises TypeError for a positional one without a default behind others."""
        found = {}
        for f in fields:
            if f.default is not _std.MISSING or f.default_factory is not _std.MISSING:
                found[f.name] = _Made if f.default is _std.MISSING else f.default
            elif found and not f.kw_only:
                raise TypeError(f"non-default argument {f.name!r} follows default argument")
        return found

    @_cache
    def _code(text):
        """The code of the function that ``text`` defines."""
        return next(one for one in compile(text, "<dataclass>", "exec").co_consts if isinstance(one, _Code))

    def _renamed(code, names):
        """``code`` with the names of fields for ``_0``, ``_1``, and so on."""
        names = {f"_{i}": name for i, name in enumerate(names)}
        parts = ("co_varnames", "co_names", "co_consts")
        return code.replace(**{part: tuple(names.get(one, one) for one in getattr(code, part)) for part in parts})

    class _Made:
        """The default of a field whose default is made for each object."""

        def __repr__(self):
            return "<factory>"

    _Made = _Made()

    def _values(names):
        """Gives the values of attributes as a tuple."""
        if len(names) > 1:
            return _attrgetter(*names)
        if not names:
            return lambda self: ()
        one = _attrgetter(names[0])
        return lambda self: (one(self),)

    def _eq(values):
        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(values):
        def __hash__(self):
            return hash(values(self))

        return __hash__

    def _repr(names):
        @_recursive_repr()
        def __repr__(self):
            return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

        return __repr__

    def _refusing(cls, what, names):
        """The function that refuses to assign to a field, or to delete it."""
        usual = object.__setattr__ if what == "assign to" else object.__delattr__

        def refuse(self, name, *value):
            if type(self) is cls or name in names:
                raise _std.FrozenInstanceError(f"cannot {what} field {name!r}")
            usual(self, name, *value)

        return refuse
