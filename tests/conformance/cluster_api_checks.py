"""CAPI B: what users of Cluster API's MachineHealthCheck rely on.

Where Paramedic decides otherwise than Cluster API's controller, a row names the rule that says so.
"""

from tests.conformance.rule import Section

SECTIONS = (
    Section(
        "CAPI B.1/",
        "reads each field of v1beta2 and v1beta1, and writes label and owner of the Cluster",
        {
            "kind": ("MachineHealthCheck is read as v1beta2 where it is served, else as v1beta1 (rule 32)."),
            "version under way": (
                "A cluster that begins or ceases to serve a version is read in the other one by running "
                "processes; nothing is lost."
            ),
            "no conversion": (
                "A check that is handed out as v1beta2 with the fields of v1beta1 is read by its fields."
            ),
            "ClusterClass": ("A check that a ClusterClass made works like any other."),
            "label": ("The check gets the label with the name of its Cluster."),
            "owner": (
                "The check gets its Cluster as an owner that is no controller; other owners stay as they are."
            ),
            "columns": "kubectl prints cluster and numbers.",
            "webhook": ("The webhooks default and validate what is written."),
            "metrics": ("kube-state-metrics shows checks, their numbers and conditions."),
            "clusterName": (
                "The Cluster of that name in the check's namespace is the one that is looked at."
            ),
            "selector": ("Labels and expressions that must all hold; an empty selector selects nothing."),
            "nodeStartupTimeout": (
                "Seconds, or in v1beta1 a duration; 10 minutes by default, and 0 turns it off."
            ),
            "unhealthyNodeConditions": (
                "Conditions of the Node, each a type, a status and a time (in v1beta1 "
                "unhealthyConditions); there may be none."
            ),
            "unhealthyMachineConditions": (
                "The same of conditions of the Machine itself; there may be none."
            ),
            "unhealthyLessThanOrEqualTo": (
                "A number or a percentage (in v1beta1 maxUnhealthy); 100% by default; above 100% all is "
                "allowed."
            ),
            "unhealthyInRange": ("[min-max] (in v1beta1 unhealthyRange) wins over the number."),
            "templateRef": (
                "apiVersion, kind and name of a template in the check's own namespace (in v1beta1 "
                "remediationTemplate)."
            ),
            "refused": (
                "An unusable spec (a range that ends before it begins, a number that is too large, a "
                "broken selector) gives that check alone a condition and one Event, with field and value;"
                " the check never acts."
            ),
        },
        {
            "columns": ("the CRD is Cluster API's own; Paramedic does not install it."),
            "webhook": ("they are the core manager's own, and stay."),
            "metrics": ("it reads them from the status, whichever controller writes it."),
        },
    ),
    Section(
        "CAPI B.1/status/",
        "publishes numbers, targets and conditions in the served version",
        {
            "expectedMachines": "The number of targets.",
            "currentHealthy": ("The number of targets that count as healthy."),
            "remediationsAllowed": ("How many more may turn unhealthy; 0 when none is allowed."),
            "targets": "The names of the targets, sorted.",
            "observedGeneration": ("The generation of the spec that the status tells of."),
            "RemediationAllowed": (
                "True, or False with TooManyUnhealthy and the numbers that decided, also below a range "
                "(rule 31)."
            ),
            "Paused": ("True with what pauses, the Cluster, the annotation or both, else False."),
            "form": (
                "Conditions have the form of the version that is served, with the twins that it keeps for"
                " the other one (rule 32)."
            ),
            "lastTransitionTime": (
                "Moves when the status of a condition changes; in the form of v1beta1 when anything of it"
                " does."
            ),
            "other conditions": ("Conditions of other controllers stay as they are."),
        },
    ),
    Section(
        "CAPI B.1/condition/",
        "reports health, owner and external remediation on each Machine",
        {
            "HealthCheckSucceeded": (
                "True on a healthy Machine, False with what failed on an unhealthy one."
            ),
            "reasons": (
                "The reason says what failed, in the word of each version: the annotation, the Node that "
                "is gone, its startup, its conditions, or the Machine's own, which win over the others."
            ),
            "OwnerRemediated": ("False, with WaitingForRemediation, asks the owner to remediate."),
            "ExternallyRemediated": (
                "False where a template remediates: WaitingForRemediation, RemediationTemplateNotFound, "
                "RemediationTemplateForbidden where we may not read it, or "
                "RemediationRequestCreationFailed."
            ),
            "form": (
                "In v1beta2 they stand in status.conditions, with twins of severity Warning in "
                "status.deprecated.v1beta1; in v1beta1 in status.conditions, with twins in "
                "status.v1beta2."
            ),
            "others": ("Conditions of other writers survive each of our writes, also in the same moment."),
        },
    ),
    Section(
        "CAPI B.1/annotation/",
        "reads the annotations to pause, to skip and to remediate",
        {
            "paused": ("cluster.x-k8s.io/paused pauses a check, and takes a Machine out of its targets."),
            "skip-remediation": ("cluster.x-k8s.io/skip-remediation takes a Machine out of the targets."),
            "remediate-machine": ("cluster.x-k8s.io/remediate-machine makes a Machine unhealthy at once."),
            "cloned-from": ("A request names its template in the two cloned-from annotations."),
        },
    ),
    Section(
        "CAPI B.1/event/",
        "emits the Events of the controller, each once per transition",
        {
            "form": (
                "Events come from machinehealthcheck-controller, in the namespace of what they are about,"
                " once for each transition (rule 15)."
            ),
            "RemediationRestricted": (
                "Warning on the check, when the threshold begins to hold at least one Machine that failed."
            ),
            "MachineMarkedUnhealthy": ("Normal on the Machine, when it was marked or got its request."),
        },
    ),
    Section(
        "CAPI B.2.1/",
        "reacts at once to checks, Machines, Clusters and Nodes",
        {
            "check": ("A check that is created, deleted or edited, its annotations included."),
            "Machine": "A Machine that comes, changes or goes.",
            "Cluster": ("A Cluster that is paused, unpaused, initialized or ready (rule 45)."),
            "Node": (
                "A Node of the workload cluster that comes, changes or goes, by the Machine linked to it."
            ),
            "heartbeat": ("A heartbeat in a workload cluster causes no write and no message to a workflow."),
        },
    ),
    Section(
        "CAPI B.2.2/",
        "selects the Machines of the Cluster, except paused and skipped ones",
        {
            "selected": (
                "The Machines of the check's namespace with the label of its Cluster whose labels match "
                "the selector."
            ),
            "excluded": (
                "Those that are annotated as paused or to be skipped are no targets, and not counted."
            ),
            "deleting": ("Those that are being deleted are targets, and count as unhealthy."),
            "ownerless": "Those without an owner are targets too.",
            "no Cluster": ("Without its Cluster a check does nothing, and says why."),
        },
    ),
    Section(
        "CAPI B.2.3/",
        "judges Machine, Node and startup, once the Cluster is ready",
        {
            "annotation": ("A Machine annotated with remediate-machine is unhealthy, before any gate."),
            "control plane": (
                "Until the Cluster's control plane is initialized only Machines of the control plane are "
                "judged."
            ),
            "infrastructure": ("Until the Cluster's infrastructure is ready no Machine is judged."),
            "ungated": ("A Machine that is not judged, has a Node and is not being deleted is healthy."),
            "Machine condition": ("A condition of the Machine that lasts longer than its time is a failure."),
            "Node gone": ("A Machine whose Node is not there any more is unhealthy at once."),
            "startup": (
                "A Machine without a Node is unhealthy strictly after nodeStartupTimeout, and never where"
                " that is 0."
            ),
            "startup base": (
                "That time counts from the latest of: creation, control plane initialized, infrastructure"
                " of the Cluster ready, infrastructure of the Machine ready."
            ),
            "Node condition": (
                "A condition of the Node is a failure strictly after its time, from its last transition."
            ),
            "merged": "One message lists all that has failed.",
        },
    ),
    Section(
        "CAPI B.2.4/",
        "counts as the controller does, with a number or a range",
        {
            "healthy": (
                "A Machine counts as healthy if nothing makes it unhealthy, no timer runs for it, its "
                "Node is there, and it is not being deleted."
            ),
            "threshold": (
                "Remediation is allowed while the number of unhealthy targets is at most the threshold."
            ),
            "rounding": ("A percentage of the targets is rounded down."),
            "range": ("A range allows from its first to its last number, both included."),
            "negative": ("A negative number or percentage allows nothing, with 0 unhealthy targets either."),
            "blocked": (
                "While nothing is allowed no Machine is marked and no request is made; the conditions of "
                "each Machine are still reported."
            ),
        },
    ),
    Section(
        "CAPI B.2.5/",
        "marks each unhealthy Machine for its owner, or creates its request",
        {
            "mark": (
                "Without a template an unhealthy Machine is marked for its owner, in one write with what "
                "failed."
            ),
            "mark again": (
                "A mark is set where there is none, or where the owner said that the last one is done; "
                "one that stands is never touched."
            ),
            "deleting": ("A Machine that is being deleted is not marked."),
            "each": (
                "Each unhealthy Machine is marked or gets its request, whatever the others have (rule 29)."
            ),
            "healthy": (
                "Each healthy Machine is reported as healthy, with a template too, and once (rule 30)."
            ),
            "request": (
                "With a template each unhealthy Machine gets a request of its name, with the label of its"
                " Cluster, the Machine as its one owner, and the name of its template."
            ),
            "no template": ("A missing template is reported on Machine and check (rule 45)."),
            "recovered": ("The request of a Machine that is healthy again is deleted, once."),
            "taken back by nobody": ("No mark is ever removed: the owner removes it."),
            "no deletion": "No Machine is ever deleted.",
        },
    ),
    Section(
        "CAPI B.2.6/",
        "waits for the owner, and reports what the owner says",
        {
            "fields": ("Marks stand where MachineSet and KubeadmControlPlane read them."),
            "waiting": (
                "While a mark stands the incident waits for the owner, and shows reason and message of "
                "the owner."
            ),
            "refused": ("A Machine that its owner cannot remediate stays marked, and the incident says why."),
            "replaced": ("A marked Machine that its owner deletes ends its incident."),
            "cancelled": (
                "A marked Machine that recovers is said to be healthy, by which a MachineSet takes the "
                "mark back."
            ),
            "MachinePool": ("No controller remediates Machines of a MachinePool."),
        },
        {
            "MachinePool": ("its Machines get a mark like others; to act on it is the owner's."),
        },
    ),
    Section(
        "CAPI B.2.7/",
        "writes only Paused for a paused check, while clocks continue",
        {
            "nothing": (
                "For a check that is paused, by its Cluster or its annotation, nothing is written but "
                "Paused: no condition, mark, request, label, number or Event."
            ),
            "clock": ("Clocks run on: a Machine whose time is over is remediated when the pause ends."),
            "clean-up": ("Requests of recovered Machines are deleted when the pause ends (rule 7)."),
        },
    ),
    Section(
        "CAPI B.2.8/",
        "leaves the request to the remediator of the provider",
        {
            "remediator": "The remediator acts on a request.",
        },
        {
            "remediator": ("it is the provider's own controller, not the check's."),
        },
    ),
)
