"""Identification: whether a name is that of the installation that is to be retired. Pure.

Names of one cluster end with the same characters of kube-system's uid, so another name with that end is of
another installation, an earlier name of this one, or the name that was meant. The first row that fits wins:

| this name                                  | another name                                | result  |
|--------------------------------------------|---------------------------------------------|---------|
| no trace                                   |                                             | refused |
| its status names another namespace         |                                             | refused |
|                                            | a status, a Lease, a request, open workflow | refused |
| no status, and no Lease                    | closed workflows                            | refused |
| else                                       |                                             | retired |

`--beside NAME` excludes that name from the comparison: the user knows of it, and its objects stay.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cli.retire.owned_objects import Snapshot, incident_on
from cli.shared.errors import NotFoundError
from cli.shared.installations import FoundInstallation
from runtime.settings import Settings

UNCHANGED = "nothing was changed"


@dataclass
class Traces:
    """Evidence of one name: installations, requests and workflows."""

    installed: list[FoundInstallation] = field(default_factory=list)
    requests: int = 0
    open: int = 0
    """Open workflows."""
    closed: int = 0
    """Closed workflows within the retention."""

    @property
    def is_live(self) -> bool:
        """True if there is more than closed workflows."""
        return bool(self.installed or self.requests or self.open)

    def __str__(self) -> str:
        counts = (
            (self.requests, "requests"),
            (self.open, "open workflows"),
            (self.closed, "closed workflows"),
        )
        sources = (installation.source for installation in self.installed)
        return ", ".join([*sources, *(f"{count} {subject}" for count, subject in counts if count)])


def traces_of(identity: str, snapshot: Snapshot, of_workflows: Mapping[str, Traces]) -> dict[str, Traces]:
    """The traces of each name of this cluster, by identity."""
    uid = identity.rpartition("-")[2]
    found = dict(of_workflows)
    for installed in snapshot.installed:
        found.setdefault(installed.installation.cluster, Traces()).installed.append(installed)
    for request in snapshot.requests:
        incident = incident_on(request)
        if incident is not None:
            found.setdefault(incident.cluster, Traces()).requests += 1
    return {name: traces for name, traces in found.items() if name.rpartition("-")[2] == uid}


def refuse_other_name(identity: str, traces: Mapping[str, Traces], beside: Collection[str] = ()) -> None:
    """Refuse a name that is not the only name of an installation in this cluster.

    Raises:
        NotFoundError: the message lists the other names.

    """
    others = {name: of for name, of in traces.items() if name != identity}
    ours = traces.get(identity)
    if ours is None:
        there = _named(others) if others else "there is none of any name"
        raise NotFoundError(f"this cluster has no installation called {identity}, {UNCHANGED}: {there}")
    compared = {name: of for name, of in others.items() if not {name, name.rpartition("-")[0]} & set(beside)}
    if doubtful := {name: of for name, of in compared.items() if of.is_live or not ours.installed}:
        advice = " ".join(f"--beside {name}" for name in sorted(doubtful))
        raise NotFoundError(
            f"{identity} is not the only name in this cluster, {UNCHANGED}: {_named(doubtful)}; "
            f"to retire {identity} all the same and leave the rest, add {advice}"
        )


def refuse_other_place(
    identity: str, traces: Mapping[str, Traces], settings: Settings, temporal: str
) -> None:
    """Refuse namespaces other than those that the installation itself names.

    `temporal` is the given Temporal namespace, "" if Temporal is not asked.

    Raises:
        NotFoundError: the message names the installation's namespace.

    """
    for found in traces[identity].installed:
        installation = found.installation
        for variable, setting, stored in (
            ("PARAMEDIC_NAMESPACE", settings.namespace, found.namespace),
            ("PARAMEDIC_LEASE_NAMESPACE", settings.lease_namespace, installation.lease_namespace),
            ("TEMPORAL_NAMESPACE", temporal, installation.temporal_namespace),
        ):
            if setting and stored and setting != stored:
                raise NotFoundError(
                    f"{found.source} says that {identity} has {variable}={stored}, and {setting} is given, "
                    f"{UNCHANGED}"
                )


def _named(traces: Mapping[str, Traces]) -> str:
    return "; ".join(f"{name} has {of}" for name, of in sorted(traces.items()))
