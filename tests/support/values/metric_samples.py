"""Parses a scrape as Prometheus does: each sample by its name and labels."""

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from runtime.exposition import in_text

Series = tuple[str, frozenset[tuple[str, str]]]


def series(name: str, /, **labels: str) -> Series:
    return name, frozenset(labels.items())


def samples_in(text: str) -> dict[Series, float]:
    return {
        series(sample.name, **sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(registry: CollectorRegistry) -> dict[Series, float]:
    return samples_in(in_text(list(registry.collect())).decode())


def named(samples: dict[Series, float], name: str) -> dict[Series, float]:
    return {key: value for key, value in samples.items() if key[0] == name}
