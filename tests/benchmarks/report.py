"""The result in three forms: a table for the terminal, Markdown for docs, JSON for machines. Nothing is measured."""

from __future__ import annotations

import json
import os
import platform
import sysconfig
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.figures import Figure

HEADER: Final = ("part", "measure", "unit", "median", "min - max", "n", "floor", "aim", "")
_PACKAGES: Final = ("drainhook", "fastapi", "uvicorn", "uvloop", "httptools", "orjson", "PyYAML", "click")
_NUMBERS: Final = range(3, 8)  # columns that are aligned to the right


def machine() -> dict[str, Any]:
    """Describe the class of the machine, never its name."""
    model = next((line for line in _cpu_lines() if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model.partition(":")[2].strip() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "python_optimised": _is_optimised(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "load_average": os.getloadavg()[0],
    }


def document(figures: Sequence[Figure], notes: Sequence[str], about: dict[str, Any]) -> str:
    """Write everything as JSON."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows = [row.record() for row in figures]
    return json.dumps({"time": now, **about, "notes": list(notes), "figures": rows}, indent=1) + "\n"


def table(figures: Sequence[Figure]) -> str:
    """Write the table for a terminal: one part after the other."""
    rows = [HEADER, *map(_cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def markdown(figures: Sequence[Figure]) -> str:
    """Write the table as Markdown, without the column of parts."""
    lines = [HEADER[1:], ("---",) * (len(HEADER) - 1), *(_cells(row)[1:] for row in figures)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def write(path: Path, text: str) -> None:
    """Write a result, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _cells(row: Figure) -> tuple[str, ...]:
    low, high = min(row.samples), max(row.samples)
    span = f"{_number(low)} - {_number(high)}" if len(row.samples) > 1 else ""
    floor, aim = (_number(row.goal.floor), _number(row.goal.aim)) if row.goal else ("", "")
    return (row.part, row.name, row.unit, _number(row.median), span, str(len(row.samples)), floor, aim, row.mark)


def _number(value: float) -> str:
    """Write three figures that count."""
    for limit, digits in ((100, 0), (10, 1), (1, 2)):
        if abs(value) >= limit:
            return f"{value:,.{digits}f}"
    return f"{value:.3f}"


def _is_optimised() -> bool:
    """Say whether this interpreter was built with profile-guided optimisation, as the official images are."""
    flags = (sysconfig.get_config_var(name) or "" for name in ("CONFIG_ARGS", "PY_CORE_CFLAGS"))
    return any("--enable-optimizations" in flag or "-fprofile-use" in flag for flag in flags)


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
