"""Options of the test run; no fixture stands here."""

from __future__ import annotations


def pytest_addoption(parser):
    parser.addoption(
        "--update-cases",
        action="store_true",
        help="write what is decided now into expected.yaml of each conformance case; read the diff before you keep it",
    )
