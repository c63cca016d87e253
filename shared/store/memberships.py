"""Memberships as rows: one item a principal, so that authority is one read; teams and projects are sets in it."""

from shared.domain.model import Memberships
from shared.store import keys
from shared.store.table import Key, Op, Table, Value


class MembershipRows:
    """Writes of memberships of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def add(self, tenant: str, principal_id: str, memberships: Memberships) -> None:
        """Add all of them; those that are there stay."""
        index = keys.exported(tenant, "membership", principal_id)
        values: dict[str, Value] = {
            ":tenant": tenant,
            ":principal": principal_id,
            ":x1": index["x1"],
            ":x2": index["x2"],
        }
        added = []
        for name, ids in (("projects", memberships.projects), ("teams", memberships.teams)):
            if ids:
                values[f":{name}"] = ids
                added.append(f"{name} :{name}")
        update = f"SET tenant = :tenant, principal = :principal, x1 = :x1, x2 = :x2 ADD {', '.join(added)}"
        self._table.transact([Op(change=_key(tenant, principal_id), update=update, values=values)])

    def remove(self, tenant: str, principal_id: str, memberships: Memberships) -> bool:
        """Take away the one membership; False when it is not there. An item left without any goes."""
        name, ids = ("projects", memberships.projects) if memberships.projects else ("teams", memberships.teams)
        (one,) = ids
        key = _key(tenant, principal_id)
        taken = Op(
            change=key,
            update=f"DELETE {name} :ids",
            condition=f"contains({name}, :one)",
            values={":ids": ids, ":one": one},
        )
        empty = Op(delete=key, condition="attribute_not_exists(projects) AND attribute_not_exists(teams)")
        if not self._table.held([taken]):
            return False
        self._table.held([empty])
        return True


def _key(tenant: str, principal_id: str) -> Key:
    return keys.memberships(tenant, principal_id), keys.MEMBERSHIPS
