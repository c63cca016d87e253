"""Values of options that the command line checks: a bad one is wrong usage, and is never sent."""

import re
from datetime import UTC, date, datetime, timedelta

import typer

from shared.domain import instants

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_FROM_NOW = re.compile("([0-9]{1,9})([mhd])")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def instant(text: str) -> str:
    """An instant as given, or that far from now."""
    if found := _FROM_NOW.fullmatch(text):
        number, unit = found.groups()
        try:
            then = datetime.now(UTC) + timedelta(**{_UNITS[unit]: int(number)})
        except OverflowError:
            raise typer.BadParameter(f"{text} from now is after the year 9999.") from None
        return then.isoformat(timespec="seconds").replace("+00:00", "Z")
    try:
        instants.parse(text.strip())
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither an instant (2026-01-02T03:04:05Z) nor 30m, 8h, 7d.") from None
    return text


def an_instant(text: str | None) -> str | None:
    """An instant as given, if one is."""
    try:
        if text is not None:
            instants.parse(text.strip())
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no instant such as 2026-01-02T03:04:05Z.") from None
    return text


def day(text: str | None) -> str | None:
    """A calendar day as given, if one is."""
    try:
        if text is not None:
            date.fromisoformat(text.strip() if _DAY.fullmatch(text.strip()) else "")
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day such as 2026-01-02.") from None
    return text
