"""CAPI B.2: what Cluster API's MachineHealthCheck notices, how it judges, and what it does.

Where Paramedic decides otherwise than Cluster API's controller, a row names the rule that says so.
"""

from tests.conformance.rule import Section

TRIGGERS = Section(
    "CAPI B.2.1/",
    "CAPI B.2.1: what is noticed at once",
    {
        "check": "A check that is created, deleted or edited, its annotations included.",
        "Machine": "A Machine that comes, changes or goes.",
        "Cluster": "A Cluster that is paused, unpaused, initialized or ready (rule 45).",
        "Node": "A Node of the workload cluster that comes, changes or goes, by the Machine linked to it.",
        "heartbeat": "A heartbeat in a workload cluster causes no write and no message to a workflow.",
    },
)

TARGETS = Section(
    "CAPI B.2.2/",
    "CAPI B.2.2: the targets of a check",
    {
        "selected": (
            "The Machines of the check's namespace with the label of its Cluster whose labels match the "
            "selector."
        ),
        "excluded": "Those that are annotated as paused or to be skipped are no targets, and not counted.",
        "deleting": "Those that are being deleted are targets, and count as unhealthy.",
        "ownerless": "Those without an owner are targets too.",
        "no Cluster": "Without its Cluster a check does nothing, and says why.",
    },
)

VERDICT = Section(
    "CAPI B.2.3/",
    "CAPI B.2.3: what is unhealthy",
    {
        "annotation": "A Machine annotated with remediate-machine is unhealthy, before any gate.",
        "control plane": (
            "Until the Cluster's control plane is initialized only Machines of the control plane are judged."
        ),
        "infrastructure": "Until the Cluster's infrastructure is ready no Machine is judged.",
        "ungated": "A Machine that is not judged, has a Node and is not being deleted is healthy.",
        "Machine condition": "A condition of the Machine that lasts longer than its time is a failure.",
        "Node gone": "A Machine whose Node is not there any more is unhealthy at once.",
        "startup": (
            "A Machine without a Node is unhealthy strictly after nodeStartupTimeout, and never where "
            "that is 0."
        ),
        "startup base": (
            "That time counts from the latest of: creation, control plane initialized, infrastructure of "
            "the Cluster ready, infrastructure of the Machine ready."
        ),
        "Node condition": (
            "A condition of the Node is a failure strictly after its time, from its last transition."
        ),
        "merged": "One message lists all that has failed.",
    },
)

NUMBERS = Section(
    "CAPI B.2.4/",
    "CAPI B.2.4: who counts as healthy, and the threshold",
    {
        "healthy": (
            "A Machine counts as healthy if nothing makes it unhealthy, no timer runs for it, its Node is "
            "there, and it is not being deleted."
        ),
        "threshold": "Remediation is allowed while the number of unhealthy targets is at most the threshold.",
        "rounding": "A percentage of the targets is rounded down.",
        "range": "A range allows from its first to its last number, both included.",
        "negative": "A negative number or percentage allows nothing, with 0 unhealthy targets either.",
        "blocked": (
            "While nothing is allowed no Machine is marked and no request is made; the conditions of each "
            "Machine are still reported."
        ),
    },
)

REMEDIATION = Section(
    "CAPI B.2.5/",
    "CAPI B.2.5: remediation",
    {
        "mark": (
            "Without a template an unhealthy Machine is marked for its owner, in one write with what failed."
        ),
        "mark again": (
            "A mark is set where there is none, or where the owner said that the last one is done; one "
            "that stands is never touched."
        ),
        "deleting": "A Machine that is being deleted is not marked.",
        "each": "Each unhealthy Machine is marked or gets its request, whatever the others have (rule 29).",
        "healthy": "Each healthy Machine is reported as healthy, with a template too, and once (rule 30).",
        "request": (
            "With a template each unhealthy Machine gets a request of its name, with the label of its "
            "Cluster, the Machine as its one owner, and the name of its template."
        ),
        "no template": "A missing template is reported on Machine and check (rule 45).",
        "recovered": "The request of a Machine that is healthy again is deleted, once.",
        "taken back by nobody": "No mark is ever removed: the owner removes it.",
        "no deletion": "No Machine is ever deleted.",
    },
)

OWNERS = Section(
    "CAPI B.2.6/",
    "CAPI B.2.6: the owner of a marked Machine",
    {
        "fields": "Marks stand where MachineSet and KubeadmControlPlane read them.",
        "waiting": (
            "While a mark stands the incident waits for the owner, and shows reason and message of the owner."
        ),
        "refused": "A Machine that its owner cannot remediate stays marked, and the incident says why.",
        "replaced": "A marked Machine that its owner deletes ends its incident.",
        "cancelled": (
            "A marked Machine that recovers is said to be healthy, by which a MachineSet takes the mark back."
        ),
        "MachinePool": "No controller remediates Machines of a MachinePool.",
    },
    not_applicable={"MachinePool": "its Machines get a mark like others; to act on it is the owner's."},
)

PAUSE = Section(
    "CAPI B.2.7/",
    "CAPI B.2.7: pause",
    {
        "nothing": (
            "For a check that is paused, by its Cluster or its annotation, nothing is written but Paused: no "
            "condition, mark, request, label, number or Event."
        ),
        "clock": "Clocks run on: a Machine whose time is over is remediated when the pause ends.",
        "clean-up": "Requests of recovered Machines are deleted when the pause ends (rule 7).",
    },
)

REMEDIATOR = Section(
    "CAPI B.2.8/",
    "CAPI B.2.8: external remediators",
    {"remediator": "The remediator acts on a request."},
    not_applicable={"remediator": "it is the provider's own controller, not the check's."},
)

SECTIONS = (TRIGGERS, TARGETS, VERDICT, NUMBERS, REMEDIATION, OWNERS, PAUSE, REMEDIATOR)
