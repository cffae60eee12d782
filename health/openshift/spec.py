"""The spec of a MachineHealthCheck of OpenShift: its fields, their defaults, and what is refused (A.1).

It takes what says what is meant. The schema lets more through; that is refused here, and flags its check
alone, also where the reference works with it (docs/decisions/0013):

- A selector, duration or maxUnhealthy that cannot be read: the reference fails for ever, or goes blind for
  all checks at once (decisions 8 and 44).
- A condition without type or status: it could never match.
- A condition without a timeout: the reference takes it as 0, which deletes a Machine at the first hiccup.
- A maxUnhealthy below zero: the reference takes it as 0, and so deletes nothing.
- A maxUnhealthy above 32 bits: it breaks the reference's own status.
- A nodeStartupTimeout below zero ("-5m" passes a pattern that is anchored on one side only): the reference
  deletes every new Machine at once.
- A remediationTemplate without apiVersion, kind or name: the reference fails for ever.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from health.durations import Duration, parse_duration
from health.frozen import FrozenObject
from health.selector import LabelSelector
from health.template_field import Template
from health.threshold import LARGEST, Amount, IntOrPercent

ALL = IntOrPercent(value=100, is_percent=True)
DEFAULT_NODE_STARTUP = timedelta(minutes=10)
_BARE_POINT = re.compile(r"(?<![0-9])\.")


def parse_node_startup_timeout(text: object) -> timedelta:
    """The duration that nodeStartupTimeout names; "0" alone needs no unit.

    Go, and so the reference, also reads "+5m" and ".5h".

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
    """Nobody looks at the namespace of a template here, so it cannot be wrong (A.1)."""
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
