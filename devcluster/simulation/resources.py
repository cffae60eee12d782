"""The kinds of the demo remediator, as devcluster/crds declares them."""

from kube.resource import Resource

API_VERSION = "demo.paramedic.dev/v1"
TEMPLATES = Resource(
    API_VERSION, "PowerCycleRemediationTemplate", "powercycleremediationtemplates", namespaced=True
)
REQUESTS = Resource(API_VERSION, "PowerCycleRemediation", "powercycleremediations", namespaced=True)
