"""Reads the policy that users write: the key `policy.yaml` of one ConfigMap.

The document overrides settings of the processes; a field that it does not name keeps its setting. An unknown
field is refused by name, because a misspelt limit would be no limit.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, ValidationError
from pydantic.alias_generators import to_camel

from health.policy.held_nodes import HeldNodes
from health.policy.limits import Count, Limits
from health.policy.maintenance_windows import MOST_WINDOWS, MaintenanceWindow, unique
from health.policy.outage_guard import WrittenGuard
from health.policy.policy import Policy
from health.policy.quorum import QuorumLabels
from health.policy.receivers import MOST_RECEIVERS, Receiver, unique_receivers
from objects.bounds import Bounded
from objects.close_names import meant, names_beside
from objects.durations import WrittenDuration, within
from objects.event import InvolvedObject
from objects.field_problem import FieldProblem, dotted, quoted
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata
from objects.yaml_document import EmptyDocumentError, NoDocumentError, read_document

POLICY = "paramedic-policy"
"""The name of the ConfigMap, in the namespace of our processes."""
KEY = "policy.yaml"
SHORTEST_STALENESS, LONGEST_STALENESS = timedelta(seconds=10), timedelta(minutes=10)
"""Below the first a quiet kind would be stale repeatedly; above the second the state is not live (rule 4)."""
LONGEST_BACK_OFF = timedelta(days=366)


class InvalidPolicyError(Exception):
    """The policy is invalid; the message names field and value."""


class PolicyDocument(Bounded):
    """The contents of `policy.yaml`; the fields are those of Policy."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    staleness_limit: Annotated[WrittenDuration, within(SHORTEST_STALENESS, LONGEST_STALENESS)] = (
        Policy.staleness_limit
    )
    back_off_limit: Annotated[WrittenDuration, within(timedelta(), LONGEST_BACK_OFF)] = Policy.back_off_limit
    outage_guard: WrittenGuard = Policy.outage_guard
    shadow: StrictBool = Policy.shadow
    held_nodes: HeldNodes = Policy.held_nodes
    limits: Limits = Policy.limits
    quorum_labels: QuorumLabels = Policy.quorum_labels
    orders_by_annotation: StrictBool = Policy.orders_by_annotation
    forced_orders: StrictBool = Policy.forced_orders
    max_orders_in_flight: Count = Policy.max_orders_in_flight
    maintenance_windows: Annotated[
        tuple[MaintenanceWindow, ...], Field(max_length=MOST_WINDOWS), AfterValidator(unique)
    ] = Policy.maintenance_windows
    notifications: Annotated[
        tuple[Receiver, ...], Field(max_length=MOST_RECEIVERS), AfterValidator(unique_receivers)
    ] = Policy.notifications

    @classmethod
    def parse(cls, text: str | bytes) -> "PolicyDocument":
        """The policy in the text.

        Raises:
            InvalidPolicyError: the text is not a valid policy.

        """
        try:
            return cls.model_validate(read_document(text))
        except EmptyDocumentError:
            return cls()
        except NoDocumentError as error:
            found = quoted(error.value) if error.value else ""
            problem = FieldProblem(field=dotted((error.field,)), words=str(error), found=found)
            raise InvalidPolicyError(str(problem)) from error
        except ValidationError as error:
            raise InvalidPolicyError(cls._first_problem(error)) from error

    @classmethod
    def _first_problem(cls, error: ValidationError) -> str:
        first, problem = error.errors(include_url=False)[0], str(FieldProblem.of(error))
        if first["type"] != "extra_forbidden":
            return problem
        names = names_beside(cls, first["loc"])
        listed = f"; there are {', '.join(names)}" if names else ""
        return f"{problem}{meant(str(first['loc'][-1]), names) or listed}"

    def over(self, defaults: Policy) -> Policy:
        """The policy: the fields named here, and `defaults` for the others."""
        return replace(defaults, **{name: getattr(self, name) for name in self.model_fields_set})


def document_of(data: Mapping[str, str]) -> PolicyDocument:
    """The policy in the data of the ConfigMap.

    Raises:
        InvalidPolicyError: the data is not a valid policy; names the key before the field.

    """
    others = sorted(data.keys() - {KEY})
    if others:
        raise InvalidPolicyError(f"data.{others[0]}: there is no such key, there is {KEY}")
    if KEY not in data:
        raise InvalidPolicyError(f"data.{KEY}: is missing")
    try:
        return PolicyDocument.parse(data[KEY])
    except InvalidPolicyError as error:
        raise InvalidPolicyError(f"{KEY}: {error}") from error


def policy_subject(namespace: str, uid: str = "") -> InvolvedObject:
    """The ConfigMap as the subject of Events; without a uid if it does not exist."""
    return InvolvedObject(api_version="v1", kind="ConfigMap", namespace=namespace, name=POLICY, uid=uid)


class StoredPolicy(FrozenObject):
    """The ConfigMap of the policy, valid or not."""

    metadata: ObjectMetadata
    data: Mapping[str, str] = Field(default_factory=dict)

    @property
    def is_blank(self) -> bool:
        """True if it has no policy: no key, or only comments in it. `{}` is a policy."""
        try:
            read_document(self.data.get(KEY, ""))
        except EmptyDocumentError as error:
            return not error.is_mapping
        except NoDocumentError:
            return False
        return False

    def over(self, defaults: Policy) -> Policy:
        """Its policy over `defaults`.

        Raises:
            InvalidPolicyError: the data is not a valid policy.

        """
        return document_of(self.data).over(defaults)

    @property
    def subject(self) -> InvolvedObject:
        return policy_subject(self.metadata.namespace, self.metadata.uid)

    def __str__(self) -> str:
        return f"ConfigMap {self.metadata.namespace}/{self.metadata.name}"
