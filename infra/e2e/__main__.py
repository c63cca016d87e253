"""`python -m infra.e2e`: build, deploy to the emulator with IAM enforced, ask, prove the rights, delete.

`--rights` also takes each right from each role in turn; `--keep` waits before the stack is deleted.
"""

import sys
from pathlib import Path

from infra.e2e import cases, stack
from infra.e2e.emulator import emulator
from infra.e2e.front import AUDIENCE, front
from infra.e2e.signing import signed_callers
from infra.packaging.bundle import ROOT

LOG = ROOT / ".aws-sam/emulator.log"


def _told(text: str) -> None:
    sys.stdout.write(f"\n=== {text}\n")
    sys.stdout.flush()


def run(*, rights: bool, keep: bool) -> list[str]:
    """What went wrong."""
    faults: list[str] = []
    _told("Building for this machine")
    stack.build()
    with front() as door, emulator(LOG) as port:
        cloud = stack.Cloud(port)
        _told("Deploying, with tokens")
        tokens = {"JwtIssuer": door.issuer.url, "JwtAudience": AUDIENCE}
        outputs = stack.deploy(cloud, tokens)
        api = outputs["Url"].removeprefix("https://").partition(".")[0]
        door.lead_to(port, api)
        cases.load_sample(door.url)
        _told("The smoke set")
        faults += cases.smoke(door.url) + cases.tokens(door)
        _told("The acceptance cases")
        failed = cases.acceptance(door.url)
        if failed is None:
            _told("There are none beside the project: the smoke set is all that was asked")
        faults += failed or []
        if rights:
            from infra.e2e.rights import necessary

            _told("Each right taken away")
            faults += necessary(cloud, door.url)
        _told("Deploying, with signatures")
        stack.deploy(cloud, {"AuthMode": "IAM"})
        faults += signed_callers(cloud, api, outputs["TableName"])
        if keep:
            _told(f"{door.url} leads to the stack until you press Enter")
            sys.stdin.readline()
        _told("Deleting")
        stack.delete(cloud)
    return faults


def main() -> None:
    Path(LOG).parent.mkdir(parents=True, exist_ok=True)
    faults = run(rights="--rights" in sys.argv, keep="--keep" in sys.argv)
    for fault in faults:
        sys.stdout.write(f"FAIL {fault}\n")
    _told("failed" if faults else "all is well")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
