"""Builds, deploys, updates and deletes the stack with the SAM command line, as a person would."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3

from infra.packaging.bundle import ROOT
from infra.packaging.sam import sam

NAME = "hopscope-e2e"
BUCKET = "hopscope-e2e-artifacts"
BUILT = ".aws-sam/e2e"
ARCHITECTURE = "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
"""This machine's: the emulator runs functions on it."""
REGION = "us-east-1"


class SamFailedError(RuntimeError):
    """A command of SAM did not succeed."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """The emulator as an AWS account, with its root's credentials."""

    port: int

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {
            **kept,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
        }

    def client(self, service: str) -> Any:
        return boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - the emulator's root
            region_name=REGION,
        )


def build() -> None:
    _succeed("build", "--build-dir", BUILT, environment={**os.environ, "ARCHITECTURE": ARCHITECTURE})


def deploy(cloud: Cloud, parameters: Mapping[str, str]) -> Mapping[str, str]:
    """Create or update the stack; gives its outputs."""
    if BUCKET not in {bucket["Name"] for bucket in cloud.client("s3").list_buckets()["Buckets"]}:
        cloud.client("s3").create_bucket(Bucket=BUCKET)
    overrides = {"Architecture": ARCHITECTURE, **parameters}
    _succeed(
        *("deploy", "--template-file", f"{BUILT}/template.yaml", "--config-file", str(ROOT / "infra/e2e/none.toml")),
        *("--stack-name", NAME, "--s3-bucket", BUCKET, "--capabilities", "CAPABILITY_IAM", "--no-progressbar"),
        *("--no-fail-on-empty-changeset", "--parameter-overrides"),
        *(f"ParameterKey={name},ParameterValue={value}" for name, value in overrides.items()),
        environment=cloud.environment(),
    )
    (stack,) = cloud.client("cloudformation").describe_stacks(StackName=NAME)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def delete(cloud: Cloud) -> None:
    _succeed("delete", "--stack-name", NAME, "--no-prompts", "--region", REGION, environment=cloud.environment())


def _succeed(*arguments: str, environment: Mapping[str, str]) -> None:
    if sam(*arguments, environment=environment) != 0:
        raise SamFailedError(f"sam {arguments[0]} failed")
