"""The capture status of a project as one row, replaced whole."""

import json

from shared.domain.completeness import CaptureStatus
from shared.domain.lines import GapReason
from shared.store import keys
from shared.store.table import Item, Key, Op, Table

CAPTURE = "CAPTURE"


def capture_key(tenant: str, project_id: str) -> Key:
    return keys.project(tenant, project_id), CAPTURE


def capture_item(tenant: str, capture: CaptureStatus) -> Item:
    partition, sort = capture_key(tenant, capture.project_id)
    return {
        "PK": partition,
        "SK": sort,
        **keys.exported(tenant, "capture_status", capture.project_id),
        "project_id": capture.project_id,
        "pending": capture.pending,
        "prior_setup": capture.prior_setup,
        "gaps": json.dumps([[str(reason), count] for reason, count in capture.gaps]),
        "written_at": capture.written_at,
    }


def capture_from(item: Item | None) -> CaptureStatus | None:
    if item is None:
        return None
    return CaptureStatus(
        project_id=str(item["project_id"]),
        pending=int(str(item["pending"])),
        prior_setup=int(str(item["prior_setup"])),
        gaps=tuple((GapReason(reason), int(count)) for reason, count in json.loads(str(item["gaps"]))),
        written_at=str(item["written_at"]),
    )


class CaptureRows:
    """Writes of capture status of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, tenant: str, capture: CaptureStatus) -> None:
        """Replace what was written before, whole."""
        self._table.transact([Op(put=capture_item(tenant, capture))])
