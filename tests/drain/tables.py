"""A /proc of a test's own: the script with its /proc moved, and connection tables as the kernel prints them.

Never here: a test. Mount namespaces would need root; moving the path in the text does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.drain.hook import SCRIPT

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
ESTABLISHED, TIME_WAIT, CLOSE_WAIT, LISTEN = "01", "06", "08", "0A"
ANY, LOOPBACK, MAPPED = "00000000", "0100007F", "0000000000000000FFFF00000100007F"


def row(number: int, port: int, state: str, address: str = LOOPBACK) -> str:
    """Write one line of /proc/net/tcp or tcp6."""
    peer = f"{'0' * len(address)}:D2F0"
    queues = "00000000:00000000 00:00000000 00000000"
    return f"{number:4d}: {address}:{port:04X} {peer} {state} {queues}     0        0 4711 1 ffff8 20 4 30 10 -1"


def moved(folder: Path, tcp: Iterable[str] | None, tcp6: Iterable[str] | None = None, *, clock: bool = True) -> str:
    """Move the script's /proc into a folder: the tables given (None: no such file) and, if wanted, the real clock."""
    proc = folder / "proc"
    (proc / "net").mkdir(parents=True)
    for name, rows in (("tcp", tcp), ("tcp6", tcp6)):
        if rows is not None:
            (proc / "net" / name).write_text("\n".join([HEAD, *rows, ""]), encoding="utf-8")
    if clock:
        (proc / "uptime").symlink_to("/proc/uptime")
    assert SCRIPT.count("/proc/net/tcp") >= 2
    assert "/proc/uptime" in SCRIPT
    return SCRIPT.replace("/proc/net/", f"{proc}/net/").replace("/proc/uptime", f"{proc}/uptime")
