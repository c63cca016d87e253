"""Grants as rows: the grant itself, a pointer by grantee, and a note for each idempotency key.

A grant is opened only in a transaction that finds its projects' purge counts as they were read, so a grant issued
beside a purge cannot outlive it.
"""

import json

from shared.domain import instants
from shared.domain.grants import Grant
from shared.engine.record_port import Note
from shared.store import keys
from shared.store.table import Item, Key, Op, Table

FIRST = "G#"
"""Prefix of the grants themselves in their partition."""

_KEPT = ("id", "grantee", "expires_at", "issued_at", "reason", "revoked_at")


class GrantRows:
    """Writes of grants of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def issue(self, tenant: str, grant: Grant, key: str | None, bounds: str) -> bool:
        """Write a new grant, with the note of its idempotency key. False: the id, the key or a purge count is taken."""
        ops = [_put(tenant, grant, None), _pointer(tenant, grant), *_epochs_stand(tenant, grant)]
        if key is not None:
            noted: Item = {**_at(note_key(tenant, key)), "grant_id": grant.id, "bounds": bounds}
            ops.append(Op(put=noted, condition="attribute_not_exists(PK)"))
        return self._table.held(ops)

    def replace(self, tenant: str, before: Grant | None, grant: Grant) -> bool:
        """Write `grant` in place of `before` as it was read. False: another write, or a purge, came first."""
        ops = [_put(tenant, grant, before), _pointer(tenant, grant), *_epochs_stand(tenant, grant)]
        if before is not None and before.grantee != grant.grantee:
            ops.append(Op(delete=pointer_key(tenant, before)))
        return self._table.held(ops)

    def withdraw(self, tenant: str, before: Grant, grant: Grant) -> bool:
        """Write `grant`, which opens less than `before` did. False: another write came first."""
        return self._table.held([_put(tenant, grant, before)])


def grant_key(tenant: str, grant_id: str) -> Key:
    return keys.grants(tenant), FIRST + keys.sortable(grant_id)


def pointers(grantee: str) -> str:
    """Prefix of the pointers to a principal's grants."""
    return f"H#{keys.digest(grantee)}{keys.SEPARATOR}"


def pointer_key(tenant: str, grant: Grant) -> Key:
    return keys.grants(tenant), pointers(grant.grantee) + keys.sortable(grant.id)


def note_key(tenant: str, idempotency_key: str) -> Key:
    return keys.grants(tenant), f"K#{keys.digest(idempotency_key)}"


def unchanged(tenant: str, grant: Grant) -> Op:
    """The check that a grant is as it was decided on."""
    return Op(check=grant_key(tenant, grant.id), condition="revision = :read", values={":read": grant.revision})


def note_from(item: Item | None) -> Note | None:
    return None if item is None else Note(str(item["grant_id"]), str(item["bounds"]))


def grant_item(tenant: str, grant: Grant) -> Item:
    fields: Item = {name: getattr(grant, name) for name in _KEPT}
    return {
        **_at(grant_key(tenant, grant.id)),
        **keys.exported(tenant, "grant", grant.id),
        **fields,
        "projects": json.dumps(dict(sorted(grant.projects.items())), ensure_ascii=False),
        "surfaces": grant.surfaces,
        "revision": grant.revision,
    }


def grant_from(item: Item) -> Grant:
    """The grant of a row; one that this product would not write comes out as not well formed."""
    projects, surfaces = _projects(item.get("projects")), item.get("surfaces")
    texts = {name: value for name in _KEPT if isinstance(value := item.get(name), str)}
    revision = item.get("revision")
    return Grant(
        id=str(item.get("id", "")),
        grantee=texts.get("grantee", ""),
        projects=projects or {},
        surfaces=surfaces if isinstance(surfaces, frozenset) else frozenset(),
        expires_at=texts.get("expires_at", ""),
        issued_at=texts.get("issued_at", ""),
        reason=texts.get("reason", ""),
        revoked_at=texts.get("revoked_at"),
        revision=revision if isinstance(revision, int) else 0,
        well_formed=projects is not None and _is_instant(texts.get("expires_at")) and isinstance(revision, int),
    )


def _projects(text: object) -> dict[str, int] | None:
    try:
        value = json.loads(str(text))
    except ValueError:
        return None
    if not isinstance(value, dict) or not all(isinstance(epoch, int) for epoch in value.values()):
        return None
    return value


def _is_instant(text: str | None) -> bool:
    try:
        return text is not None and instants.parse(text) == text
    except ValueError:
        return False


def _at(key: Key) -> Item:
    return {"PK": key[0], "SK": key[1]}


def _put(tenant: str, grant: Grant, before: Grant | None) -> Op:
    item = grant_item(tenant, grant)
    if before is None:
        return Op(put=item, condition="attribute_not_exists(PK)")
    return Op(put=item, condition="revision = :read", values={":read": before.revision})


def _pointer(tenant: str, grant: Grant) -> Op:
    return Op(put={**_at(pointer_key(tenant, grant)), "id": grant.id})


def _epochs_stand(tenant: str, grant: Grant) -> list[Op]:
    return [epoch_stands(tenant, project, epoch) for project, epoch in grant.projects.items()]


def epoch_stands(tenant: str, project_id: str, epoch: int) -> Op:
    """The check that a project was purged just so often."""
    key = (keys.project(tenant, project_id), keys.EPOCH)
    if epoch == 0:
        return Op(check=key, condition="attribute_not_exists(PK)")
    return Op(check=key, condition="epoch = :epoch", values={":epoch": epoch})
