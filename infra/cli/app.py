"""The commands of `hopscope`: arguments in, one verb of the server, its answer out."""

import gzip
import io
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from infra import importer
from infra.cli import show
from infra.cli.callers import callers
from infra.cli.command import Session, command, console, words
from infra.cli.options import an_instant, day, instant
from infra.cli.server import INTERRUPTED, REFUSED, Failed, path

_GZIP = b"\x1f\x8b"

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A memory graph for agents.")
grant = typer.Typer(no_args_is_help=True, help="Issue, show, list, revoke and recheck grants.")
app.add_typer(grant, name="grant")
app.add_typer(callers, name="caller")


# --- the server


@app.command(epilog="Example: hopscope serve --port 8080")
def serve(
    port: Annotated[int | None, typer.Option(help="Where to listen on 127.0.0.1 (else PORT, else 3000).")] = None,
    endpoint: Annotated[str | None, typer.Option(help="A DynamoDB endpoint instead of the embedded store.")] = None,
    store: Annotated[Path | None, typer.Option(help="The folder that keeps the embedded store's rows.")] = None,
) -> None:
    """Serve HTTP and MCP on this machine, with a small sample loaded."""
    from infra.local.serve import Options  # the server's libraries are slow to load, and no other command needs them
    from infra.local.serve import serve as run

    given = {"PORT": port, "DYNAMODB_ENDPOINT": endpoint, "HOPSCOPE_STORE": store}
    run(Options.from_environment({**os.environ, **{name: str(value) for name, value in given.items() if value}}))


# --- files


@command(app, "import", example="hopscope import peps.jsonl.gz")
def import_file(
    session: Session,
    file: Annotated[str, typer.Argument(help="JSON Lines, plain or gzipped; - is standard input.")],
) -> None:
    """Import a file of any size. What was applied stays; an import that broke off is run again from its start."""
    try:
        with _lines_of(file) as lines, _progress() as progress:
            task = progress.add_task("Importing", total=None)

            def told(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            result = importer.import_file(lines, session.server.import_lines, told).as_json()
    except KeyboardInterrupt:
        raise Failed("Interrupted; what was applied stays. Run it again.", INTERRUPTED) from None
    session.show(result, show.imported)
    if result["rejected"]:
        raise typer.Exit(REFUSED)


@command(app, "export", example="hopscope export tenant.jsonl")
def export_file(
    session: Session,
    file: Annotated[Path | None, typer.Argument(help="Where to write (.gz: gzipped); else to standard output.")] = None,
) -> None:
    """Export the tenant's lines (role admin). Importing them reproduces the store."""
    if file is None:
        for page in session.server.export_pages():
            sys.stdout.buffer.write(page)
        sys.stdout.buffer.flush()
        return
    # A file that is there is whole: an export that breaks off leaves what was there before.
    part = file.with_name(file.name + ".part")
    count = 0
    try:
        with gzip.open(part, "wb") if file.suffix == ".gz" else part.open("wb") as out:
            for page in session.server.export_pages():
                out.write(page)
                count += page.count(b"\n")
        part.replace(file)
    except OSError as fault:
        raise Failed(f"{file}: {fault.strerror}", 2) from None
    finally:
        part.unlink(missing_ok=True)
    session.show({"lines": count, "file": str(file)}, lambda to, told: to.print(f"{told['lines']} lines in {file}."))


@contextmanager
def _lines_of(file: str) -> Iterator[BinaryIO]:
    """The lines as a file that can be read twice: a copy where they are packed or come through a pipe."""
    with ExitStack() as stack:
        try:
            raw = cast("io.RawIOBase", sys.stdin.buffer) if file == "-" else io.FileIO(file)
            source = stack.enter_context(io.BufferedReader(raw))
            packed = source.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
            lines: BinaryIO = source
            if packed or not source.seekable():
                lines = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(gzip.GzipFile(fileobj=source) if packed else source, lines)
                lines.seek(0)
        except (OSError, EOFError) as fault:  # a packed file that breaks off is an EOFError
            raise Failed(f"{file}: {getattr(fault, 'strerror', None) or fault}", 2) from None
        yield lines


def _progress() -> Progress:
    shown = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("lines"))
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=shown, disable=not shown.is_terminal)


# --- reading

Project = Annotated[str | None, typer.Option(help="A project of yours; only its rows are read.")]
Chars = Annotated[int | None, typer.Option(help="Longest content, in characters.")]
Presented = Annotated[str | None, typer.Option("--grant", help="A grant to present; its audit counts every use.")]


