"""NHC 1: the fields, status, Events, metrics and Leases of a NodeHealthCheck."""

from tests.conformance.rule import Section

SECTIONS = (
    Section(
        "NHC 1/",
        "serves the kind, its group, version and short name, with a status subresource",
        {
            "kind": (
                "NodeHealthCheck (nhc) is served cluster-scoped as remediation.medik8s.io/v1alpha1, with "
                "a status subresource, and never gets a finalizer."
            ),
        },
    ),
    Section(
        "NHC 1.1/",
        "reads each field of the spec, with the defaults of the operator",
        {
            "selector": (
                "A check observes the Nodes whose labels match; every matchLabels pair and every "
                "expression must hold."
            ),
            "unhealthyConditions": (
                "A condition is a type, a status and a positive duration; each pair of type and status is"
                " listed once."
            ),
            "unhealthyConditions/default": (
                "Without a list, Ready=False and Ready=Unknown count after 300 s; an empty list stays "
                "empty, and then no node is ever unhealthy."
            ),
            "minHealthy": ("A number, or a percentage from 0% to 100%, of nodes that must be healthy."),
            "maxUnhealthy": ("A number, or a percentage from 0% to 100%, of nodes that may be unhealthy."),
            "stormCooldownDuration": (
                "A positive duration turns storm recovery on; without it there is none."
            ),
            "remediationTemplate": (
                "One template makes a classic remediation, one step without a timeout; of the reference "
                "to it, apiVersion, kind, name and namespace are used."
            ),
            "escalatingRemediations": (
                "A list of templates, each with an order and a timeout, makes an escalation."
            ),
            "pauseRequests": ("While the list has an entry, nothing new is started."),
            "healthyDelay": (
                "A duration, which may be negative, delays the removal of requests after a recovery."
            ),
        },
    ),
    Section(
        "NHC 1.1/webhook/",
        "refuses what the operator's webhook refuses, in its words",
        {
            "both thresholds": ("minHealthy and maxUnhealthy together are refused."),
            "no threshold": ("A check with neither minHealthy nor maxUnhealthy is refused."),
            "negative threshold": ("A negative number as threshold is refused, with its value."),
            "deletion of Machines": (
                "maxUnhealthy is refused with a MachineDeletionRemediationTemplate, in whatever case, "
                "classic or as a step."
            ),
            "no selector": ("A check without a selector, or with an empty one, is refused."),
            "invalid selector": ("A selector that cannot be read is refused, with the reason."),
            "no template": ("A check with neither form of template is refused."),
            "both templates": ("A check with both forms of template is refused."),
            "duplicate order": ("Two steps with the same order are refused."),
            "short timeout": ("A step with a timeout under one minute is refused; one minute is taken."),
            "same kind": (
                "Two steps of one kind are refused unless every template of that kind, and there is one, "
                "carries the multiple-templates annotation."
            ),
            "topology": (
                "On OpenShift, a check is refused where the topology of the control plane is not one of "
                "the supported four."
            ),
            "edit during remediation": (
                "While a request of the check exists, edits of selector, remediationTemplate and "
                "escalatingRemediations are refused, and others are taken."
            ),
            "delete during remediation": (
                "While a request of the check exists, its deletion is refused; unhealthy nodes without "
                "one do not block it."
            ),
            "several": ("One answer of the webhook lists all errors of an object."),
            "endpoint": (
                "The optional webhook answers at the operator's path and name, for create, update and "
                "delete, not for status, fails closed and has no side effects."
            ),
        },
    ),
    Section(
        "NHC 1.2/",
        "publishes each field of the status, in one patch and only after a change",
        {
            "observedNodes": "The number of selected nodes.",
            "healthyNodes": (
                "The selected nodes that match no unhealthy condition, expired or not, and have no "
                "request of this check left."
            ),
            "unhealthyNodes": (
                "One entry, by name, for each node with an expired condition or a request of this check."
            ),
            "unhealthyNodes/remediations": (
                "Each request with its reference, its creation as start, its template, and the time at "
                "which it timed out."
            ),
            "unhealthyNodes/conditionsHealthyTimestamp": (
                "When the node was seen recovered while a request still exists; stamped once for each "
                "recovery."
            ),
            "unhealthyNodes/healthyDelayed": (
                "True while a positive healthyDelay keeps a request; a negative one does not set it."
            ),
            "inFlightRemediations": "The deprecated map is always cleared.",
            "lastUpdateTime": ("Moves, in whole seconds, only when something else changed."),
            "patch": (
                "Status is one merge patch on the subresource, and nothing is sent when nothing changed."
            ),
        },
    ),
    Section(
        "NHC 1.3/",
        "reports Disabled and the two conditions of a storm, with the operator's reasons",
        {
            "Disabled/ConflictingMachineHealthCheckDetected": (
                "Disabled=True while MachineHealthChecks conflict."
            ),
            "Disabled/RemediationTemplateNotFound": (
                "Disabled=True while a template, or its kind, cannot be found."
            ),
            "Disabled/RemediationTemplateInvalid": (
                "Disabled=True while a template has no spec.template.spec, or a Metal3 template is in the"
                " wrong namespace."
            ),
            "Disabled/NodeHealthCheckEnabled": "Disabled=False when nothing is wrong.",
            "StormActive": ("True while a storm prevents new requests, False when it is over."),
            "StormCooldownActive": (
                "True while the cooldown runs, False with its reason when it is cleared or completed."
            ),
            "lastTransitionTime": ("Moves only when the status of the condition changes."),
        },
    ),
    Section(
        "NHC 1.4/",
        "reports Disabled, Paused, Remediating or Enabled, in this order, with a reason",
        {
            "Disabled": (
                "Disabled, with reason and message of the condition, comes before all other phases."
            ),
            "Paused": ("Paused, with the pause requests joined by commas, comes before Remediating."),
            "Remediating": (
                "Remediating while a listed node has a request; the reason counts all listed nodes."
            ),
            "Enabled": ("Enabled otherwise, also with unhealthy nodes that have no request."),
        },
    ),
    Section(
        "NHC 1.5/",
        "emits the operator's Events, each once per transition",
        {
            "form": (
                "Events are about the check, from the component NodeHealthCheck, in the namespace "
                "default, and each message begins with [remediation]."
            ),
            "Enabled": ("Normal, when Disabled becomes False for the first time or again."),
            "Disabled/MachineHealthCheck": ("Warning, when MachineHealthChecks begin to conflict."),
            "Disabled/template": ("Warning, with reason and message, when a template cannot be used."),
            "DetectedUnhealthy": (
                "Normal, with node, condition type and status, when a condition has expired on a node "
                "without a request."
            ),
            "RemediationCreated": "Normal, when a request was created.",
            "RemediationRemoved": ("Normal, with kind and name, when the deletion of a request was ordered."),
            "RemediationSkipped/upgrade": ("Normal, when an upgrade begins to hold new requests."),
            "RemediationSkipped/pause": ("Normal, when a pause request begins to hold new requests."),
            "RemediationSkipped/threshold": (
                "Warning, with both numbers, when the threshold begins to hold new requests."
            ),
            "RemediationSkipped/storm": ("Warning, when the cooldown of a storm holds new requests."),
            "RemediationSkipped/excluded": ("Warning, when an unhealthy node is excluded by its label."),
            "RemediationSkipped/control plane": (
                "Warning, when a control-plane node has to wait for another one or for the etcd "
                "disruption budget."
            ),
            "RemediationSkipped/lease": (
                "Warning, naming the holder, when another actor holds the Lease of the node."
            ),
            "InvalidNodeLabel": (
                "Warning, when the exclude label of a node is empty, and therefore ignored."
            ),
            "NoTemplateLeft": (
                "Warning, naming check and node, when the last step of an escalation has failed."
            ),
            "StormRecoveryStarted": "Warning, when a storm begins.",
            "StormRecoveryCooldownStarted": (
                "Warning, when the threshold holds again and the cooldown begins."
            ),
            "StormRecoveryEnded": "Normal, when the cooldown is over.",
            "correlation": ("Events of client-go are aggregated and rate-limited."),
        },
        {
            "correlation": (
                "Events have deterministic names and are written once per transition (rule 15), so there "
                "is nothing to aggregate."
            ),
        },
    ),
    Section(
        "NHC 1.6/",
        "exports the operator's three metrics of NodeHealthChecks",
        {
            "nodehealthcheck_old_remediation_cr": (
                "A counter by node that goes up once for each request older than 48 h."
            ),
            "nodehealthcheck_ongoing_remediation": (
                "A gauge by node, namespace and kind that is 1 while the request exists."
            ),
            "nodehealthcheck_unhealthy_node_duration_seconds": (
                "A histogram, with the operator's buckets, of the time from the start of a request until "
                "its node is healthy and clean."
            ),
            "endpoint": ("Detector and worker each serve their metrics to Prometheus."),
            "mapi_machinehealthcheck": "Metrics about MachineHealthChecks.",
            "controller-runtime": "Metrics of the reconciler library.",
        },
        {
            "mapi_machinehealthcheck": ("they are about another kind of check: see MHC A.1/metric."),
            "controller-runtime": (
                "Paramedic is not built on that library; Temporal shows queues and retries."
            ),
        },
    ),
    Section(
        "NHC 1.7/",
        "reads and writes the operator's annotations and labels",
        {
            "exclude-from-remediation": (
                "Only the value true of this Node label excludes; a request that exists stays."
            ),
            "manually-confirmed-healthy": (
                "This Node annotation overrides healthyDelay, and is removed when all requests of the "
                "node are gone."
            ),
            "machine": (
                "The Machine that a Node names becomes an owner of the request where there is a Machine API."
            ),
            "machineconfiguration": (
                "A desiredConfig that differs from currentConfig on an unhealthy Node is an upgrade of "
                "this Node."
            ),
            "node-role": ("A master or control-plane label of whatever value makes a control-plane node."),
            "multiple-templates-support": (
                "A template with this annotation gives each of its requests a name of its own."
            ),
            "node-name": "Every request names its node.",
            "template-name": "Every request names its template.",
            "nhc-timed-out": ("A request that timed out or failed carries the time of that."),
            "healthy-delay": (
                "A request that is kept by healthyDelay carries the UTC time at which the delay began."
            ),
            "old-remediation-cr-flag": ("A request that was counted as older than 48 h carries the flag."),
            "part-of": ("Every request carries the operator's part-of label."),
            "isControlPlaneNode": ("A request for a control-plane node carries this empty label."),
            "aggregate-to-ext-remediation": (
                "ClusterRoles with this label give Paramedic the rights on their requests."
            ),
            "paused": "An annotation of MachineHealthChecks.",
            "default-template": "A label that user interfaces look at.",
        },
        {
            "paused": ("it is about other kinds of check: see MHC A.2.8."),
            "default-template": "no controller reads it.",
        },
    ),
    Section(
        "NHC 1.8/",
        "uses the operator's names, holder and durations of Leases",
        {
            "namespace": (
                "Leases are in medik8s-leases, or in the namespace of a setting. The installation makes "
                "it, and not the process that needs it; without it nothing is begun, and why is said."
            ),
            "name": ("The Lease is named node- and the name of the node in lower case."),
            "holder": ("The holder is NodeHealthCheck- and the name of the check."),
            "duration": ("The Lease lasts the duration of the step and 60 s more."),
            "times": ("A new Lease is acquired and renewed at the same time, and has no transitions."),
            "owner": ("The Node owns the Lease, so that it is collected with it."),
            "leader": ("The operator elects its leader by a Lease of its own."),
        },
        {
            "leader": (
                "that Lease is an inner matter of the operator; the detector has its own, paramedic-detector."
            ),
        },
    ),
)
