"""One log line and one set of metrics a request.

Holds route, status, duration and counts; never content, a name, a token, an id of a row, or the text of an exception.
"""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from shared.boundary.settings import settings
from shared.domain.errors import Refusal, Unaudited, Unavailable

SERVICE = "hopscope"
NAMESPACE = "Hopscope"
_CLIENT_ERRORS = range(400, 500)
_SERVER_ERRORS = range(500, 600)
_ROOT = Path(__file__).resolve().parents[2]


@cache
def _logger() -> Logger:
    return Logger(service=SERVICE, level=settings().log_level, log_uncaught_exceptions=False)


@dataclass(slots=True)
class Trace:
    """What is told of one request."""

    request_id: str
    route: str
    started: float = field(default_factory=monotonic)

    def failed(self, error: Exception) -> None:
        """A request ended in `error`. Of a defect or an outage its type and place are kept, never its text."""
        if not isinstance(error, Refusal):
            self._tell("fault", error)
            measure("Faults", 1)
        elif isinstance(error, Unavailable) and error.__cause__ is not None:
            self._tell("outage", error.__cause__)
        if isinstance(error, Unaudited):
            measure("AuditFailed", 1)

    def _tell(self, word: str, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        _logger().error(
            word,
            extra={
                "request_id": self.request_id,
                "route": self.route,
                "error": type(error).__name__,
                "at": [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames],
            },
        )

    def done(self, status: int, counts: Mapping[str, int]) -> None:
        """The request was answered with `status`."""
        milliseconds = round((monotonic() - self.started) * 1000)
        _logger().info(
            "answered",
            extra={
                "request_id": self.request_id,
                "route": self.route,
                "status": status,
                "milliseconds": milliseconds,
                **counts,
            },
        )
        outcomes = {"Refused": int(status in _CLIENT_ERRORS), "Unavailable": int(status in _SERVER_ERRORS)}
        self._measure(outcomes, milliseconds)

    def _measure(self, counts: Mapping[str, int], milliseconds: int | None = None) -> None:
        metrics = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
        metrics.add_dimension(name="route", value=self.route)
        for name, count in counts.items():
            metrics.add_metric(name=name, unit=MetricUnit.Count, value=count)
        if milliseconds is not None:
            metrics.add_metric(name="Latency", unit=MetricUnit.Milliseconds, value=milliseconds)
        metrics.flush_metrics()


def measure(name: str, value: float, unit: str = "Count") -> None:
    """A metric of the service as a whole, which an alarm can watch."""
    metrics = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
    metrics.add_metric(name=name, unit=unit, value=value)
    metrics.flush_metrics()


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(_ROOT)) if path.is_relative_to(_ROOT) else path.name
