"""`python -m infra.cli`."""

from infra.cli.app import app

if __name__ == "__main__":
    app(prog_name="hopscope")
