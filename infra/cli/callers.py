"""Whom callers that sign their requests stand for: adds, lists and removes their rows, in the table itself.

For deployments with `AuthMode` IAM, by whoever may write to their table; a change holds from the next request on.
"""

import json
import sys
from typing import Annotated

import typer

from infra.cli.command import words
from shared.boundary.principal import reduced
from shared.domain.ids import is_id
from shared.domain.principal import Principal, Role
from shared.store.callers import CallerRows
from shared.store.dynamo import Store

callers = typer.Typer(no_args_is_help=True, help="Whom signed callers stand for (where AuthMode is IAM).")

_Arn = Annotated[str, typer.Argument(help="A user's or a role's ARN; of an assumed role the session does not matter.")]
_Table = Annotated[str, typer.Option(envvar="TABLE_NAME", help="The deployment's table (its output TableName).")]


@callers.command(epilog="Example: hopscope caller add arn:aws:iam::123456789012:role/Agent --tenant t --principal ana")
def add(
    arn: _Arn,
    table: _Table,
    tenant: Annotated[str, typer.Option(help="The tenant.")],
    principal: Annotated[str, typer.Option(help="Who it is there.")],
    roles: Annotated[str, typer.Option(help="Of reader, writer, admin.")] = "reader",
    agents: Annotated[str, typer.Option(help="Agents to act as; * is all.")] = "",
    scope_keys: Annotated[
        str | None, typer.Option(help="Only these scope:key pairs are readable; without the option all that are.")
    ] = None,
) -> None:
    """Let an ARN stand for a principal, instead of any for which it stood."""
    stands_for = Principal(
        tenant_id=_id("tenant", tenant),
        principal_id=_id("principal", principal),
        roles=frozenset(_role(word) for word in words(roles)),
        agent_ids=frozenset(words(agents)),
        scope_keys=None if scope_keys is None else frozenset(words(scope_keys)),
    )
    _rows(table).add(_arn(arn), stands_for)


@callers.command("list", epilog="Example: hopscope caller list --table hopscope-MemoryTable-1")
def show(table: _Table) -> None:
    """Print every caller as a line of JSON."""
    for arn, principal in sorted(_rows(table).all(), key=lambda row: row[0]):
        line = {
            "arn": arn,
            "tenant": principal.tenant_id,
            "principal": principal.principal_id,
            "roles": sorted(principal.roles),
            "agents": sorted(principal.agent_ids),
            "scope_keys": None if principal.scope_keys is None else sorted(principal.scope_keys),
        }
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


@callers.command(epilog="Example: hopscope caller remove arn:aws:iam::123456789012:role/Agent")
def remove(arn: _Arn, table: _Table) -> None:
    """Refuse an ARN from the next request on."""
    if not _rows(table).remove(_arn(arn)):
        sys.stderr.write("There is no such caller.\n")
        raise typer.Exit(1)


def _rows(table: str) -> CallerRows:
    return Store.from_environment(table).callers


def _arn(text: str) -> str:
    if not text.startswith("arn:") or text.count(":") < 5 or "*" in text:  # noqa: PLR2004 - the parts of an ARN
        raise typer.BadParameter("must be the ARN of a user or a role")
    return reduced(text)


def _id(name: str, text: str) -> str:
    if text != text.strip() or not is_id(text):
        raise typer.BadParameter(f"the {name} must be an id of 1 to 256 characters without blanks around it")
    return text


def _role(word: str) -> Role:
    try:
        return Role(word)
    except ValueError:
        raise typer.BadParameter("roles are reader, writer and admin") from None
