"""Audit aggregates as rows. Each presentation is one transaction that also checks the grant as it was decided on.

An aggregate is only changed by additions and by bounds that move one way, so concurrent presentations need no read.
"""

import json
import re

from shared.domain.audit import Aggregate, Presentation, forgotten_at
from shared.domain.grants import Grant
from shared.domain.model import Json
from shared.engine.port import Clock
from shared.store import grants, keys
from shared.store.table import Cancelled, Item, Key, Op, Table

_ADD = " ADD #count :one, records_returned_total :records, revision :one"
_NOTE = "sample_3 = if_not_exists(sample_2, :none), sample_2 = if_not_exists(sample_1, :none), sample_1 = :sample"
_LATEST = (
    f"SET grant_id = :grant, surface = :surface, outcome = :outcome, #day = :day, last_at = :at, #ttl = :ttl, "
    f"first_at = if_not_exists(first_at, :at), {_NOTE}{_ADD}"
)
_FORMS = (
    ("attribute_not_exists(PK) OR last_at <= :at", _LATEST),
    ("last_at > :at AND first_at <= :at", f"SET {_NOTE}{_ADD}"),
    ("last_at > :at AND first_at > :at", f"SET first_at = :at, {_NOTE}{_ADD}"),
)
"""The latest presentation so far, one between others, the earliest. The bounds only widen: one of the three holds,
and one that failed for being too late never holds again."""

_VALUE = re.compile(r":[a-z]+")


class AuditRows:
    """Writes of the audit of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def count(self, tenant: str, presentation: Presentation, decided_on: Grant | None, clock: Clock) -> bool:
        """Count a presentation, once. False: the grant is not any more as it was decided on, and nothing is written."""
        checks = [] if decided_on is None else [grants.unchanged(tenant, decided_on)]
        for condition, update in _FORMS:
            try:
                self._table.transact([_counted(tenant, presentation, condition, update), *checks], clock)
            except Cancelled as cancelled:
                if "ConditionalCheckFailed" in cancelled.reasons[1:]:
                    return False
            else:
                return True
        return False


def aggregate_key(tenant: str, presentation: Presentation) -> Key:
    parts = (keys.sortable(presentation.grant_id), presentation.surface, presentation.outcome)
    return keys.audit(tenant, presentation.day), keys.SEPARATOR.join(parts)


def rows_of(grant_id: str | None) -> tuple[str, str]:
    """The range of sort keys of one grant's aggregates, or of all."""
    if grant_id is None:
        return "\x00", keys.AFTER
    prefix = keys.sortable(grant_id) + keys.SEPARATOR
    return prefix, prefix + keys.AFTER


def _counted(tenant: str, presentation: Presentation, condition: str, update: str) -> Op:
    sample = {"at": presentation.at, "records_returned": presentation.records, "project": presentation.project}
    names = {"#count": "count", "#day": "day", "#ttl": "ttl"}
    values: Item = {
        ":one": 1,
        ":records": presentation.records,
        ":at": presentation.at,
        ":none": "",
        ":sample": json.dumps(sample, ensure_ascii=False),
        ":grant": presentation.grant_id,
        ":surface": presentation.surface.value,
        ":outcome": presentation.outcome.value,
        ":day": presentation.day,
        ":ttl": forgotten_at(presentation.at),
    }
    return Op(
        change=aggregate_key(tenant, presentation),
        update=update,
        condition=condition,
        names={name: value for name, value in names.items() if name in update},
        values={name: values[name] for name in sorted(set(_VALUE.findall(f"{condition} {update}")))},
    )


def aggregate_from(item: Item) -> Aggregate:
    noted = [str(item[name]) for name in ("sample_1", "sample_2", "sample_3") if item.get(name)]
    samples: list[dict[str, Json]] = sorted(map(json.loads, noted), key=lambda sample: str(sample["at"]))
    return Aggregate(
        grant_id=str(item["grant_id"]),
        surface=str(item["surface"]),
        outcome=str(item["outcome"]),
        day=str(item["day"]),
        count=int(str(item["count"])),
        records_returned_total=int(str(item["records_returned_total"])),
        first_at=str(item["first_at"]),
        last_at=str(item["last_at"]),
        revision=int(str(item["revision"])),
        samples=tuple(samples),
    )
