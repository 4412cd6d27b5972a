"""`python pulling.py REFERENCE HOST INTO`: fetches an image until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from roost.domain.image import Reference
from roost.node.storage.puller import PullSettings
from tests.real.ground import image_sources

if __name__ == "__main__":
    reference, host, into = sys.argv[1:]
    anyio.run(image_sources(PullSettings(insecure=(host,))).puller.unpack, Reference.parse(reference), Path(into))
