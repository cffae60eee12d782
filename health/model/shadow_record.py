"""ShadowRecord: the steps that an incident in shadow would have taken, and what others did. Pure."""

from datetime import datetime

from health.model.references import NO_TEMPLATE, Action, TemplateReference
from health.model.request_record import RequestRecord
from objects.frozen import Frozen, OpenEnum


class ShadowStep(Frozen):
    """A step that an incident in shadow would have taken."""

    number: int
    """Starts at 1."""
    action: OpenEnum[Action] = Action.REQUEST
    template: TemplateReference = NO_TEMPLATE
    """The template of a step that would have made a request."""
    at: datetime
    why: str
    """The condition of the target at that time."""

    def __str__(self) -> str:
        if self.action is Action.REQUEST:
            return f"{self.template.request_kind} from {self.template.name}"
        return self.action.lower()


class ShadowRecord(Frozen):
    """The shadow part of an incident's memory, kept across runs."""

    steps: tuple[ShadowStep, ...] = ()
    """In the order in which the incident would have taken them."""
    spent: int = 0
    """How many of them belong to an earlier shadow, or to an escalation before a person restarted it."""
    others: tuple[RequestRecord, ...] = ()
    """What others did to the target: each request, deletion or mark, with its start and end."""

    @property
    def current(self) -> tuple[ShadowStep, ...]:
        """The recorded steps that count as taken now."""
        return self.steps[self.spent :]
