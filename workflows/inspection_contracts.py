"""Contracts of the questions of people to the leading detector: what they ask, and its answers (ADR 62).

The command starts each as an activity without a workflow, on the queue that only the leader polls. An answer
has values; the command makes the page of them, and its `-o json` prints them. Lists end at `MOST_BYTES`,
because Temporal refuses a payload of 2 MB, and the answer counts what it leaves out.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field
from temporalio.common import RetryPolicy

from health.check.threshold import Allowance
from health.model.observation import Hold
from health.model.order import OrderRecord
from health.model.references import CheckReference, TargetReference
from health.model.remediation_order import RemediationOrder
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText
from objects.yaml_document import LONGEST
from workflows.kit import Contract

MOST_BYTES = 300_000
"""Of the JSON of the targets and checks in one answer: of about 1,500 targets, which takes a few seconds."""
ANSWERED_WITHIN = timedelta(seconds=20)
"""For all attempts: the leader may change, or be busy with other questions."""
NOT_FOUND, REFUSED = "NotFound", "Refused"
"""Types of the failure of a question that no repetition answers: an unknown name, and a wrong text."""


def _question(name: str) -> Contract:
    again = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=2))
    return Contract(
        name=name, start_to_close=timedelta(seconds=15), schedule_to_close=ANSWERED_WITHIN, retry=again
    )


EXPLAIN, CHECK, SIMULATE = _question("explain"), _question("check"), _question("simulate")
PREVIEW_ORDER = _question("preview_order")

Name = Annotated[str, Field(min_length=1, max_length=1_000)]


class NameInput(Frozen):
    """Asks about the target (`explain`) or the check (`check`) of that name."""

    name: Name


class SimulateInput(Frozen):
    """Asks for the decisions under another check or policy."""

    text: Annotated[str, Field(max_length=LONGEST)]
    """YAML or JSON: a health check, or the policy."""
    is_policy: bool = False


class PreviewOrderInput(Frozen):
    """Asks whether an order to remediate would be refused; nothing is written."""

    target: Name
    check: Name
    reason: PersonText
    identity: PersonText = ""
    duration_seconds: float
    is_forced: bool = False


class Decided(StrEnum):
    """The kinds of decisions about a target that needs one."""

    WAITS = "waits"
    """The duration of its condition is not over."""
    HELD = "held"
    HELD_BY_PERSON = "held by a person"
    LEFT_ALONE = "left alone"
    """A person aborted its remediation, and nothing is left to clean up."""
    MAY_ACT = "may act"
    REMEDIATING = "remediating"
    """It has a request, a mark, or is being deleted."""
    EXHAUSTED = "exhausted"
    """Every step was tried."""
    UNKNOWN = "unknown"
    """Its state cannot be judged, which holds it; or its incident has not asked this leader yet."""
    CLEANING_UP = "cleaning up"
    """It is no longer unhealthy, or a person aborted it, and its request is still there."""


class ThresholdAnswer(Frozen):
    """The numbers of a threshold, and whether it allows a remediation."""

    is_allowed: bool
    total: int
    healthy: int
    words: str

    @classmethod
    def of(cls, found: Allowance | None) -> "ThresholdAnswer | None":
        if found is None:
            return None
        return cls(is_allowed=found.allowed, total=found.total, healthy=found.healthy, words=found.words)


class ConditionAnswer(Frozen):
    """One rule about a condition of the Node, and the condition that the Node has."""

    type: str
    unhealthy_status: str
    duration_seconds: float
    status: str | None = None
    """None: the Node lacks the condition."""
    since: datetime | None = None
    deadline: datetime | None = None
    """When the rule makes the target due; None while it does not match."""
    words: str = ""
    """If it matches: since when, by whose clock, and what restarted its timer how often."""


class LimitAnswer(Frozen):
    """The limits of one scope, with the remediations in flight that count."""

    limits: str
    chosen_by: str
    in_flight: int


class LeaseAnswer(Frozen):
    """The holder of a Lease of the target."""

    lease: str
    holder: str
    until: datetime | None
    """None: its hold does not expire by itself."""


class SupposedAnswer(Frozen):
    """The answer for a healthy target, if its Node had failed long enough ago."""

    condition: str
    after_seconds: float
    holds: tuple[Hold, ...] = ()
    threshold: ThresholdAnswer | None = None


class TargetAnswer(Frozen):
    """The decision about one target, with the reason and its numbers."""

    target: str
    decided: OpenEnum[Decided]
    hold: Hold | None = None
    """Why nothing new is done, unless a person ordered that; None: nothing holds it."""
    message: str
    """The hold, the condition or the words of the runbook that decide, if no order does."""
    requests: tuple[str, ...] = ()
    ordered: OrderRecord | None = None
    """The order of a person that decides, or blocks the next step."""
    claimed: OrderRecord | None = None


class ExplanationAnswer(Frozen):
    """Everything that decides about one target under one check, at one moment."""

    check: str
    uid: str
    incident: str
    """The workflow id of its incident, whether there is one or not."""
    decision: TargetAnswer
    words: str = ""
    """The difference from other incidents, in the words of the workflow."""
    state: str
    reason: str
    deadline: datetime | None = None
    holds: tuple[Hold, ...] = ()
    """Those of check and target, in the order of precedence."""
    standing: tuple[OrderRecord, ...] = ()
    """The orders of people that stand."""
    approval: str = ""
    """The question to people about the next step, or its answer; "": there is none."""
    goes_on: str = ""
    """The end of a wait for a person, a remediator or a clean-up; "": there is no such wait."""
    goes_on_at: datetime | None = None
    conditions: tuple[ConditionAnswer, ...] = ()
    threshold: ThresholdAnswer | None = None
    limits: tuple[LimitAnswer, ...] = ()
    maintenance_windows: str
    leases: tuple[LeaseAnswer, ...] = ()
    back_off: str
    steps: tuple[str, ...] = ()
    is_shadow: bool = False
    begun: datetime | None = None
    """When the first request was created that exists; None: there is none."""
    if_it_failed: SupposedAnswer | None = None


class InvalidCheckAnswer(Frozen):
    """A check that cannot be read, and that may select the target."""

    check: str
    problem: str


class ExplainAnswer(Frozen):
    """The explanations of one target, one for each check that selects it."""

    cluster: str
    leader: str
    """The detector that answers."""
    at: datetime
    checks: tuple[ExplanationAnswer, ...]
    invalid_checks: tuple[InvalidCheckAnswer, ...] = ()
    left_out: int = 0
    """How many more checks select or may select it; the answer would be too long."""


class CheckAnswer(Frozen):
    """One check at one moment, with the decisions about its targets."""

    check: str
    cluster: str
    leader: str
    at: datetime
    problem: str | None = None
    """Why the check is invalid; None: it is valid."""
    is_shadow: bool
    selected: int
    unhealthy: int
    threshold: ThresholdAnswer | None = None
    holds: tuple[Hold, ...] = ()
    """The holds of the check as a whole, in the order of precedence."""
    has_storm: bool = False
    decisions: tuple[TargetAnswer, ...] = ()
    """The targets that need a decision, in the order of their names."""
    left_out: int = 0
    """How many more such targets there are; the answer would be too long."""


class SimulatedCheckAnswer(Frozen):
    """One check, with its decisions now and under the simulation."""

    check: str
    selected: int
    threshold: ThresholdAnswer | None = None
    problem: str | None = None
    holds: tuple[Hold, ...] = ()
    now: tuple[TargetAnswer, ...] = ()
    """The decisions as they are."""
    simulated: tuple[TargetAnswer, ...] = ()
    """The decisions as they would be."""

    def deciding(self, now: tuple[TargetAnswer, ...], simulated: tuple[TargetAnswer, ...]) -> Self:
        return self.model_copy(update={"now": now, "simulated": simulated})


class SimulationAnswer(Frozen):
    """A simulation of one check or policy, for all checks that it concerns."""

    cluster: str
    leader: str
    at: datetime
    of: str
    """The simulated check, or "the policy"."""
    checks: tuple[SimulatedCheckAnswer, ...] = ()
    left_out: int = 0
    """How many more targets and checks there are; the answer would be too long."""
    unread_templates: tuple[str, ...] = ()
    """Templates that the leader does not watch, because no check in force names their kind."""


class OrderPreview(Frozen):
    """An order to remediate as it would stand now, and what the leader says to it."""

    cluster: str
    check: CheckReference
    target: TargetReference
    order: RemediationOrder
    refused: str | None = None
    waits_for: Hold | None = None
    """The first hold that the order does not pass; None: nothing holds it now."""
