"""Numbers in few letters, with their units."""
from __future__ import annotations

import math

NONE = "\u2013"
BLANK = "\u00a0"


def _decimals(value: float) -> int:
    return 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2


def _scaled(value: float, units: tuple[str, ...], step: float, most: float) -> tuple[float, str]:
    """The value in the first unit in which it is at most that large."""
    for unit in units[:-1]:
        if abs(value) < most:
            return value, unit
        value /= step
    return value, units[-1]


def seconds(value: float) -> str:
    """Writes a time as the program does: "12.3 us"."""
    value, unit = _scaled(value * 1e9, ("ns", "us", "ms", "s"), 1000, 999.5)
    return f"{value:.{_decimals(value)}f} {unit}"


def time(milliseconds: float) -> str:
    if not math.isfinite(milliseconds):
        return NONE
    return seconds(1e-3 * milliseconds).replace("us", "\u00b5s").replace(" ", BLANK)


def ratio(value: float) -> str:
    if not math.isfinite(value):
        return NONE
    return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2 if value >= 0.0995 else 3}f}\u00d7"


def percent(value: float) -> str:
    return f"{value:.{1 if abs(value) < 9.95 else 0}f}{BLANK}%" if math.isfinite(value) else NONE


def short(value: float) -> str:
    """Such as "1.2 M"."""
    value, unit = _scaled(value, ("", " k", " M", " G", " T"), 1000, 999.5)
    return f"{value:.{0 if not unit and value == math.floor(value) else _decimals(value)}f}{unit}"


def size(value: float) -> str:
    """Bytes: "1.5 MiB"."""
    value, unit = _scaled(value, ("B", "KiB", "MiB", "GiB", "TiB"), 1024, 1023.95)
    return f"{value:.{1 if unit != 'B' and value != math.floor(value) else 0}f} {unit}"


def number(value: float) -> str:
    if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e6):
        return f"{value:.2e}"
    return f"{value:.{4 if abs(value) < 0.0995 else _decimals(value)}f}"


def cell(value: float) -> str:
    """Four digits without zeros behind the point; "" for what is not a number."""
    if not math.isfinite(value):
        return ""
    decimals = 0 if value == 0 else min(max(3 - math.floor(math.log10(abs(value))), 0), 8)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
