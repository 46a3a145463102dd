"""Times at the border of the database: integer microseconds UTC, aware datetimes elsewhere."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Return microseconds since 1970 UTC; raises ValueError for a naive time."""
    if moment.tzinfo is None:
        raise ValueError("a naive time has no place in the database")
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the aware UTC time."""
    return _EPOCH + micros * _MICROSECOND


def micros_or_none(moment: datetime | None) -> int | None:
    """Return `to_micros`, or None for None."""
    return None if moment is None else to_micros(moment)


def time_or_none(micros: int | None) -> datetime | None:
    """Return `from_micros`, or None for None."""
    return None if micros is None else from_micros(micros)
