"""After a restore: purges the restored table of what was purged since. Run it before anybody may read there.

`python -m infra.replay --purged-in LIVE --restored RESTORED`, with credentials that may read the one and write the
other. Markers name no project: the restored table's rows do, and for each project that they name its markers are read
in the table that was in use. It may be run again at any time, and removes nothing itself: the sweep does.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import boto3
from tqdm import tqdm

from shared.domain.purges import Marker
from shared.store import keys
from shared.store.purges import PurgeRows, board_from, board_key, marker_from, markers_after
from shared.store.table import Query, Table, from_item

_ATTEMPTS = 10
_MARKERS = 100


class NotReplayedError(RuntimeError):
    """A purge could not be done again; the restored table must not be used."""


def projects(name: str) -> Iterator[tuple[str, str]]:
    """Every tenant and project that a row names. Reads the whole table, as only an operator may."""
    pages = (
        boto3.client("dynamodb")
        .get_paginator("scan")
        .paginate(
            TableName=name,
            ProjectionExpression="tenant, project_id, scope_key, projects",
            FilterExpression="attribute_exists(tenant)",
            ConsistentRead=True,
        )
    )
    for item in (from_item(raw) for page in pages for raw in page["Items"]):
        named = {item.get("project_id"), item.get("scope_key"), *_several(item.get("projects"))}
        yield from ((str(item["tenant"]), str(project)) for project in named if project)


def _several(value: object) -> Iterable[object]:
    """The projects of memberships, which are a set, and of grants, which are a JSON object."""
    if isinstance(value, str):
        return list(json.loads(value))
    return value if isinstance(value, frozenset) else ()


def replay(purged_in: str, restored: str) -> int:
    """Purge again; says how many purges the restored table had not seen."""
    with ThreadPoolExecutor(2) as pool:
        client = boto3.client("dynamodb")
        live, target = Table(client, purged_in, pool), Table(client, restored, pool)
        named = sorted(set(projects(restored)))
        return sum(_replayed(live, target, *project) for project in tqdm(named, desc="Projects", disable=None))


def _replayed(live: Table, target: Table, tenant: str, project: str) -> int:
    done = 0
    for marker in _markers(live, tenant, project):
        if marker.epoch > _epoch(target, tenant, project):
            _purge(target, tenant, project, marker)
            done += 1
    return done


def _markers(table: Table, tenant: str, project: str) -> list[Marker]:
    found: list[Marker] = []
    after: str | None = None
    while True:
        page = table.query(
            Query(
                partition=keys.project(tenant, project),
                low=markers_after("")[:-1],
                high=markers_after(keys.AFTER),
                limit=_MARKERS,
                after=after,
            )
        )
        found += [marker_from(item) for item in page.items]
        after = page.after
        if after is None:
            return sorted(found, key=lambda marker: marker.epoch)


def _epoch(table: Table, tenant: str, project: str) -> int:
    key = (keys.project(tenant, project), keys.EPOCH)
    return int(str(table.get_many([key]).get(key, {}).get("epoch", 0)))


def _purge(table: Table, tenant: str, project: str, marker: Marker) -> None:
    rows, key = PurgeRows(table), board_key(tenant)
    for _ in range(_ATTEMPTS):
        if rows.purge(tenant, project, marker, board_from(table.get_many([key]).get(key))):
            return
    raise NotReplayedError("a purge could not be done again")


def main() -> None:
    parser = argparse.ArgumentParser(description="Purge a restored table of what was purged since.")
    parser.add_argument("--purged-in", required=True, help="the table that was in use")
    parser.add_argument("--restored", required=True, help="the table made by the restore")
    given = parser.parse_args()
    print(f"{replay(given.purged_in, given.restored)} purges done again")


if __name__ == "__main__":
    main()
