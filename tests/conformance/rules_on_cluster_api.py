"""Rules 29 to 33, 45 and 48: Cluster API's MachineHealthCheck, and its workload clusters."""

from tests.conformance.rule import Section

CLUSTER_API = Section(
    "rule ",
    "Rules 29 to 33, 45 and 48: MachineHealthCheck, Cluster API",
    {
        "29": (
            "Each unhealthy Machine is marked or gets its request, however many have one already, and "
            "without a pause between two passes."
        ),
        "30": "HealthCheckSucceeded is True on every healthy target, with a template and without.",
        "31": "The numbers printed in RemediationAllowed=False are those that decided.",
        "32": (
            "v1beta2 where it is served, else v1beta1; conditions in the form of that version, and its twins."
        ),
        "33": (
            "Nodes are read in the workload cluster, by the Secret <cluster>-kubeconfig; what is written is "
            "written to the management cluster."
        ),
        "33/unreachable": (
            "A workload cluster that cannot be reached holds its own checks (WorkloadClusterUnreachable), "
            "with the cause, and no others."
        ),
        "33/clocks": "When it is back, the clocks of its Nodes restart; those of other clusters do not.",
        "33/skew": (
            "One whose clock is over 30 s off the management cluster's holds its own checks where time "
            "decides, with the number, and no others."
        ),
        "33/restart": "A restart of a process meanwhile changes no deadline.",
        "33/first": "A first connection restarts nothing.",
        "33/rotated": "A Secret that is replaced is used without a restart.",
        "33/service": (
            "A server without a dot is a Service of the namespace of the Secret; its certificate has the "
            "name as written."
        ),
        "33/refused": (
            "A kubeconfig that would run a program, read a file, or trust anybody is refused, with Secret "
            "and field."
        ),
        "33/credentials": "No credential comes into a history, a log, a message or onto a disk.",
        "33/gone": "A Cluster that is deleted, or that no check names, is watched no longer.",
        "45": (
            "A missing template, or a request that cannot be created, stands on the Machine and on the check."
        ),
        "45/gates": "A change of ControlPlaneInitialized or InfrastructureReady is noticed at once.",
        "45/counting": "Missing infrastructure never stops the counting.",
        "48": (
            "Conditions that we write carry the observedGeneration of their object; the list has the order "
            "that Cluster API's controllers give it."
        ),
    },
)

SECTIONS = (CLUSTER_API,)
