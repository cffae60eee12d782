"""CAPI B.1: versions, fields, status, conditions and Events of Cluster API's MachineHealthCheck.

Where Paramedic decides otherwise than Cluster API's controller, a row names the rule that says so.
"""

from tests.conformance.rule import Section

KIND = Section(
    "CAPI B.1/",
    "CAPI B.1: the kind (MachineHealthCheck of cluster.x-k8s.io)",
    {
        "kind": "MachineHealthCheck is read as v1beta2 where it is served, else as v1beta1 (rule 32).",
        "version under way": (
            "A cluster that begins or ceases to serve a version is read in the other one by running "
            "processes; nothing is lost."
        ),
        "no conversion": (
            "A check that is handed out as v1beta2 with the fields of v1beta1 is read by its fields."
        ),
        "ClusterClass": "A check that a ClusterClass made works like any other.",
        "label": "The check gets the label with the name of its Cluster.",
        "owner": (
            "The check gets its Cluster as an owner that is no controller; other owners stay as they are."
        ),
        "columns": "kubectl prints cluster and numbers.",
        "webhook": "The webhooks default and validate what is written.",
        "metrics": "kube-state-metrics shows checks, their numbers and conditions.",
    },
    not_applicable={
        "columns": "the CRD is Cluster API's own; Paramedic does not install it.",
        "webhook": "they are the core manager's own, and stay.",
        "metrics": "it reads them from the status, whichever controller writes it.",
    },
)

FIELDS = Section(
    "CAPI B.1/",
    "CAPI B.1: the fields of spec, of v1beta2 and v1beta1",
    {
        "clusterName": "The Cluster of that name in the check's namespace is the one that is looked at.",
        "selector": "Labels and expressions that must all hold; an empty selector selects nothing.",
        "nodeStartupTimeout": "Seconds, or in v1beta1 a duration; 10 minutes by default, and 0 turns it off.",
        "unhealthyNodeConditions": (
            "Conditions of the Node, each a type, a status and a time (in v1beta1 unhealthyConditions); "
            "there may be none."
        ),
        "unhealthyMachineConditions": "The same of conditions of the Machine itself; there may be none.",
        "unhealthyLessThanOrEqualTo": (
            "A number or a percentage (in v1beta1 maxUnhealthy); 100% by default; above 100% all is allowed."
        ),
        "unhealthyInRange": "[min-max] (in v1beta1 unhealthyRange) wins over the number.",
        "templateRef": (
            "apiVersion, kind and name of a template in the check's own namespace (in v1beta1 "
            "remediationTemplate)."
        ),
        "refused": (
            "An unusable spec (a range that ends before it begins, a number that is too large, a broken "
            "selector) gives that check alone a condition and one Event, with field and value; the check "
            "never acts."
        ),
    },
)

STATUS = Section(
    "CAPI B.1/status/",
    "CAPI B.1: the status of a check",
    {
        "expectedMachines": "The number of targets.",
        "currentHealthy": "The number of targets that count as healthy.",
        "remediationsAllowed": "How many more may turn unhealthy; 0 when none is allowed.",
        "targets": "The names of the targets, sorted.",
        "observedGeneration": "The generation of the spec that the status tells of.",
        "RemediationAllowed": (
            "True, or False with TooManyUnhealthy and the numbers that decided, also below a range (rule 31)."
        ),
        "Paused": "True with what pauses, the Cluster, the annotation or both, else False.",
        "form": (
            "Conditions have the form of the version that is served, with the twins that it keeps for the "
            "other one (rule 32)."
        ),
        "lastTransitionTime": (
            "Moves when the status of a condition changes; in the form of v1beta1 when anything of it does."
        ),
        "other conditions": "Conditions of other controllers stay as they are.",
    },
)

CONDITIONS = Section(
    "CAPI B.1/condition/",
    "CAPI B.1: conditions of Machines",
    {
        "HealthCheckSucceeded": "True on a healthy Machine, False with what failed on an unhealthy one.",
        "reasons": (
            "The reason says what failed, in the word of each version: the annotation, the Node that is "
            "gone, its startup, its conditions, or the Machine's own, which win over the others."
        ),
        "OwnerRemediated": "False, with WaitingForRemediation, asks the owner to remediate.",
        "ExternallyRemediated": (
            "False where a template remediates: WaitingForRemediation, RemediationTemplateNotFound, "
            "RemediationTemplateForbidden where we may not read it, or RemediationRequestCreationFailed."
        ),
        "form": (
            "In v1beta2 they stand in status.conditions, with twins of severity Warning in "
            "status.deprecated.v1beta1; in v1beta1 in status.conditions, with twins in status.v1beta2."
        ),
        "others": "Conditions of other writers survive each of our writes, also in the same moment.",
    },
)

ANNOTATIONS = Section(
    "CAPI B.1/annotation/",
    "CAPI B.1: annotations, whatever their value",
    {
        "paused": "cluster.x-k8s.io/paused pauses a check, and takes a Machine out of its targets.",
        "skip-remediation": "cluster.x-k8s.io/skip-remediation takes a Machine out of the targets.",
        "remediate-machine": "cluster.x-k8s.io/remediate-machine makes a Machine unhealthy at once.",
        "cloned-from": "A request names its template in the two cloned-from annotations.",
    },
)

EVENTS = Section(
    "CAPI B.1/event/",
    "CAPI B.1: the Events",
    {
        "form": (
            "Events come from machinehealthcheck-controller, in the namespace of what they are about, once "
            "for each transition (rule 15)."
        ),
        "RemediationRestricted": (
            "Warning on the check, when the threshold begins to hold at least one Machine that failed."
        ),
        "MachineMarkedUnhealthy": "Normal on the Machine, when it was marked or got its request.",
    },
)

SECTIONS = (KIND, FIELDS, STATUS, CONDITIONS, ANNOTATIONS, EVENTS)
