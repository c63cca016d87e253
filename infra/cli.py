"""The command line `hopscope`: `python -m infra.cli`. Talks to a server over HTTP, as any other caller does."""

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A memory graph for agents.")


@app.callback()
def main() -> None:
    """Keeps `serve` a command by name while it is the only one."""


@app.command()
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


if __name__ == "__main__":
    app()
