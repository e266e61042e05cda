"""
Which definitions can be worked on in parts, and whether all parts are done.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from espalier import names
from espalier.engine.policy.consent import NOTHING_SHOWN, ShownLoss
from espalier.engine.policy.plan import Plan, ServerPruned
from espalier.engine.ports import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """
    What is kept of the work on one part.

    Attributes:
        key: What the run was for.
        generation: Of the definition at that time.
        objects: How many objects the part has; 0 until it is done.
        accepted: The loss that was shown of it and consented to.
    """

    part: Part
    key: str
    generation: int
    is_done: bool
    objects: int
    accepted: ShownLoss = NOTHING_SHOWN


def why_not_in_parts(planned: Plan) -> str:
    """
    Return why a plan cannot be carried out in parts; empty if it can.
    """
    whole = f"use espalier migrate {planned.definition.name} without --part and --finish"
    if not isinstance(planned, ServerPruned):
        return (
            f"the definition preserves unknown fields, so that pruning needs one archive; {whole}"
        )
    if planned.policy.namespaces:
        return f"the annotation {names.NAMESPACES} restricts the run to namespaces; {whole}"
    if not planned.rewrites:
        label = names.step_label("migrate")
        return f"the label {label}=false leaves the rewriting out; there is nothing to divide"
    return ""


def unfinished_parts(found: Sequence[PartState | None], planned: Plan) -> Iterator[str]:
    """
    Yield why the parts are not all done, a part at a time.

    Args:
        found: All parts, in their order; None where nothing is kept of one.
    """
    for number, state in enumerate(found):
        part = Part(number, len(found))
        why = "has not run" if state is None else _why_unfinished(state, planned, part)
        if why:
            yield f"part {part} {why}"


def _why_unfinished(state: PartState, planned: Plan, part: Part) -> str:
    definition = planned.definition
    if state.part != part:
        return f"ran as {state.part}, of another division"
    if state.generation != definition.generation:
        now = definition.generation
        return f"ran for generation {state.generation} of the definition, which is now {now}"
    if state.key != planned.key:
        return "ran for other steps or schemas"
    return "" if state.is_done else "is not done"
