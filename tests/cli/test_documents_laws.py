"""Whatever stands in a file, reading and patching it ends without an exception, and no document of it is lost."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.samples import DEPLOYMENT, ROOT, SERVICE
from webhook.catalog import load
from webhook.cli.documents import read
from webhook.cli.offline import Settings, validate_document
from webhook.cli.patching import patch_file
from webhook.cli.sources import Source
from webhook.core.decision import Policy

SETTINGS = Settings(load()[0], Policy("0.0.0"))
SAMPLES = [path.read_text() for path in sorted((ROOT / "manifests" / "samples").glob("*.yaml"))]
MARKS = [
    "\t",
    "\r",
    "\x00",
    "\ufeff",
    "{{ x }}",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "- ",
    ": ",
    "#",
    "|",
    "'",
    "[",
    "}",
    "<<: ",
]
NOISE = st.one_of(st.text(max_size=3), st.sampled_from(MARKS))
LAW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def damaged(draw):
    """Draw a manifest with noise written over some places."""
    text = draw(st.sampled_from([*SAMPLES, DEPLOYMENT, SERVICE]))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(NOISE) + text[place + draw(st.integers(0, 3)) :]
    return text


@LAW
@given(damaged())
def test_a_damaged_file_costs_no_other_document(text):
    source = Source("a.yaml", text.encode("utf-8", "surrogatepass"), text)
    documents = [*read(source)]
    assert "".join(document.piece.text for document in documents) == text
    for document in documents:
        found = [document.place(finding) for finding in validate_document(document.value, SETTINGS)]
        lines = text.count("\n") + 1
        assert all(1 <= placed.line <= lines and placed.column >= 1 for placed in [*document.findings, *found])
    patched = patch_file(source, read(source), SETTINGS)
    for result in patched.results:
        if not result.decided.operations:
            assert result.text == result.document.piece.text


@LAW
@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(text):
    documents = [*read(Source("a.yaml", b"", text))]
    assert "".join(document.piece.text for document in documents) == text


def test_every_sample_is_patched_and_then_settled():
    for text in SAMPLES:
        patched = patch_file(Source("a.yaml", b"", text), read(Source("a.yaml", b"", text)), SETTINGS)
        assert patched.is_changed
        assert not patched.has_errors
        again = patched.content().decode()
        assert not patch_file(Source("a.yaml", b"", again), read(Source("a.yaml", b"", again)), SETTINGS).is_changed
