"""ShadowRecord: what an incident in shadow would have done, beside what others did meanwhile. Pure."""

from datetime import datetime

from health.model.references import NO_TEMPLATE, Action, TemplateReference
from health.model.request_record import RequestRecord
from objects.frozen import Frozen, OpenEnum


class ShadowStep(Frozen):
    """A step that would have been taken."""

    number: int
    """Counted from 1."""
    action: OpenEnum[Action] = Action.REQUEST
    template: TemplateReference = NO_TEMPLATE
    """Of a step that would have made a request."""
    at: datetime
    why: str
    """The condition of the target then."""

    def __str__(self) -> str:
        if self.action is Action.REQUEST:
            return f"{self.template.request_kind} from {self.template.name}"
        return self.action.lower()


class ShadowRecord(Frozen):
    """What is kept of it, and travels from run to run."""

    steps: tuple[ShadowStep, ...] = ()
    """In the order in which they would have been taken."""
    spent: int = 0
    """How many of them were of an earlier shadow, or before a person had the steps begun anew."""
    others: tuple[RequestRecord, ...] = ()
    """What others did to the target: each request, and a deletion or mark, from when to when."""

    @property
    def current(self) -> tuple[ShadowStep, ...]:
        """Those that count as taken."""
        return self.steps[self.spent :]
