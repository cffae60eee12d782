"""NHC 1.6 to 1.8: metrics, annotations and labels, Leases."""

from tests.conformance.rule import Section

METRICS = Section(
    "NHC 1.6/",
    "NHC 1.6: the metrics",
    {
        "nodehealthcheck_old_remediation_cr": (
            "A counter by node that goes up once for each request older than 48 h."
        ),
        "nodehealthcheck_ongoing_remediation": (
            "A gauge by node, namespace and kind that is 1 while the request exists."
        ),
        "nodehealthcheck_unhealthy_node_duration_seconds": (
            "A histogram, with the operator's buckets, of the time from the start of a request until its "
            "node is healthy and clean."
        ),
        "endpoint": "Detector and worker each serve their metrics to Prometheus.",
        "mapi_machinehealthcheck": "Metrics about MachineHealthChecks.",
        "controller-runtime": "Metrics of the reconciler library.",
    },
    not_applicable={
        "mapi_machinehealthcheck": "they are about another kind of check: see MHC A.1/metric.",
        "controller-runtime": "Paramedic is not built on that library; Temporal shows queues and retries.",
    },
)

NAMES = Section(
    "NHC 1.7/",
    "NHC 1.7: annotations and labels",
    {
        "exclude-from-remediation": (
            "Only the value true of this Node label excludes; a request that exists stays."
        ),
        "manually-confirmed-healthy": (
            "This Node annotation overrides healthyDelay, and is removed when all requests of the node "
            "are gone."
        ),
        "machine": (
            "The Machine that a Node names becomes an owner of the request where there is a Machine API."
        ),
        "machineconfiguration": (
            "A desiredConfig that differs from currentConfig on an unhealthy Node is an upgrade of this Node."
        ),
        "node-role": "A master or control-plane label of whatever value makes a control-plane node.",
        "multiple-templates-support": (
            "A template with this annotation gives each of its requests a name of its own."
        ),
        "node-name": "Every request names its node.",
        "template-name": "Every request names its template.",
        "nhc-timed-out": "A request that timed out or failed carries the time of that.",
        "healthy-delay": (
            "A request that is kept by healthyDelay carries the UTC time at which the delay began."
        ),
        "old-remediation-cr-flag": "A request that was counted as older than 48 h carries the flag.",
        "part-of": "Every request carries the operator's part-of label.",
        "isControlPlaneNode": "A request for a control-plane node carries this empty label.",
        "aggregate-to-ext-remediation": (
            "ClusterRoles with this label give Paramedic the rights on their requests."
        ),
        "paused": "An annotation of MachineHealthChecks.",
        "default-template": "A label that user interfaces look at.",
    },
    not_applicable={
        "paused": "it is about other kinds of check: see MHC A.2.8.",
        "default-template": "no controller reads it.",
    },
)

LEASES = Section(
    "NHC 1.8/",
    "NHC 1.8: the Lease of a node",
    {
        "namespace": (
            "Leases are in medik8s-leases, or in the namespace of a setting. The installation makes it, "
            "and not the process that needs it; without it nothing is begun, and why is said."
        ),
        "name": "The Lease is named node- and the name of the node in lower case.",
        "holder": "The holder is NodeHealthCheck- and the name of the check.",
        "duration": "The Lease lasts the duration of the step and 60 s more.",
        "times": "A new Lease is acquired and renewed at the same time, and has no transitions.",
        "owner": "The Node owns the Lease, so that it is collected with it.",
        "leader": "The operator elects its leader by a Lease of its own.",
    },
    not_applicable={
        "leader": (
            "that Lease is an inner matter of the operator; the detector has its own, paramedic-detector."
        ),
    },
)

SECTIONS = (METRICS, NAMES, LEASES)
