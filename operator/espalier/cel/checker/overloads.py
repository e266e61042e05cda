"""
Which overloads of a function a call means, by the types of its arguments.

Source:
    cel-go, ``checker/checker.go``, ``resolveOverload``.
"""

from collections.abc import Sequence

from espalier.cel.signatures import Overload
from espalier.cel.types import DYN, CelType, Substitutions, param


class Overloading:
    """
    Chooses overloads, and makes type variables.
    """

    def __init__(self, known: Substitutions) -> None:
        self._known = known
        self._made = 0

    def variable(self) -> CelType:
        """
        Make a type variable.
        """
        self._made += 1
        return param(f"_var{self._made - 1}")

    def choose(
        self, overloads: Sequence[Overload], types: Sequence[CelType], *, is_member: bool
    ) -> tuple[CelType | None, list[Overload]]:
        """
        Find the overloads that a call may mean.

        Returns:
            The type of the result, None if there is no such overload; and the overloads.
        """
        result: CelType | None = None
        chosen: list[Overload] = []
        for each in overloads:
            if each.is_member is not is_member:
                continue
            wanted, made = self._instantiated(each)
            if not self._known.unify(types, wanted):
                continue
            chosen.append(each)
            found = self._known.apply(made)
            if result is None:
                result = found
            elif result.kind != "dyn" and found != result:
                result = DYN
        return result, chosen

    def _instantiated(self, declared: Overload) -> tuple[tuple[CelType, ...], CelType]:
        names = {name for each in (*declared.args, declared.result) for name in _params(each)}
        if not names:
            return declared.args, declared.result
        fresh = Substitutions()
        for name in sorted(names):
            fresh.bind(param(name), self.variable())
        return tuple(map(fresh.apply, declared.args)), fresh.apply(declared.result)


def _params(one: CelType) -> tuple[str, ...]:
    if one.kind == "param":
        return (one.name,)
    return tuple(name for each in one.params for name in _params(each))
