"""The image of the example server for the test cluster, made of layers as in tests/cluster/recipes.py: no registry.

What its Dockerfile says, users build (examples/llm-server/README.md); the content is the same.
`python -m tests.examples.image` puts it on the node of the running cluster.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from tests.cluster import recipes
from tests.cluster.archive import Image
from tests.cluster.cluster import Cluster
from tests.cluster.layers import Layers
from tests.cluster.pins import FASTAPI, ROOT, XLLAMACPP

EXAMPLE: Final = ROOT / "examples/llm-server"
LLM_SERVER: Final = "drainhook-llm-server:local"  # as in the example's deployment.yaml
_PACKAGES: Final = (*FASTAPI, XLLAMACPP, "gguf==0.19.0", "prometheus-client==0.26.0")


def llm_server(layers: Layers) -> Image:
    """Give the example's server and random model on Debian, run by the user of its Dockerfile."""
    debian = recipes._base(layers)
    sources = {f"srv/{name}": EXAMPLE / name for name in ("random_model.py", "server.py")}
    files = layers.files("llm-server", sources | recipes.middleware())
    stack = (debian, layers.python_packages(debian, _PACKAGES), files)
    text = (EXAMPLE / "Dockerfile").read_text()
    (command,), (user,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE), re.findall(r"^USER (.*)$", text, re.MULTILINE)
    return Image(LLM_SERVER, stack, tuple(ast.literal_eval(command)), (recipes._PYTHONPATH,), user=user, folder="/srv")


def load(cluster: Cluster) -> None:
    """Make the image where it changed and import it into the node."""
    archive, _ = recipes.make_group(cluster.places, "example", [llm_server])
    cluster.load([archive])


if __name__ == "__main__":
    load(Cluster.attach())
