"""A MachineSet of OpenShift's machine API, as the stand-in for its controllers reads it."""

from typing import Any

from pydantic import Field

from kube.metadata import Metadata, PartialModel


class TemplateMetadata(PartialModel):
    """What each Machine gets beside its name."""

    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class MachineTemplate(PartialModel):
    """What each Machine is made from."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: dict[str, Any] = Field(default_factory=dict)


class MachineSetSpec(PartialModel):
    """What is asked for."""

    replicas: int = 1
    template: MachineTemplate = MachineTemplate()


class MachineSetStatus(PartialModel):
    """The numbers that are shown; None while there never were any."""

    replicas: int | None = None
    ready_replicas: int | None = None
    available_replicas: int | None = None


class OpenShiftMachineSet(PartialModel):
    """A MachineSet."""

    metadata: Metadata
    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()
