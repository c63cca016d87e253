"""Callers that sign their requests, as rows: whom an ARN stands for. Read anew, strongly consistent, every time."""

from collections.abc import Iterator

from shared.domain.principal import Principal, Role
from shared.store import keys
from shared.store.table import Item, Op, Query, Table

_PAGE = 200


class CallerRows:
    """Whom the signed callers of one table stand for."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def find(self, arn: str) -> Principal | None:
        key = keys.caller(arn)
        item = self._table.get_many([key]).get(key)
        return None if item is None else _principal_from(item)

    def add(self, arn: str, principal: Principal) -> None:
        """Let `arn` stand for `principal`, and for no other."""
        partition, sort = keys.caller(arn)
        item: Item = {
            "PK": partition,
            "SK": sort,
            "arn": arn,
            "tenant": principal.tenant_id,
            "principal": principal.principal_id,
            "roles": frozenset(role.value for role in principal.roles),
            "agents": principal.agent_ids,
            "scope_keys": principal.scope_keys,
            # A set cannot be stored empty, and a credential that may read nothing is not one without bounds.
            "restricted": principal.scope_keys is not None,
        }
        self._table.transact([Op(put=item)])

    def remove(self, arn: str) -> bool:
        """Refuse `arn` from now on; False when it was refused before."""
        return self._table.held([Op(delete=keys.caller(arn), condition="attribute_exists(PK)")])

    def all(self) -> Iterator[tuple[str, Principal]]:
        """Every caller, in no order that means anything."""
        for shard in range(keys.CALLER_SHARDS):
            after: str | None = None
            while True:
                page = self._table.query(
                    Query(partition=keys.callers(shard), low="\x01", high=keys.AFTER, limit=_PAGE, after=after)
                )
                yield from ((str(item["arn"]), _principal_from(item)) for item in page.items)
                after = page.after
                if after is None:
                    break


def _principal_from(item: Item) -> Principal:
    return Principal(
        tenant_id=str(item["tenant"]),
        principal_id=str(item["principal"]),
        roles=frozenset(map(Role, _words(item, "roles"))),
        agent_ids=_words(item, "agents"),
        scope_keys=_words(item, "scope_keys") if item["restricted"] else None,
    )


def _words(item: Item, name: str) -> frozenset[str]:
    value = item.get(name)
    return value if isinstance(value, frozenset) else frozenset()
