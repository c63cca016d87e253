"""The sweep, called on a schedule: takes up clean-ups that are due for as long as it may run."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from shared.boundary.http import Context
from shared.boundary.telemetry import measure
from shared.engine.session import Deadline
from shared.engine.sweep import sweep
from shared.runtime import store

_RESERVE_SECONDS = 10.0
"""Left for the clean-up that is under way when the time is over."""

_logger = logging.getLogger("hopscope.sweep")


def handler(_event: Mapping[str, Any], context: Context) -> dict[str, int]:
    """The numbers of clean-ups finished, left over, and not due yet."""
    remaining = context.get_remaining_time_in_millis() / 1000 - _RESERVE_SECONDS
    deadline = Deadline(monotonic() + remaining)
    swept = asdict(sweep(store(deadline), datetime.now(UTC), deadline))
    measure("SweepLag", swept["lag"], "Seconds")
    _logger.info("swept", extra=swept)
    return swept
