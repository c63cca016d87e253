"""Starts and stops the emulator, with IAM enforced, in an environment that holds none of the project's libraries.

A function that found a library there and not in its bundle would be wrongly green.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.local.engine import free_port, is_up, stop
from infra.packaging.bundle import ROOT, runtime_python
from infra.packaging.sam import UV

_NEEDS = ("aws-sam-translator==1.115.0", "cryptography==50.0.2")
"""It applies the template's transform with the first, and checks the signatures of tokens with the second."""
_EMULATOR = "ministack==1.5.33"
_START_SECONDS = 180.0
_STOP_SECONDS = 20.0


class DidNotStartError(RuntimeError):
    """The emulator ended, or stayed silent, while it was starting."""


@contextmanager
def emulator(log: Path) -> Iterator[int]:
    """A running emulator on the loopback interface; gives its port. Functions run under Python 3.13, as deployed."""
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MINISTACK_", "PYTHON"))}
    environment = {
        **kept,
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "AUTH": "true",
        "LAMBDA_EXECUTOR": "local",
        "PERSIST_STATE": "0",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
    }
    extra = [part for needed in _NEEDS for part in ("--with", needed)]
    command = [UV, "tool", "run", "--python", str(runtime_python()), "--from", _EMULATOR, *extra]
    with log.open("wb") as output:
        child = subprocess.Popen(
            [*command, "python", str(ROOT / "infra/local/store_process.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait(child, port)
            yield port
        finally:
            stop(child, _STOP_SECONDS)


def _wait(child: "subprocess.Popen[bytes]", port: int) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while child.poll() is None and time.monotonic() < give_up:
        if is_up(f"http://127.0.0.1:{port}"):
            return
        time.sleep(0.2)
    raise DidNotStartError("the emulator did not start")
