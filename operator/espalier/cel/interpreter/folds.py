"""
Folds, to which macros expand.

Source:
    cel-go, ``interpreter/interpretable.go``, ``evalFold``.
"""

from collections.abc import Iterator

from espalier.cel.frames import UNSET, Frame
from espalier.cel.interpreter.attributes import Run
from espalier.cel.values import (
    CelError,
    Failure,
    GrowingList,
    GrowingMap,
    ListValue,
    MapValue,
    Value,
    go_name,
    is_list,
    is_map,
)


class Fold:
    """
    A fold over a list or a map.

    Attributes:
        condition: Whether to go on; None if always.
        step: Computes what is accumulated next.
        result: Computes the result.
    """

    def __init__(
        self,
        *,
        iter_range: Run,
        init: Run,
        accumulator: int,
        variables: tuple[int, int | None],
    ) -> None:
        self._iter_range = iter_range
        self._init = init
        self._accumulator = accumulator
        self._variable, self._variable2 = variables
        self.condition: Run | None = None
        self.step: Run = init
        self.result: Run = init

    def accumulated(self, frame: Frame) -> Value:
        """
        Read what is accumulated; it is initialized when it is first read.

        Raises:
            CelError: The last step failed.
        """
        value = frame.slots[self._accumulator]
        if value is UNSET:
            value = self._initial(frame)
            frame.slots[self._accumulator] = value
        if value.__class__ is Failure:
            raise CelError(value.text)
        return value

    def _initial(self, frame: Frame) -> Value:
        try:
            value = self._init(frame)
        except CelError as error:
            return Failure(error.text)
        if is_list(value) and not len(value):
            return GrowingList([])
        if is_map(value) and not len(value):
            return GrowingMap({})
        return value

    def run(self, frame: Frame) -> Value:
        """
        Evaluate the fold.
        """
        slots = frame.slots
        entries = self._entries(self._iter_range(frame))
        slots[self._accumulator] = UNSET
        for first, second in entries:
            frame.step()
            slots[self._variable] = first
            if self._variable2 is not None:
                slots[self._variable2] = second
            if self.condition is not None and self._is_over(frame):
                break
            try:
                slots[self._accumulator] = self.step(frame)
            except CelError as error:
                slots[self._accumulator] = Failure(error.text)
        return _settled(self.result(frame))

    def _is_over(self, frame: Frame) -> bool:
        # A condition that fails, or that is no boolean, does not end the fold.
        try:
            found = self.condition(frame) if self.condition is not None else True
        except CelError:
            return False
        return isinstance(found, bool) and not found

    def _entries(self, over: Value) -> Iterator[tuple[Value, Value]]:
        if is_map(over):
            if self._variable2 is None:
                return ((key, None) for key in over.each_key())
            return ((key, over.find(key)[0]) for key in over.each_key())
        if not is_list(over):
            kind = go_name(over)
            if self._variable2 is None:
                raise CelError(f"got '{kind}', expected iterable type")
            raise CelError(f"unsupported comprehension range type: {kind}")
        if self._variable2 is None:
            return ((each, None) for each in over.items)
        return iter(enumerate(over.items))


def _settled(value: Value) -> Value:
    if isinstance(value, GrowingList):
        return ListValue(value.items)
    if isinstance(value, GrowingMap):
        return MapValue(value.entries)
    return value
