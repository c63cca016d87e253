"""What every command shares: where the server is, who asks, how the answer is shown, and how a failure ends it."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated, Any, Concatenate, ParamSpec
from urllib.parse import urlsplit

import httpx
import typer
from rich.console import Console

from infra.cli import show
from infra.cli.server import Bearer, Failed, Server, Signed
from infra.local.events import dev_token

P = ParamSpec("P")
_WHO = "Server and caller"
_WIDE = 160
"""Columns where no terminal says how many: a table in a pipe is for `grep`."""
_LOCAL = {"127.0.0.1", "localhost", "::1"}


def console(*, stderr: bool = False) -> Console:
    """A console that takes no markup from what it shows."""
    wide = None if (sys.stderr if stderr else sys.stdout).isatty() else _WIDE
    return Console(stderr=stderr, width=wide, markup=False, highlight=False, emoji=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The options that every command has."""

    url: Annotated[str, typer.Option(envvar="HOPSCOPE_URL", help="The server.", rich_help_panel=_WHO)] = (
        "http://127.0.0.1:3000"
    )
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HOPSCOPE_TOKEN",
            help="A bearer token; better set in the environment than typed. Locally --as makes one.",
            rich_help_panel=_WHO,
        ),
    ] = None
    iam: Annotated[
        bool,
        typer.Option("--iam", envvar="HOPSCOPE_IAM", help="Sign with AWS credentials.", rich_help_panel=_WHO),
    ] = False
    principal: Annotated[
        str, typer.Option("--as", envvar="HOPSCOPE_AS", help="Local: who asks.", rich_help_panel=_WHO)
    ] = "ana"
    tenant: Annotated[str, typer.Option(envvar="HOPSCOPE_TENANT", help="Local: the tenant.", rich_help_panel=_WHO)] = (
        "demo"
    )
    roles: Annotated[
        str,
        typer.Option(envvar="HOPSCOPE_ROLES", help="Local: of reader, writer, admin.", rich_help_panel=_WHO),
    ] = "reader,writer,admin"
    agents: Annotated[
        str, typer.Option(envvar="HOPSCOPE_AGENTS", help="Local: agents to act as; * is all.", rich_help_panel=_WHO)
    ] = "*"
    as_json: Annotated[bool, typer.Option("--json", help="The answer as it came.")] = False

    def auth(self) -> httpx.Auth:
        """A signature, the token given, or for a server on this machine a development token."""
        if self.iam:
            return Signed()
        if self.token:
            return Bearer(self.token)
        if urlsplit(self.url).hostname not in _LOCAL:
            raise Failed(f"{self.url} wants a token: set HOPSCOPE_TOKEN, or sign with --iam.", 2)
        who = {"tenant_id": self.tenant, "sub": self.principal}
        return Bearer(dev_token({**who, "roles": words(self.roles), "agents": words(self.agents)}))


@dataclass(frozen=True, slots=True)
class Session:
    """A command under way: the server, and where its answer goes."""

    server: Server
    shared: Shared

    def ask(self, path: str, fields: Mapping[str, Any], readable: Callable[[Console, Any], None]) -> None:
        """Show the answer to a POST, and to people also which numbers were brought into range."""

        def told(to: Console, answer: Any) -> None:
            readable(to, answer)
            show.adjusted(to, fields, answer)

        self.show(self.server.post(path, fields), told)

    def show(self, answer: Any, readable: Callable[[Console, Any], None]) -> None:
        """The answer as JSON, or in the form for people."""
        if self.shared.as_json:
            sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
        else:
            readable(console(), answer)


def words(text: str) -> list[str]:
    """The words of a list as it is typed.

    >>> words("reader, writer")
    ['reader', 'writer']
    """
    return text.replace(",", " ").split()


Command = Callable[Concatenate[Session, P], None]


def command(app: typer.Typer, name: str, *, example: str) -> Callable[[Command[P]], Command[P]]:
    """Adds a command to `app`. Its function gets a `Session` first; the shared options join its own."""

    def add(run: Command[P]) -> Command[P]:
        @wraps(run)
        def called(*args: Any, **given: Any) -> None:
            shared = Shared(**{field.name: given.pop(field.name) for field in fields(Shared)})
            try:
                session = Session(Server.at(shared.url, shared.auth()), shared)
                with session.server.client:
                    run(session, *args, **given)
            except Failed as failure:
                console(stderr=True).print(str(failure), style="red", soft_wrap=True)
                raise typer.Exit(failure.code) from None

        own = list(inspect.signature(run, eval_str=True).parameters.values())[1:]
        joined = [*own, *_shared_parameters()]
        called.__signature__ = inspect.Signature(joined)  # type: ignore[attr-defined]
        app.command(name, epilog=f"Example: {example}")(called)
        return run

    return add


def _shared_parameters() -> list[inspect.Parameter]:
    return list(inspect.signature(Shared, eval_str=True).parameters.values())
