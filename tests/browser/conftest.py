"""Fixtures of the browser tests, and the one rule about skipping them."""

from __future__ import annotations

import os
import shutil

import pytest
from jupyter_page import Server, open_browser


def missing() -> str | None:
    """What keeps the browser tests from running here, None when nothing does."""
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        return "no chromium (apt-get install chromium)"
    if not shutil.which("chromedriver"):
        return "no chromedriver (apt-get install chromium-driver)"
    return None


@pytest.fixture(scope="module")  # gone before the other tests need the memory
def browser(tmp_path_factory):
    reason = missing()
    if reason and os.environ.get("LABKIT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"LABKIT_REQUIRE_BROWSER=1, but {reason}", pytrace=False)
    if reason:
        pytest.skip(reason)
    chromium = open_browser(tmp_path_factory.mktemp("chromium"))
    yield chromium
    chromium.quit()


@pytest.fixture(scope="module")  # gone before the other tests need the memory
def server(tmp_path_factory, browser):
    jupyter = Server(tmp_path_factory.mktemp("jupyter"))
    yield jupyter
    jupyter.close()
