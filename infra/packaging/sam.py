"""Runs the SAM command line at its pinned version, in an environment apart from the project's."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

VERSION = "aws-sam-cli==1.170.0"
_BESIDE = Path(sys.executable).with_name("uv")
UV = str(_BESIDE) if _BESIDE.exists() else "uv"


def sam(*arguments: str, environment: Mapping[str, str] = os.environ) -> int:
    """The exit status of `sam` with `arguments`."""
    defaults = {"AWS_DEFAULT_REGION": "us-east-1"}
    return subprocess.run(
        [UV, "tool", "run", "--from", VERSION, "sam", *arguments],
        env={**defaults, **environment, "SAM_CLI_TELEMETRY": "0"},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(sam(*sys.argv[1:]))
