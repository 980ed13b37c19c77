"""The command line of the test cluster: python -m tests.cluster up|down|kubectl|env|image|images|vllm|leftovers."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import Final

from tests.cluster import build, providers, recipes, startup, teardown, vllm
from tests.cluster.cluster import Cluster
from tests.cluster.errors import ClusterError
from tests.cluster.pins import KUBERNETES
from tests.cluster.places import Places

OWN: Final = "own"


def main() -> int:
    """Run one command: 0 done, 1 failed with a sentence."""
    words = sys.argv[1:]
    places = Places.of()
    try:
        if words[:1] == ["kubectl"]:
            return _kubectl(places, words[1:])
        return _run(places, _options(words))
    except ClusterError as error:
        print(error, file=sys.stderr)
        if places.logs.exists():
            print(f"Logs of the processes: {places.logs}", file=sys.stderr)
        return 1


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "up": "start a cluster, or bring the images of the running one up to date",
        "build": "build the binaries only",
        "down": "end it and look for leftovers",
        "env": "print how to use it",
        "image": "build the Dockerfile, and bring its image to the cluster if one is up",
        "images": "make the image archives and print their paths",
        "leftovers": "print what is left of a cluster; 1 if anything is",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--kubernetes", default=KUBERNETES, help="version (%(default)s)")
        command.add_argument("--provider", choices=(OWN, *providers.NAMES), default=OWN)
    commands.choices["image"].add_argument(
        "--base", default="", help="a registry's image; by default the one made here"
    )
    commands.add_parser("vllm", help="fetch vLLM for make e2e ENGINE=vllm (7 GB) and print its folder")
    commands.add_parser("kubectl", help="kubectl of the cluster's version, with its KUBECONFIG")
    return parser.parse_args(words)


def _run(places: Places, options: argparse.Namespace) -> int:
    match options.command:
        case "up" if options.provider != OWN:
            providers.up(places, options.provider, options.kubernetes)
        case "up":
            _explain(startup.up(places, options.kubernetes))
        case "build":
            print(build.build(places, options.kubernetes))
        case "down" if options.provider != OWN:
            providers.down(options.provider)
        case "down":
            return _down(places)
        case "env":
            _explain(Cluster.attach(places))
        case "image":
            _image(places, options.base)
        case "images":
            _images(places)
        case "vllm":
            with startup.alone(places):
                print(vllm.build(places))
        case _:
            return _leftovers(places)
    return 0


def _explain(cluster: Cluster) -> None:
    print(cluster.kubectl("version").strip())
    print(cluster.kubectl("get", "node", "-o", "wide").strip())
    print("\nUse it from here:")
    print(f"  export KUBECONFIG={cluster.kubeconfig} PATH={cluster.kubectl_path.parent}:$PATH")
    print("Reach pods and Services (a prefix of any command):")
    print(f"  {' '.join(cluster.inside)} curl http://ADDRESS")
    print(f"Images: {' '.join(cluster.images)} (imagePullPolicy: Never)")
    product = cluster.archive_of(recipes.PRODUCT)
    print(f"{recipes.PRODUCT} is from: {product.name if product else 'unknown'}")
    print(f"Logs: {cluster.places.logs}\nEnd it: make cluster-down")


def _image(places: Places, base: str) -> None:
    with startup.alone(places):
        archive = recipes.make_by_dockerfile(places, base)
        print(f"{archive}: {recipes.PRODUCT}")
        try:
            cluster = Cluster.attach(places)
        except ClusterError:
            return  # none is up: the next one takes it
        cluster.load([archive])
        print("imported into the cluster")


def _images(places: Places) -> None:
    archives = recipes.make(places)
    archives |= dict([recipes.make_group(places, "base", [recipes.base])])
    print(*(f"{path}: {' '.join(names)}" for path, names in archives.items()), sep="\n")


def _kubectl(places: Places, words: list[str]) -> int:
    cluster = Cluster.attach(places)
    return subprocess.run([cluster.kubectl_path, *words], env=cluster.environment, check=False).returncode


def _down(places: Places) -> int:
    if os.geteuid():
        raise ClusterError("Ending the cluster needs root: sudo -E make cluster-down.")
    begin = time.monotonic()
    teardown.down(places)
    print(f"ended in {time.monotonic() - begin:.1f} s")
    return _leftovers(places)


def _leftovers(places: Places) -> int:
    left = teardown.leftovers(places)
    print("\n".join(left) if left else "Nothing of a cluster is left: processes, mounts, cgroups, links, files.")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
