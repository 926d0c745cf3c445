"""The text of metrics for Prometheus: valid OpenMetrics 1.0, and valid in Prometheus's older text format.

All metrics are gauges: the older format, which node_exporter's textfile collector and Pushgateway read, has no
``info``.

Source: https://prometheus.io/docs/specs/om/open_metrics_spec/, https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from topicwarden.report.display import printable

_Item = TypeVar("_Item")
Sample: TypeAlias = tuple[Mapping[str, str], int | float | None]
"""The labels of a series in addition to ``stack``, and its value. A series without a value is left out."""

Families: TypeAlias = Mapping[str, tuple[str, Iterable[Sample]]]
"""What each metric means and its series, by the name of the metric without ``topicwarden_``."""


MetricTexts: TypeAlias = Mapping[str, tuple[str, str]]
"""The header of each metric, and the lines of its series, by the name of the metric."""


Table: TypeAlias = Mapping[str, tuple[str, Callable[[_Item], int | float | None]]]
"""What each metric of an item means and its value, by the name of the metric."""


def families_of(items: Sequence[_Item], table: Table[_Item], labels: Callable[[_Item], Mapping[str, str]]) -> Families:
    """Return the metrics of ``items``: a series for each item, with its ``labels``."""
    return {
        name: (explanation, [(labels(item), value(item)) for item in items])
        for name, (explanation, value) in table.items()
    }


def metrics_text(stack: str, families: Families) -> str:
    """Return the text of ``families``, in their order. Each series has the label ``stack``."""
    return joined_metrics([metric_texts(stack, families)])


def metric_texts(stack: str, families: Families) -> MetricTexts:
    """Return the texts of ``families``, with the label ``stack``. A metric without a series is left out."""
    texts: dict[str, tuple[str, str]] = {}
    for name, (explanation, samples) in families.items():
        series = [(labels, value) for labels, value in samples if value is not None]
        if series:
            header = f"# HELP topicwarden_{name} {explanation}\n# TYPE topicwarden_{name} gauge\n"
            lines = (
                f"topicwarden_{name}{{{_labels({'stack': stack, **labels})}}} {value}\n" for labels, value in series
            )
            texts[name] = header, "".join(lines)
    return texts


def joined_metrics(parts: Iterable[MetricTexts]) -> str:
    """Return one text of all ``parts``: the format allows only one header and one run of series for each metric."""
    joined: dict[str, list[str]] = {}
    for part in parts:
        for name, (header, series) in part.items():
            joined.setdefault(name, [header]).append(series)
    return "".join(text for texts in joined.values() for text in texts) + "# EOF\n"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