@command(app, "expand", example="hopscope expand decision-single-table --depth 2")
def expand(  # noqa: PLR0913, PLR0917 - a command has the options that it has
    session: Session,
    ids: Annotated[list[str], typer.Argument(help="Memories, passages or entities to start from; 8 are used.")],
    depth: Annotated[int | None, typer.Option(help=r"Hops to walk, 1 to 3.  \[default: 1]")] = None,
    limit: Annotated[int | None, typer.Option(help=r"Neighbors to return, 1 to 24.  \[default: 8]")] = None,
    relationship: Annotated[list[str] | None, typer.Option(help="Follow only this one; may be repeated.")] = None,
    type: Annotated[list[str] | None, typer.Option(help="Return only this type; may be repeated.")] = None,  # noqa: A002
    outgoing: Annotated[bool, typer.Option("--outgoing", help="Do not follow what points at a node.")] = False,  # noqa: FBT002
    project: Project = None,
    content_max_chars: Chars = None,
) -> None:
    """Show what surrounds some things, best first."""
    fields = {
        "entity_ids": ids,
        "depth": depth,
        "limit": limit,
        "relationship_types": relationship,
        "types": type,
        "include_incoming": False if outgoing else None,
        "project": project,
        "content_max_chars": content_max_chars,
    }
    session.ask("/api/search/expand", fields, show.expanded)


@command(app, "slice", example="hopscope slice guide-order-store --window 5")
def slice_(
    session: Session,
    id: Annotated[str, typer.Argument(help="A memory (from its beginning) or a passage (around it).")],  # noqa: A002
    window: Annotated[int | None, typer.Option(help=r"Passages to return, 1 to 64.  \[default: 3]")] = None,
    project: Project = None,
    content_max_chars: Chars = None,
) -> None:
    """Read a window of a text."""
    fields = {"entity_id": id, "window": window, "project": project, "content_max_chars": content_max_chars}
    session.ask("/api/search/slice", fields, show.sliced)


@command(app, "traverse", example="hopscope traverse ana --agent planner --hops 2")
def traverse(
    session: Session,
    entity: Annotated[str, typer.Argument(help="A name or alias; case, width and spacing do not matter.")],
    agent: Annotated[str, typer.Option(help="The agent whose declared names to read.")],
    hops: Annotated[int | None, typer.Option(help=r"Relations to follow, 0 to 5.  \[default: 1]")] = None,
    limit: Annotated[int | None, typer.Option(help=r"Entities to return, 1 to 100.  \[default: 20]")] = None,
    project: Annotated[str | None, typer.Option(help="That project and the global pool; empty: the pool.")] = None,
    channel: Annotated[str | None, typer.Option(help="Narrow to a channel.")] = None,
    source: Annotated[str | None, typer.Option(help="Source of mentioning memories, or a prefix.")] = None,
) -> None:
    """Show who and what has to do with a name."""
    fields = {
        "agent_id": agent,
        "entity": entity,
        "max_hops": hops,
        "limit": limit,
        "project_id": project,
        "channel": channel,
        "source_id": source,
    }
    session.ask("/api/search/traverse", fields, show.traversed)


@command(app, "lines", example="hopscope lines decision-single-table")
def lines(
    session: Session,
    ids: Annotated[list[str] | None, typer.Argument(help="Records; or --project for its latest.")] = None,
    project: Project = None,
    limit: Annotated[int | None, typer.Option(help=r"Records of the project, 1 to 50.  \[default: 10]")] = None,
    grant_id: Presented = None,
) -> None:
    """State records in a line each, with the digest by which `record` tells later whether the line still holds."""
    fields = {"recordIds": ids, "project": project, "limit": limit, "grantId": grant_id}
    session.ask("/api/records/lines", fields, show.lines)


