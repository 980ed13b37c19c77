"""The requirements map names every requirement once, with a state that its paths bear out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNTS = {"A": 7, "B": 7, "C": 12, "D": 5}
SYSTEMS = ["vllm", "tgi", "llamacpp", "fastapi", "llmaz", "kubernetes", "hpa", "keda", "knative", "ray"]
SYSTEMS += ["prometheus", "grafana", "minikube", "docker"]
IDS = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
IDS += [f"E-{system}" for system in SYSTEMS]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "docs/requirements.md").read_text().splitlines()
    if re.match(r"\| [A-E][0-9-]", line)
]


def test_every_requirement_has_one_row_in_order() -> None:
    """No requirement is missing, doubled or invented."""
    assert [row[0] for row in ROWS] == IDS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_paths_of_a_row_exist(row: list[str]) -> None:
    """Code, test and document of a row are there; what is not done says what is missing."""
    paths = [ROOT / path for path in re.findall(r"`([^`]+)`", row[3] + row[4])]
    paths += [ROOT / "docs" / link for link in re.findall(r"\]\(([^)]+)\)", row[5])]
    state = row[2].split(":")[0]

    assert state in {"done", "partly", "open"}
    assert [path for path in paths if not path.exists()] == []
    assert state == "open" or len(paths) >= 3


def test_a_partly_done_row_says_what_is_missing() -> None:
    """A reader learns what to expect."""
    assert [row[0] for row in ROWS if row[2].startswith("partly") and len(row[2]) < 15] == []
