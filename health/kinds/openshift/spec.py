"""The spec of a MachineHealthCheck of OpenShift: fields, defaults, refusals, threshold and pause.

It takes what says what is meant (MHC A.1). The schema lets more through; that is refused here, and flags its
check alone, also where the machine-api-operator works with it (ADR 13):

- A selector, duration or maxUnhealthy that cannot be read: the operator fails for ever, or goes blind for all
  checks at once (rules 8 and 44).
- A condition without type or status: it could never match.
- A condition without a timeout: the operator takes it as 0, which deletes a Machine at the first hiccup.
- A maxUnhealthy below zero: the operator takes it as 0, and so deletes nothing.
- A maxUnhealthy above 32 bits: it breaks the operator's own status.
- A nodeStartupTimeout below zero ("-5m" passes a pattern that is anchored on one side only): the operator
  deletes every new Machine at once.
- A remediationTemplate without apiVersion, kind or name: the operator fails for ever.

Threshold (MHC A.2.4, rules 4, 5 and 44): remediation is allowed while `unhealthy <= maxUnhealthy`. A share is
rounded down; a whole number stands as it is, also above the number of Machines. All that do not count as
healthy use the budget up: those that are being deleted, have no Node or are marked, and those whose timer
runs.

Pause (rule 7, MHC A.2.8): while a check carries the annotation, whatever its value, nothing at all is written
for it. A check that cannot be read may be paused as well, and then nobody is told what is wrong with it. The
Lease of a target with a request is renewed all the same: others keep away.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from health.gate.check_snapshot import CheckSnapshot
from health.gate.health_check import InvalidCheckError
from health.gate.selector import LabelSelector
from health.gate.template_field import Template
from health.gate.threshold import LARGEST, Allowance, Amount, IntOrPercent
from health.model.observation import Hold, HoldReason
from objects.durations import Duration, parse_duration
from objects.frozen import FrozenObject

ALL = IntOrPercent(value=100, is_percent=True)
DEFAULT_NODE_STARTUP = timedelta(minutes=10)
_BARE_POINT = re.compile(r"(?<![0-9])\.")
PAUSED = "cluster.x-k8s.io/paused"


def parse_node_startup_timeout(text: object) -> timedelta:
    """The duration that nodeStartupTimeout names; "0" alone needs no unit.

    Go, and so the machine-api-operator, also reads "+5m" and ".5h".

    Raises:
        ValueError: it is none, negative, or longer than 292 years.

    """
    if text == "0":
        return timedelta()
    if isinstance(text, str):
        return parse_duration(_BARE_POINT.sub("0.", text.removeprefix("+")))
    return parse_duration(text)


def _fits_status(amount: IntOrPercent) -> IntOrPercent:
    if amount.value > LARGEST:
        raise ValueError("must fit into 32 bits")
    return amount


def _without_namespace(raw: object) -> object:
    """Nobody looks at the namespace of a template here, so it cannot be wrong (MHC A.1)."""
    return {key: raw[key] for key in raw if key != "namespace"} if isinstance(raw, Mapping) else raw


class Condition(FrozenObject):
    """One entry of spec.unhealthyConditions; the same one may stand there twice."""

    type: Annotated[str, Field(min_length=1)]
    status: Annotated[str, Field(min_length=1)]
    timeout: Duration


class Spec(FrozenObject):
    """spec of a MachineHealthCheck."""

    selector: LabelSelector = LabelSelector()
    unhealthy_conditions: tuple[Condition, ...] = ()
    max_unhealthy: Annotated[Amount, AfterValidator(_fits_status)] = ALL
    node_startup_timeout: Annotated[timedelta, PlainValidator(parse_node_startup_timeout)] = (
        DEFAULT_NODE_STARTUP
    )
    remediation_template: Annotated[Template, BeforeValidator(_without_namespace)] | None = None


def allowance(max_unhealthy: IntOrPercent, *, total: int, healthy: int) -> Allowance:
    """Whether remediation is allowed while `healthy` of `total` Machines are healthy."""
    return Allowance.of_required(total - max_unhealthy.floor_of(total), total=total, healthy=healthy)


def remediations_allowed(decided: Allowance) -> int:
    """How many more Machines may turn unhealthy before nothing is allowed any more."""
    return max(0, decided.healthy - decided.required)


class PausedInvalidCheckError(InvalidCheckError):
    """A check is paused, and cannot be read either."""


def pause_hold(annotations: Mapping[str, str]) -> Hold | None:
    """What these annotations of a check hold."""
    if PAUSED not in annotations:
        return None
    return Hold(reason=HoldReason.PAUSED, message=f"paused by the annotation {PAUSED}")


def is_paused(snapshot: CheckSnapshot) -> bool:
    """Whether the check is paused."""
    if isinstance(snapshot.check, InvalidCheckError):
        return isinstance(snapshot.check, PausedInvalidCheckError)
    return snapshot.context.is_fully_paused
