"""RemediationOrder: a person's order to remediate a target that looks healthy, as an annotation on it. Pure.

The order is on the target, so that the right to change the target is the right to order (ADR 51).
"""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from health.model.boot import is_same_boot
from objects.field_problem import FieldProblem
from objects.frozen import Frozen
from objects.short_text import PersonText, ShortText
from objects.timestamps import stamp

REMEDIATE = "paramedic.dev/remediate"
"""The annotation; its value is the JSON of a RemediationOrder."""
DEFAULT_TIME = timedelta(hours=1)
LONGEST_TIME = timedelta(hours=24)
"""A forgotten order must not remediate a node days later."""
AHEAD = timedelta(minutes=1)
"""The farthest start in the future, for different clocks. A later one would bypass the longest time."""
LONGEST_VALUE = 8192
"""Characters of the annotation; a longer value is not parsed."""


class RemediationOrder(Frozen):
    """One order for the targets of one check, which expires."""

    check: ShortText
    """The check whose remediation is ordered, as `str` of its CheckReference."""
    reason: Annotated[PersonText, Field(min_length=1)]
    identity: PersonText = ""
    """The person, in its own words; the audit log of the API server names the client that wrote the order."""
    given: datetime
    until: datetime
    boot_id: ShortText = ""
    """The boot of the Node that the order is for; "": unknown."""
    is_forced: bool = False
    """True if the order passes the threshold of the check, and the storm that follows it."""

    @model_validator(mode="after")
    def _is_limited(self) -> Self:
        if not self.given < self.until <= self.given + LONGEST_TIME:
            raise ValueError("until must be after given, by at most 24 hours")
        return self

    @property
    def words(self) -> str:
        by = f" by {self.identity}" if self.identity else ""
        forced = " with --force" if self.is_forced else ""
        return f"its remediation was ordered{by}{forced}: {self.reason}"

    def why_over(self, now: datetime) -> str:
        """Why the order is not in force at `now`; "": it is."""
        if now >= self.until:
            return f"it expired at {stamp(self.until)}"
        if self.given > now + AHEAD:
            return f"it begins in the future, at {stamp(self.given)}"
        return ""

    def is_fulfilled_by(self, boot_id: str) -> bool:
        """True if the Node has booted since the order; an unknown boot fulfils nothing."""
        return bool(self.boot_id) and bool(boot_id) and not is_same_boot(boot_id, self.boot_id)

    def stands_beside(self, other: "RemediationOrder") -> bool:
        """True if this order is in force while `other` is given."""
        return other.given < self.until and not self.is_fulfilled_by(other.boot_id)


_SHOWN = 100
_CUT = "…"
"""The end of a value that was too long; no JSON ends with it."""


def _bounded(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else value[:_SHOWN] + _CUT


OrderText = Annotated[str, AfterValidator(_bounded)]
"""The value of the annotation, cut if it is too long; "" without the annotation."""


def shown(text: str) -> str:
    """The value for a message, at most its first 100 characters."""
    return text if len(text) <= _SHOWN + len(_CUT) else text[:_SHOWN] + _CUT


def problem_in(text: str) -> str:
    """Why the value of an annotation orders nothing; "" without a value, or if it is an order."""
    if not text or order_in(text) is not None:
        return ""
    if len(text) > LONGEST_VALUE or text.endswith(_CUT):
        return f"cannot be read: it has more than {LONGEST_VALUE} characters"
    try:
        RemediationOrder.model_validate_json(text)
    except ValidationError as error:
        problem = FieldProblem.of(error, _SHOWN)
        why = problem if problem.field else problem.words  # the message quotes the value of the annotation
        return f"cannot be read: {why}; write it by `paramedic remediate`"
    return ""


@lru_cache(maxsize=1024)
def order_in(text: str) -> RemediationOrder | None:
    """The order in the value of an annotation; None without one, or if the value cannot be read."""
    if not text or len(text) > LONGEST_VALUE:
        return None
    try:
        return RemediationOrder.model_validate_json(text)
    except ValidationError:
        return None
