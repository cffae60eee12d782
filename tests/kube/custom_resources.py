"""CRDs, which tests install, and our processes never ask for."""

from kube.resource import Resource

CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