@command(app, "record", example="hopscope record decision-single-table --project atlas --digest fd09a2f1…")
def record(
    session: Session,
    id: Annotated[str, typer.Argument(help="The record.")],  # noqa: A002
    digest: Annotated[str | None, typer.Option(help="Of the line that you remember; else of a new line.")] = None,
    project: Annotated[str | None, typer.Option(help="The view: a project of yours.")] = None,
    origin: Annotated[str | None, typer.Option(help="The view: rows without project of this origin.")] = None,
    derived_at: Annotated[str | None, typer.Option(help="When the line was derived.", callback=an_instant)] = None,
    grant_id: Presented = None,
    expansions: Annotated[int | None, typer.Option(help=r"Counterparts in full, 0 to 50.  \[default: 5]")] = None,
) -> None:
    """Show a record whole, whether a remembered line of it still holds, and what stands against it."""
    fields: dict[str, Any] = {
        "recordId": id,
        "digest": digest,
        "project": project,
        "originId": origin,
        "derivedAt": derived_at,
        "grantId": grant_id,
        "maxExpansions": expansions,
    }
    if digest is None:
        fields |= _handle(session, fields)
    session.ask("/api/records/expand", fields, show.record)


def _handle(session: Session, fields: Mapping[str, Any]) -> dict[str, str]:
    """The digest of a new line, and the view that it names where none was asked for."""
    asked = {"recordIds": [fields["recordId"]], "project": fields["project"], "grantId": fields["grantId"]}
    derived = session.server.post("/api/records/lines", asked)["lines"]
    if not derived:
        return {"digest": "none"}
    expansion = derived[0]["expansion"]
    viewed = fields["project"] or fields["originId"]
    view = {} if viewed else {name: expansion["scope"][name] for name in ("project", "originId")}
    return {"digest": expansion["digest"], **view}


# --- grants


@command(grant, "issue", example="hopscope grant issue ben --project atlas --expires 8h --reason 'on call'")
def issue(
    session: Session,
    grantee: Annotated[str, typer.Argument(help="The principal that may present it.")],
    project: Annotated[list[str], typer.Option(help="A project that it opens, one of yours; may be repeated.")],
    reason: Annotated[str, typer.Option(help="Why, for the audit.")],
    expires: Annotated[str, typer.Option(help="An instant, or from now: 30m, 8h, 7d.", callback=instant)] = "1h",
    surfaces: Annotated[str, typer.Option(help="Of http and mcp.")] = "http,mcp",
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same again is the same grant.")] = None,
) -> None:
    """Open projects to another principal for a while (role admin)."""
    fields = {
        "grantee": grantee,
        "projects": project,
        "surfaces": words(surfaces),
        "expires_at": expires,
        "reason": reason,
        # A key of its own: the request may be sent again after a lost answer.
        "idempotency_key": key or str(uuid.uuid4()),
    }
    session.show(session.server.post("/api/grants", fields), show.grant)


@command(grant, "show", example="hopscope grant show grant_…")
def show_grant(session: Session, id: Annotated[str, typer.Argument(help="The grant.")]) -> None:  # noqa: A002
    """Show a grant as it stands."""
    session.show(session.server.get(path("grants", id)), show.grant)


@command(grant, "list", example="hopscope grant list --grantee ben")
def list_grants(
    session: Session,
    grantee: Annotated[str | None, typer.Option(help="Whose; else everybody's.")] = None,
) -> None:
    """List grants (role admin)."""
    session.show({"grants": session.server.listed("/api/grants", {"grantee": grantee}, "grants")}, show.grants)


@command(grant, "revoke", example="hopscope grant revoke grant_…")
def revoke(session: Session, id: Annotated[str, typer.Argument(help="The grant.")]) -> None:  # noqa: A002
    """End a grant at once (role admin)."""
    session.show(session.server.delete(path("grants", id)), show.grant)


@command(grant, "recheck", example="hopscope grant recheck grant_… --as ben")
def recheck(session: Session, id: Annotated[str, typer.Argument(help="The grant.")]) -> None:  # noqa: A002
    """Tell whether a grant would be accepted from you, here and now."""
    session.show(session.server.post(path("grants", id, "recheck"), {}), show.recheck)


@command(app, "audit", example="hopscope audit --from 2026-01-01 --grant grant_…")
def audit(
    session: Session,
    grant_id: Annotated[str | None, typer.Option("--grant", help="Of one grant; else of all (role admin).")] = None,
    first: Annotated[str | None, typer.Option("--from", help="First day, UTC.", callback=day)] = None,
    last: Annotated[str | None, typer.Option("--to", help="Last day, UTC.", callback=day)] = None,
) -> None:
    """Show who presented which grants, by day and outcome."""
    query = {"grant_id": grant_id, "from": first, "to": last}
    session.show({"aggregates": session.server.listed("/api/audit", query, "aggregates")}, show.audit)
