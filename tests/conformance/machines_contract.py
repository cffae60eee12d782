"""MHC A.1: fields, status, Events, annotations and metrics of OpenShift's MachineHealthCheck."""

from tests.conformance.rule import Section

KIND = Section(
    "MHC A.1/",
    "MHC A.1: the kind (MachineHealthCheck of machine.openshift.io)",
    {
        "kind": "MachineHealthCheck is read as machine.openshift.io/v1beta1, in every namespace.",
        "termination handler": "The check that OpenShift installs for spot instances works as it stands.",
        "columns": "kubectl prints MaxUnhealthy, ExpectedMachines and CurrentHealthy.",
    },
    not_applicable={"columns": "the CRD is OpenShift's own; Paramedic does not install it."},
)

FIELDS = Section(
    "MHC A.1/",
    "MHC A.1: the fields of spec",
    {
        "selector": (
            "The Machines of the check's namespace whose labels match; without a selector, or with an empty "
            "one, all of them."
        ),
        "unhealthyConditions": (
            "Conditions of the Node, each a type, a status and a duration, any of which is enough; there may "
            "be none."
        ),
        "maxUnhealthy": (
            "A number, in digits with or without quotes, or a percentage from 0% to 100%; 100% by default."
        ),
        "nodeStartupTimeout": "A duration, 10m by default; 0 and 0s turn it off.",
        "remediationTemplate": (
            "Of the reference to a template apiVersion, kind and name are used; its namespace is always the "
            "check's own."
        ),
        "refused": (
            "A spec that the schema accepts and that has no meaning gives that check alone a condition and "
            "one Event, with field and value; the check never acts."
        ),
    },
)

STATUS = Section(
    "MHC A.1/status/",
    "MHC A.1: the fields of status",
    {
        "expectedMachines": "The number of targets.",
        "currentHealthy": "The number of targets that count as healthy.",
        "remediationsAllowed": "How many more may turn unhealthy; never negative, and written also when 0.",
        "RemediationAllowed": (
            "True says nothing else; False has severity Warning, reason TooManyUnhealthy, and the numbers."
        ),
        "lastTransitionTime": "Moves when status, severity, reason or message of a condition changes.",
        "other conditions": "Conditions of other controllers stay as they are.",
    },
)

ANNOTATIONS = Section(
    "MHC A.1/annotation/",
    "MHC A.1: annotations",
    {
        "paused": "cluster.x-k8s.io/paused on the check, whatever its value, pauses it.",
        "remediation-strategy": (
            "external-baremetal has Machines annotated and not deleted, unless their phase is Failed or the "
            "check has a template; another value changes nothing."
        ),
        "external-remediation": (
            "A Machine is annotated once with host.metal3.io/external-remediation, and counts as unhealthy "
            "while it is."
        ),
        "ignored on Machines": "cluster.x-k8s.io/paused and skip-remediation on a Machine mean nothing.",
        "cloned-from": "A request names its template in the two cloned-from annotations.",
    },
)

EVENTS = Section(
    "MHC A.1/event/",
    "MHC A.1: the Events",
    {
        "form": (
            "Events come from the component machinehealthcheck-controller, with the operator's action, in "
            "the namespace of the check or Machine that they are about."
        ),
        "RemediationRestricted": "Warning on the check, when something begins to hold all its Machines.",
        "DetectedUnhealthy": "Normal on the Machine, naming check and Node, when its timer begins to run.",
        "MachineDeleted": "Normal on the Machine, when its deletion was ordered.",
        "MachineDeletionFailed": "Warning on the Machine, when its deletion was refused.",
        "SkippedNoController": "Normal on the Machine, when its time is over and it has no controller.",
        "ExternalAnnotationAdded": "Normal on the Machine, when it was annotated.",
        "ExternalAnnotationFailed": "Warning on the Machine, when it could not be annotated.",
        "requests": "No Event reports that a request is created or deleted.",
    },
)

METRICS = Section(
    "MHC A.1/metric/",
    "MHC A.1: the metrics",
    {
        "mapi_machinehealthcheck_nodes_covered": "A gauge by name and namespace: the number of targets.",
        "mapi_machinehealthcheck_remediation_success_total": (
            "A counter by name and namespace: the deletions of Machines that were ordered."
        ),
        "mapi_machinehealthcheck_short_circuit": (
            "A gauge by name and namespace: 1 while the threshold is exceeded, else 0."
        ),
    },
)

SECTIONS = (KIND, FIELDS, STATUS, ANNOTATIONS, EVENTS, METRICS)
