"""NHC 1.1: the fields of a NodeHealthCheck, and what is refused in them."""

from tests.conformance.rule import Section

KIND = Section(
    "NHC 1/",
    "NHC 1: the kind",
    {
        "kind": (
            "NodeHealthCheck (nhc) is served cluster-scoped as remediation.medik8s.io/v1alpha1, with a "
            "status subresource, and never gets a finalizer."
        ),
    },
)

FIELDS = Section(
    "NHC 1.1/",
    "NHC 1.1: the fields of spec",
    {
        "selector": (
            "A check observes the Nodes whose labels match; every matchLabels pair and every expression "
            "must hold."
        ),
        "unhealthyConditions": (
            "A condition is a type, a status and a positive duration; each pair of type and status is "
            "listed once."
        ),
        "unhealthyConditions/default": (
            "Without a list, Ready=False and Ready=Unknown count after 300 s; an empty list stays empty, "
            "and then no node is ever unhealthy."
        ),
        "minHealthy": "A number, or a percentage from 0% to 100%, of nodes that must be healthy.",
        "maxUnhealthy": "A number, or a percentage from 0% to 100%, of nodes that may be unhealthy.",
        "stormCooldownDuration": "A positive duration turns storm recovery on; without it there is none.",
        "remediationTemplate": (
            "One template makes a classic remediation, one step without a timeout; of the reference to "
            "it, apiVersion, kind, name and namespace are used."
        ),
        "escalatingRemediations": (
            "A list of templates, each with an order and a timeout, makes an escalation."
        ),
        "pauseRequests": "While the list has an entry, nothing new is started.",
        "healthyDelay": "A duration, which may be negative, delays the removal of requests after a recovery.",
    },
)

REFUSALS = Section(
    "NHC 1.1/webhook/",
    "NHC 1.1: what is refused, in the words of the operator",
    {
        "both thresholds": "minHealthy and maxUnhealthy together are refused.",
        "no threshold": "A check with neither minHealthy nor maxUnhealthy is refused.",
        "negative threshold": "A negative number as threshold is refused, with its value.",
        "deletion of Machines": (
            "maxUnhealthy is refused with a MachineDeletionRemediationTemplate, in whatever case, classic "
            "or as a step."
        ),
        "no selector": "A check without a selector, or with an empty one, is refused.",
        "invalid selector": "A selector that cannot be read is refused, with the reason.",
        "no template": "A check with neither form of template is refused.",
        "both templates": "A check with both forms of template is refused.",
        "duplicate order": "Two steps with the same order are refused.",
        "short timeout": "A step with a timeout under one minute is refused; one minute is taken.",
        "same kind": (
            "Two steps of one kind are refused unless every template of that kind, and there is one, "
            "carries the multiple-templates annotation."
        ),
        "topology": (
            "On OpenShift, a check is refused where the topology of the control plane is not one of the "
            "supported four."
        ),
        "edit during remediation": (
            "While a request of the check exists, edits of selector, remediationTemplate and "
            "escalatingRemediations are refused, and others are taken."
        ),
        "delete during remediation": (
            "While a request of the check exists, its deletion is refused; unhealthy nodes without one do "
            "not block it."
        ),
        "several": "One answer of the webhook lists all errors of an object.",
        "endpoint": (
            "The optional webhook answers at the operator's path and name, for create, update and "
            "delete, not for status, fails closed and has no side effects."
        ),
    },
)

SECTIONS = (KIND, FIELDS, REFUSALS)
