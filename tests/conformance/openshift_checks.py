"""MHC A and MHC C: what users of OpenShift's MachineHealthCheck and of its upgrade pause rely on."""

from tests.conformance.rule import Section

SECTIONS = (
    Section(
        "MHC A.1/",
        "reads each field of v1beta1, in every namespace, and reports an unusable spec",
        {
            "kind": ("MachineHealthCheck is read as machine.openshift.io/v1beta1, in every namespace."),
            "termination handler": (
                "The check that OpenShift installs for spot instances works as it stands."
            ),
            "columns": ("kubectl prints MaxUnhealthy, ExpectedMachines and CurrentHealthy."),
            "selector": (
                "The Machines of the check's namespace whose labels match; without a selector, or with an"
                " empty one, all of them."
            ),
            "unhealthyConditions": (
                "Conditions of the Node, each a type, a status and a duration, any of which is enough; "
                "there may be none."
            ),
            "maxUnhealthy": (
                "A number, in digits with or without quotes, or a percentage from 0% to 100%; 100% by "
                "default."
            ),
            "nodeStartupTimeout": ("A duration, 10m by default; 0 and 0s turn it off."),
            "remediationTemplate": (
                "Of the reference to a template apiVersion, kind and name are used; its namespace is "
                "always the check's own."
            ),
            "refused": (
                "A spec that the schema accepts and that has no meaning gives that check alone a "
                "condition and one Event, with field and value; the check never acts."
            ),
        },
        {
            "columns": ("the CRD is OpenShift's own; Paramedic does not install it."),
        },
    ),
    Section(
        "MHC A.1/status/",
        "publishes the numbers and RemediationAllowed",
        {
            "expectedMachines": "The number of targets.",
            "currentHealthy": ("The number of targets that count as healthy."),
            "remediationsAllowed": (
                "How many more may turn unhealthy; never negative, and written also when 0."
            ),
            "RemediationAllowed": (
                "True says nothing else; False has severity Warning, reason TooManyUnhealthy, and the "
                "numbers."
            ),
            "lastTransitionTime": ("Moves when status, severity, reason or message of a condition changes."),
            "other conditions": ("Conditions of other controllers stay as they are."),
        },
    ),
    Section(
        "MHC A.1/annotation/",
        "reads the pause, the strategy external-baremetal and its mark",
        {
            "paused": ("cluster.x-k8s.io/paused on the check, whatever its value, pauses it."),
            "remediation-strategy": (
                "external-baremetal has Machines annotated and not deleted, unless their phase is Failed "
                "or the check has a template; another value changes nothing."
            ),
            "external-remediation": (
                "A Machine is annotated once with host.metal3.io/external-remediation, and counts as "
                "unhealthy while it is."
            ),
            "ignored on Machines": (
                "cluster.x-k8s.io/paused and skip-remediation on a Machine mean nothing."
            ),
            "cloned-from": ("A request names its template in the two cloned-from annotations."),
        },
    ),
    Section(
        "MHC A.1/event/",
        "emits the Events of the controller, each once per transition",
        {
            "form": (
                "Events come from the component machinehealthcheck-controller, with the operator's "
                "action, in the namespace of the check or Machine that they are about."
            ),
            "RemediationRestricted": (
                "Warning on the check, when something begins to hold all its Machines."
            ),
            "DetectedUnhealthy": (
                "Normal on the Machine, naming check and Node, when its timer begins to run."
            ),
            "MachineDeleted": ("Normal on the Machine, when its deletion was ordered."),
            "MachineDeletionFailed": ("Warning on the Machine, when its deletion was refused."),
            "SkippedNoController": ("Normal on the Machine, when its time is over and it has no controller."),
            "ExternalAnnotationAdded": ("Normal on the Machine, when it was annotated."),
            "ExternalAnnotationFailed": ("Warning on the Machine, when it could not be annotated."),
            "requests": ("No Event reports that a request is created or deleted."),
        },
    ),
    Section(
        "MHC A.1/metric/",
        "exports the three metrics of the controller",
        {
            "mapi_machinehealthcheck_nodes_covered": (
                "A gauge by name and namespace: the number of targets."
            ),
            "mapi_machinehealthcheck_remediation_success_total": (
                "A counter by name and namespace: the deletions of Machines that were ordered."
            ),
            "mapi_machinehealthcheck_short_circuit": (
                "A gauge by name and namespace: 1 while the threshold is exceeded, else 0."
            ),
        },
    ),
    Section(
        "MHC A.2.1/",
        "reacts at once to checks, Machines and Nodes, and to no heartbeat",
        {
            "check": ("A check that is created, deleted or edited, its annotations included."),
            "Machine": (
                "A Machine that comes, changes or goes; the numbers follow also when one is really gone."
            ),
            "Node": ("A Node that comes, changes or goes, by the Machine that is linked to it."),
            "shared Node": ("A Node that several Machines are linked to counts for each of them."),
            "heartbeat": ("A heartbeat causes no write and no message to a workflow."),
            "targets": ("Targets are chosen by namespace and labels alone, not by owner, role or deletion."),
        },
    ),
    Section(
        "MHC A.2.3/",
        "tests phase, startup, missing Node and conditions, in this order",
        {
            "1": (
                "A Machine whose phase is Failed is unhealthy at once, even with a healthy Node, and "
                "while it is being deleted."
            ),
            "2": (
                "A Machine that was never linked to a Node is remediated strictly after "
                "nodeStartupTimeout; where that is off it is never remediated, and counts as unhealthy."
            ),
            "3": ("A Machine whose Node is not there any more is remediated at once."),
            "4": (
                "A condition that its Node has is remediated strictly after its timeout, counted from its"
                " last transition; a change of status starts the clock again, and a missing condition is "
                "healthy."
            ),
            "5": ("Without an expired condition the earliest deadline runs."),
        },
    ),
    Section(
        "MHC A.2.4/",
        "counts as the controller does, and rounds percentages down",
        {
            "healthy": (
                "A Machine counts as healthy if its Node is there, nothing makes it unhealthy, no timer "
                "runs for it, and it is neither being deleted nor annotated for external remediation."
            ),
            "request": ("A Machine with a healthy Node counts as healthy while its request still exists."),
            "threshold": (
                "Remediation is allowed while the number of unhealthy targets is at most maxUnhealthy."
            ),
            "rounding": ("A percentage of the targets, those being deleted included, is rounded down."),
            "blocked": ("While nothing is allowed no Machine is remediated, and no incident polls."),
        },
    ),
    Section(
        "MHC A.2.5/",
        "deletes the Machine, marks it, or creates its request",
        {
            "template": (
                "With a template each unhealthy Machine gets a request, also without a controller, "
                "Failed, or being deleted; one that exists is left."
            ),
            "request": (
                "The request has the name and namespace of the Machine, spec.template as contents, its "
                "labels and annotations, and the Machine as its one owner."
            ),
            "mark": (
                "With the strategy external-baremetal a Machine is annotated, also without a controller."
            ),
            "no controller": ("A Machine that no controller owns is not deleted."),
            "control plane": ("Machines of the control plane are remediated too."),
            "deleting": ("A Machine that is being deleted already is not deleted again."),
            "delete": ("A Machine is deleted, and nothing is written to it before."),
        },
    ),
    Section(
        "MHC A.2.6/",
        "deletes the request of a recovered Machine",
        {
            "healthy": ("The request for a Machine that is healthy again is deleted at once, once."),
        },
    ),
    Section(
        "MHC A.2.7/",
        "leaves the mark to the bare metal provider",
        {
            "consumer": ("The bare metal provider acts on the annotation."),
        },
        {
            "consumer": ("it is the provider's own controller, not the check's."),
        },
    ),
    Section(
        "MHC A.2.8/",
        "writes nothing for a paused check, while clocks continue",
        {
            "nothing": (
                "Nothing is written for a paused check: no status, Event, request, mark, deletion or "
                "clean-up."
            ),
            "in flight": ("Pausing takes back nothing that was ordered."),
            "clock": ("Clocks run on: a Machine whose time is over is remediated when the pause ends."),
        },
    ),
    Section(
        "MHC A.2.9/",
        "keeps each deadline over a restart",
        {
            "restart": ("Timers come from times in the objects: a restart of any length moves no deadline."),
        },
    ),
    Section(
        "MHC C.2/",
        "pauses each check in an upgrade, and unpauses exactly those after it",
        {
            "begin": (
                "Once ClusterVersion says Progressing=True, each check that is not paused gets "
                "cluster.x-k8s.io/paused and machine.openshift.io/paused-for-upgrade in one patch, if it "
                "is still as it was seen."
            ),
            "found paused": (
                "A check that another actor paused is not touched, in the upgrade and after it."
            ),
            "created": ("A check created during the upgrade is paused too."),
            "unpaused": ("A check that another actor unpauses during the upgrade is not paused again in it."),
            "end": (
                "Once it says False, both annotations go, in one patch, from exactly those that are marked."
            ),
            "left mark": ("A mark alone is removed after the upgrade: the next one pauses the check again."),
            "unknown": ("While it is unknown whether there is an upgrade, no annotation changes."),
            "restart": (
                "Both annotations suffice without any memory: a marked pause is ours, and a mark alone is"
                " on a check that another actor unpaused."
            ),
            "end over which nothing ran": ("An end that was not seen is made up for at the next look."),
            "end and begin over which nothing ran": (
                "A check that was unpaused in an upgrade whose end was not observed is paused in the next"
                " one."
            ),
            "paused by several": (
                "A pause by another actor on a check that we paused, or marked before, looks like ours: "
                "it is unpaused."
            ),
            "termination handler": (
                "Each check of that API is paused, independent of its owner and purpose."
            ),
            "stuck": (
                "Checks stay paused in an upgrade that does not end; after six hours one Event reports it."
            ),
            "re-targeted": ("An upgrade that is given another version is the same one."),
            "quickly": ("An upgrade that ends and begins again unpauses checks, and pauses them again."),
            "in flight": (
                "Requests of a paused check stay as they are; they are cleaned up or go on when the pause"
                " ends."
            ),
            "begun before us": ("An upgrade that was under way when Paramedic began is paused from then on."),
            "paused pools": (
                "A MachineConfigPool that reboots its nodes after the upgrade holds each node whose "
                "configuration is being changed."
            ),
            "clocks": (
                "Targets that are unhealthy at the end of the upgrade have their full time from there."
            ),
            "deleting": ("A check that is being deleted is not patched."),
            "gone": ("A check that vanishes before its patch is no failure."),
        },
    ),
)
