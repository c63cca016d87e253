"""Instants as text: RFC 3339 in, UTC milliseconds out, in a form that orders as text."""

import re
from datetime import UTC, datetime, timedelta

_RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_NO_INSTANT = "not an instant of the years 0001 to 9999"
_COMPLEMENT = str.maketrans("0123456789", "9876543210", "-T:.Z")


def parse(text: str) -> str:
    """An RFC 3339 instant with seconds and zone as `YYYY-MM-DDTHH:MM:SS.mmmZ`, or a ValueError.

    Finer fractions are cut off, never rounded into the future. A leap second is the second after it.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 instant with seconds and zone")
    date, minute, second, fraction, sign, hours, minutes = match.groups(default="0")
    leap = second == "60"
    try:
        moment = datetime.fromisoformat(f"{date}T{minute}:{'59' if leap else second}.{fraction[:3]:0<3}+00:00")
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        moment = moment + offset if sign == "-" else moment - offset
        if leap:
            moment = moment.replace(microsecond=0) + timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise ValueError(_NO_INSTANT) from None
    if leap and (moment.hour, moment.minute) != (0, 0):
        raise ValueError(_NO_INSTANT)
    return utc_text(moment)


def utc_text(moment: datetime) -> str:
    """An aware datetime as UTC milliseconds text."""
    if moment.tzinfo is None:
        raise ValueError("an instant needs a zone")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def inverted(text: str) -> str:
    """Seventeen digits that order in reverse of the instants they stand for, for newest-first sort keys."""
    return text.translate(_COMPLEMENT)


def day(text: str) -> str:
    """The UTC day of an instant, `YYYY-MM-DD`."""
    return text[:10]
