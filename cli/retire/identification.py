"""Identification: whether a name is that of the installation that is to be retired. Pure.

Names of one cluster end in the same characters of kube-system's uid, so another name there is another
installation, an earlier name of this one, or the name that was meant. The first row that fits wins:

| this name                                  | another name                                | what is done |
|--------------------------------------------|---------------------------------------------|--------------|
| no trace                                   |                                             | refused      |
| its status names another namespace         |                                             | refused      |
|                                            | a status, a Lease, a request, open workflow | refused      |
| no status, and no Lease                    | closed workflows                            | refused      |
| else                                       |                                             | retired      |

`--beside NAME` takes that name out of the comparison: a person knows of it, and its objects are left.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cli.errors import NotFoundError
from cli.installations import FoundInstallation
from cli.retire.owned_objects import Snapshot, incident_on
from runtime.settings import Settings

UNCHANGED = "nothing was changed"


@dataclass
class Traces:
    """The traces of one name."""

    installed: list[FoundInstallation] = field(default_factory=list)
    requests: int = 0
    open: int = 0
    """Workflows that run."""
    closed: int = 0
    """Workflows that have ended, as far as Temporal remembers."""

    @property
    def is_live(self) -> bool:
        """Whether there is more than what Temporal remembers."""
        return bool(self.installed or self.requests or self.open)

    def __str__(self) -> str:
        counts = (
            (self.requests, "requests"),
            (self.open, "open workflows"),
            (self.closed, "closed workflows"),
        )
        return ", ".join(
            [*(one.source for one in self.installed), *(f"{count} {what}" for count, what in counts if count)]
        )


def traces_of(identity: str, snapshot: Snapshot, of_workflows: Mapping[str, Traces]) -> dict[str, Traces]:
    """The traces of each name of this cluster, by its identity."""
    uid = identity.rpartition("-")[2]
    found = dict(of_workflows)
    for one in snapshot.installed:
        found.setdefault(one.installation.cluster, Traces()).installed.append(one)
    for request in snapshot.requests:
        incident = incident_on(request)
        if incident is not None:
            found.setdefault(incident.cluster, Traces()).requests += 1
    return {name: traces for name, traces in found.items() if name.rpartition("-")[2] == uid}


def refuse_other_name(identity: str, traces: Mapping[str, Traces], beside: Collection[str] = ()) -> None:
    """Refuse a name that is not, or not alone, the name of what is installed.

    Raises:
        NotFoundError: with the names that there are.

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
    """Refuse namespaces other than the ones that the installation of this name says it has.

    `temporal` is the Temporal namespace that is asked; "": none is.

    Raises:
        NotFoundError: with the namespace that the installation names.

    """
    for found in traces[identity].installed:
        said = found.installation
        for variable, given, stored in (
            ("PARAMEDIC_NAMESPACE", settings.namespace, found.namespace),
            ("PARAMEDIC_LEASE_NAMESPACE", settings.lease_namespace, said.lease_namespace),
            ("TEMPORAL_NAMESPACE", temporal, said.temporal_namespace),
        ):
            if given and stored and given != stored:
                raise NotFoundError(
                    f"{found.source} says that {identity} has {variable}={stored}, and {given} is given, "
                    f"{UNCHANGED}"
                )


def _named(traces: Mapping[str, Traces]) -> str:
    return "; ".join(f"{name} has {of}" for name, of in sorted(traces.items()))
