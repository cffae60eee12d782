"""Policy: the limits that decide whether an incident may act, as users write them in one ConfigMap.

The policy may change at any time, so no component keeps a number of it: each decision reads the policy
again. The key `policy.yaml` overrides settings of the processes; a field that it does not name keeps its
setting. An unknown field is refused by name, because a misspelt limit would be no limit.
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from health.model.notification import DEFAULT_EVENTS, NotificationEvent, WantedEvents
from health.policy.held_nodes import NO_NODES, HeldNodes
from health.policy.limits import NO_LIMITS, Count, Limits
from health.policy.maintenance_windows import MOST_WINDOWS, MaintenanceWindow
from health.policy.outage_guard import WrittenGuard
from health.policy.quorum import QuorumLabels
from objects.bounds import Bounded
from objects.durations import WrittenDuration, within
from objects.event import InvolvedObject
from objects.field_problem import FieldProblem, SaysItsValueError, dotted, meant, names_beside, quoted
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata
from objects.patterns import LABEL
from objects.yaml_document import EmptyDocumentError, NoDocumentError, read_document

POLICY = "paramedic-policy"
"""The name of the ConfigMap, in the namespace of our processes."""
KEY = "policy.yaml"
SHORTEST_STALENESS, LONGEST_STALENESS = timedelta(seconds=10), timedelta(minutes=10)
"""Below the first a quiet kind would be stale repeatedly; above the second the state is not live (rule 4)."""
LONGEST_BACK_OFF = timedelta(days=366)
MOST_RECEIVERS = 10
SHORTEST_HELD_FOR, LONGEST_HELD_FOR = timedelta(minutes=1), timedelta(hours=168)
MOST_PER_MINUTE = 600
_FILE = re.compile(r"[A-Za-z0-9][-._A-Za-z0-9]{0,252}")
"""A key of a Secret that begins with a letter or digit, so it is no path, and not `..`."""


class InvalidPolicyError(Exception):
    """The policy is invalid; the message names field and value."""


def _file(name: str) -> str:
    if not _FILE.fullmatch(name):  # an address may be there by mistake, and is a secret
        raise SaysItsValueError("must be the name of a file (a key of a Secret), and no path or address")
    return name


def _without_duplicates(events: tuple[NotificationEvent, ...]) -> tuple[NotificationEvent, ...]:
    twice = next((event for event in events if events.count(event) > 1), None)
    if twice is not None:
        raise SaysItsValueError(f"must name each event once, and names {twice} {events.count(twice)} times")
    return events


class Receiver(Bounded):
    """One receiver of notifications, as the policy defines it.

    It refers to its address by the name of a file: the worker reads it in a directory that is mounted from a
    Secret. So neither the policy nor Temporal has the address, which has the token of the service.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    name: Annotated[StrictStr, LABEL]
    url_file: Annotated[StrictStr, AfterValidator(_file)]
    """The name of the file that contains its apprise URL."""
    events: Annotated[
        tuple[NotificationEvent, ...], Field(min_length=1), AfterValidator(_without_duplicates)
    ] = DEFAULT_EVENTS
    held_for: Annotated[WrittenDuration, within(SHORTEST_HELD_FOR, LONGEST_HELD_FOR)] = timedelta(minutes=30)
    max_per_minute: Annotated[StrictInt, Field(ge=1, le=MOST_PER_MINUTE)] = 10
    """The most messages that one worker sends to it; further ones are summarized."""

    @property
    def wanted(self) -> WantedEvents:
        """The part that goes to incidents, without its address."""
        return WantedEvents(
            receiver=self.name, events=self.events, held_for_seconds=self.held_for.total_seconds()
        )


_Named = TypeVar("_Named", MaintenanceWindow, Receiver)


def _names_once(entries: str) -> AfterValidator:
    """Refuses two `entries` (windows or receivers) of the same name."""

    def with_names_once(found: tuple[_Named, ...]) -> tuple[_Named, ...]:
        names = [entry.name for entry in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SaysItsValueError(f"two {entries} have the name {twice}")
        return found

    return AfterValidator(with_names_once)


class Policy(Bounded):
    """The values of the policy at one moment; a person writes the fields in camelCase."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )

    staleness_limit: Annotated[WrittenDuration, within(SHORTEST_STALENESS, LONGEST_STALENESS)] = timedelta(
        seconds=30
    )
    """No act uses a cluster state that was last confirmed longer ago than this."""
    back_off_limit: Annotated[WrittenDuration, within(timedelta(), LONGEST_BACK_OFF)] = timedelta(minutes=30)
    """The longest wait between two remediations of one target; zero: no wait."""
    outage_guard: WrittenGuard = None
    """When the monitoring is suspected instead of the Nodes; None: never."""
    shadow: StrictBool = False
    """True if all checks are in shadow, so that nothing is written."""
    held_nodes: HeldNodes = NO_NODES
    """The signs that a Node is under maintenance."""
    limits: Limits = NO_LIMITS
    """How many remediations of all checks may be in progress, and begin within an hour."""
    quorum_labels: QuorumLabels = ()
    """More labels of members of a quorum, beside those of the known distributions."""
    orders_by_annotation: StrictBool = True
    """An annotation on a Node, Machine or check gives an order to its incidents; False: it is refused."""
    forced_orders: StrictBool = False
    """An order to remediate may pass the threshold of its check; False: --force has no effect."""
    max_orders_in_flight: Count = 1
    """How many remediations that people ordered may be in progress for one check."""
    maintenance_windows: Annotated[
        tuple[MaintenanceWindow, ...], Field(max_length=MOST_WINDOWS), _names_once("windows")
    ] = ()
    """When remediations may begin."""
    notifications: Annotated[
        tuple[Receiver, ...], Field(max_length=MOST_RECEIVERS), _names_once("receivers")
    ] = ()
    """The receivers of notifications about incidents."""

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """The policy in the text.

        Raises:
            InvalidPolicyError: the text is not a valid policy.

        """
        try:
            return cls.model_validate(read_document(text), by_name=False)
        except EmptyDocumentError:
            return cls()
        except NoDocumentError as error:
            found = None if error.value is None else quoted(error.value)
            problem = FieldProblem(field=dotted((error.field or "",)), words=str(error), found=found)
            raise InvalidPolicyError(str(problem)) from error
        except ValidationError as error:
            first, words = error.errors(include_url=False)[0], str(FieldProblem.of(error))
            if first["type"] == "extra_forbidden":
                names = names_beside(cls, first["loc"])
                listed = f"; there are {', '.join(names)}" if names else ""
                words += meant(str(first["loc"][-1]), names) or listed
            raise InvalidPolicyError(words) from error

    def over(self, defaults: "Policy") -> "Policy":
        """The policy: the fields that were given here, and `defaults` for the others."""
        return defaults.model_copy(update={name: getattr(self, name) for name in self.model_fields_set})


DEFAULTS = Policy()
CurrentPolicy = Callable[[], Policy]
"""Returns the policy in force now."""


def policy_of(data: Mapping[str, str]) -> Policy:
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
        return Policy.parse(data[KEY])
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
        return policy_of(self.data).over(defaults)

    @property
    def subject(self) -> InvolvedObject:
        return policy_subject(self.metadata.namespace, self.metadata.uid)

    def __str__(self) -> str:
        return f"ConfigMap {self.metadata.namespace}/{self.metadata.name}"
