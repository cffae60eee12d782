"""The remediators that Paramedic knows: what each does and needs, and how far the project has tried it.

The table is for people, in findings of `paramedic doctor` and in docs/remediators.md. Paramedic works with
remediators that are not in the table, too.
"""

from dataclasses import dataclass
from enum import StrEnum

PAGE = "docs/remediators.md"
TEST_ON_ONE_NODE = f"{PAGE}#test-it-on-one-node"


class Platform(StrEnum):
    """An API that some remediators need, by its words in findings."""

    OPENSHIFT = "the machine API of OpenShift"
    CLUSTER_API = "Cluster API"
    METAL3 = "BareMetalHosts of Metal3"


SIGNS = {
    Platform.OPENSHIFT: ("machine.openshift.io/v1beta1", "Machine"),
    Platform.CLUSTER_API: ("cluster.x-k8s.io/v1beta2", "Machine"),
    Platform.METAL3: ("metal3.io/v1alpha1", "BareMetalHost"),
}
"""The kind that shows a platform; another version of its group shows it as well."""


class Tried(StrEnum):
    """How far the project has tried a remediator with Paramedic, by its words in findings."""

    REAL = "tried with its real controller"
    STAND_IN = "tried with a stand-in for its controller"
    NO = "not tried by the project"


@dataclass(frozen=True, kw_only=True)
class Remediator:
    """One row: a controller that remediates targets, at the request of a check."""

    name: str
    acts: str
    """The action on an unhealthy target, as a sentence without a subject."""
    needs: str
    """Its conditions beside its CRDs and its controller, as the object of a sentence."""
    tried: Tried
    platforms: frozenset[Platform] = frozenset()
    """All of these are needed; empty: any cluster."""
    api_version: str = ""
    """The apiVersion of its template; another version of the group does as well. "": it has no template."""
    template: str = ""
    """The kind of its template; its requests have the same kind without "Template"."""
    without_template: str = ""
    """The API group of the checks that mean this remediator when they name no template."""
    deployment: str = ""
    """The usual name of the Deployment of its controller."""
    lease: str = ""
    """The name of the leader Lease of its controller."""
    section: str = ""
    """Its section in the page, if that has another title than its name."""

    @property
    def group(self) -> str:
        """The API group of its template; "" without one."""
        return self.api_version.partition("/")[0]

    @property
    def anchor(self) -> str:
        """A link to its section in the page."""
        return f"{PAGE}#{(self.section or self.name).lower().replace(' ', '-')}"

    def fits(self, platforms: frozenset[Platform]) -> bool:
        """True if a cluster with these platforms has what it needs."""
        return self.platforms <= platforms


REMEDIATORS = (
    Remediator(
        name="Self Node Remediation",
        acts="has an agent on the node reboot it, by a watchdog if there is one",
        needs="its DaemonSet on every node, and better a watchdog device",
        tried=Tried.NO,
        api_version="self-node-remediation.medik8s.io/v1alpha1",
        template="SelfNodeRemediationTemplate",
        deployment="self-node-remediation-controller-manager",
        lease="547f6cb6.medik8s.io",
    ),
    Remediator(
        name="Fence Agents Remediation",
        acts="power-cycles the node by a fence agent, such as fence_ipmilan or fence_aws",
        needs="the address and the credentials of a BMC, hypervisor or cloud for each node",
        tried=Tried.REAL,
        api_version="fence-agents-remediation.medik8s.io/v1alpha1",
        template="FenceAgentsRemediationTemplate",
        deployment="fence-agents-remediation-controller-manager",
        lease="cb305759.medik8s.io",
    ),
    Remediator(
        name="Machine Deletion Remediation",
        acts="deletes the Machine of the node, so that its MachineSet makes another",
        needs="a Machine with a controller as owner, such as a MachineSet, behind each node",
        tried=Tried.REAL,
        platforms=frozenset({Platform.OPENSHIFT}),
        api_version="machine-deletion-remediation.medik8s.io/v1alpha1",
        template="MachineDeletionRemediationTemplate",
        deployment="machine-deletion-remediation-controller-manager",
        lease="285d4098.example.com",
    ),
    Remediator(
        name="Metal3 Remediation",
        acts="powers the BareMetalHost of the Machine off and on",
        needs="a BareMetalHost behind each Machine, and the Bare Metal Operator",
        tried=Tried.REAL,
        platforms=frozenset({Platform.METAL3}),
        api_version="infrastructure.cluster.x-k8s.io/v1beta2",
        template="Metal3RemediationTemplate",
        deployment="capm3-controller-manager",
        lease="controller-leader-election-capm3",
    ),
    Remediator(
        name="Machine deletion",
        acts="is Paramedic itself: the worker deletes the Machine, and its MachineSet makes another",
        needs="a MachineHealthCheck without a template, and the component openshift-machines",
        tried=Tried.STAND_IN,
        platforms=frozenset({Platform.OPENSHIFT}),
        without_template="machine.openshift.io",
    ),
    Remediator(
        name="Mark for bare metal",
        acts="is the provider for bare metal, which reboots the host of a Machine with the mark",
        needs="a MachineHealthCheck without a template, with the strategy external-baremetal",
        tried=Tried.STAND_IN,
        platforms=frozenset({Platform.OPENSHIFT, Platform.METAL3}),
    ),
    Remediator(
        name="Mark for the owner",
        acts="is the owner of the Machine, such as a MachineSet, which replaces a Machine with the mark",
        needs="a MachineHealthCheck without a template, and Machines with an owner",
        tried=Tried.STAND_IN,
        platforms=frozenset({Platform.CLUSTER_API}),
        without_template="cluster.x-k8s.io",
    ),
)
