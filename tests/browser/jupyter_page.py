"""A JupyterLab server of our own and a user's view of it through Chromium: what the browser tests act with.

Everything that either program writes (settings, workspaces, profile, the notebook it saves) goes to a folder of the
test, so that a run leaves no trace in the checkout and meets none of the user's own configuration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bootstrap

START_S, IDLE_S = 90, 300
# As root and in a closed network: no sandbox, nothing that looks up Google's hosts by itself.
CHROMIUM = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,1000",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
SETTINGS = {
    # No question about news, no look-up of a newer version: this page must not need the internet.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    # All cells in the page at once: by default those out of sight are taken out of it.
    "notebook-extension/tracker": {"windowingMode": "none"},
}


def wait_for(what: str, condition: Callable, seconds: float, every: float = 0.2):
    """The first true value of `condition()`. Raises TimeoutError that names what was waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(every)
    raise TimeoutError(f"{what}: not within {seconds} s")


class Server:
    """`jupyter lab` on a free port, with a token, serving `work/root`; as `make lab` starts it in the language in force."""

    def __init__(self, work: Path):
        self.root, self._log = work / "root", work / "jupyter.log"
        self.root.mkdir(parents=True, exist_ok=True)
        for name, value in SETTINGS.items():
            file = work / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(value))
        environment = {
            **os.environ,
            **bootstrap.jupyter_environment(),
            "JUPYTER_CONFIG_DIR": str(work / "config"),
            "JUPYTER_DATA_DIR": str(work / "data"),
            "JUPYTER_RUNTIME_DIR": str(work / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(work / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(work / "workspaces"),
            "IPYTHONDIR": str(work / "ipython"),
            "LABKIT_PROGRESS": str(work / "progress.jsonl"),
        }
        arguments = [
            "--no-browser",
            "--ServerApp.port=0",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.root_dir={self.root}",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.expose_app_in_browser=True",
            *(word for word in bootstrap.jupyter_arguments() if "labextensions" in word),
        ]
        if os.geteuid() == 0:
            arguments.append("--allow-root")
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", *arguments],
                env=environment,
                cwd=work,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        try:
            found = wait_for("JupyterLab's address", lambda: self._address(work / "runtime"), START_S)
        except TimeoutError as error:
            self.close()
            raise TimeoutError(f"{error}; its log ends:\n{self.log()[-2000:]}") from None
        self.url, self.token = found["url"], found["token"]
        assert self.token, "the server must ask for a token"

    def _address(self, runtime: Path) -> dict | None:
        assert self._process.poll() is None, f"jupyter lab stopped:\n{self.log()[-2000:]}"
        for file in runtime.glob("jpserver-*.json"):
            try:
                return json.loads(file.read_text())
            except ValueError:  # being written
                return None
        return None

    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def close(self) -> None:
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def open_browser(work: Path):
    """A headless Chromium with a profile of its own. Its console is kept for `severe()`."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (*CHROMIUM, f"--user-data-dir={work / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(
        executable_path=shutil.which("chromedriver"), log_output=str(work / "chromedriver.log")
    )
    browser = webdriver.Chrome(options=options, service=service)
    # Chromium 150 gives a headless page no focus, and JupyterLab then has no current notebook.
    browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    return browser


class Page:
    """One notebook, open in JupyterLab, and what a person does with it."""

    def __init__(self, browser, server: Server, notebook: str):
        self.browser, self.file = browser, server.root / notebook
        browser.set_window_size(1280, 1000)
        browser.get(f"{server.url}lab/tree/{notebook}?token={server.token}&reset")  # and no tab of a page before
        wait_for("the notebook", lambda: self.all(".jp-NotebookPanel .jp-Cell"), START_S)
        # On a busy machine later than its cells.
        current = "return Boolean(jupyterapp.shell.currentWidget?.content?.model)"
        wait_for("a current notebook", lambda: self.script(current), START_S)
        wait_for("an idle kernel", self.rested, START_S)

    def all(self, css: str):
        from selenium.webdriver.common.by import By

        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def script(self, text: str, *arguments):
        return self.browser.execute_script(text, *arguments)

    def cell_with(self, text: str) -> int:
        """The place of the first cell whose source holds `text`."""
        cells = json.loads(self.file.read_text(encoding="utf-8"))["cells"]
        return next(place for place, cell in enumerate(cells) if text in "".join(cell["source"]))

    def run_through(self, last: int) -> None:
        """Shift+Enter from the first cell on, as often as it takes to have run the cell at place `last`."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.keys import Keys

        self.all(".jp-NotebookPanel .jp-Cell .jp-InputPrompt")[0].click()
        for _ in range(last + 1):
            ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
            time.sleep(0.1)
        wait_for("the cells", self.rested, IDLE_S)

    def type_over(self, place: int, line: int, text: str) -> int:
        """Replace a line of a cell by typing, run the cell, and wait; how many keys that took."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        cell = self.all(".jp-NotebookPanel .jp-Cell")[place]
        self.script("arguments[0].scrollIntoView({block: 'center'})", cell)
        cell.find_elements(By.CSS_SELECTOR, ".cm-line")[line].click()
        keys = ActionChains(self.browser).send_keys(Keys.HOME)
        keys.key_down(Keys.SHIFT).send_keys(Keys.END).key_up(Keys.SHIFT).send_keys(text)
        keys.key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
        time.sleep(0.5)
        wait_for("an answer", self.rested, IDLE_S)
        return 5 + len(text)

    def output(self, place: int) -> str:
        """What a cell shows below it, as text."""
        return self.script(
            "return [...document.querySelectorAll('.jp-NotebookPanel .jp-Cell')[arguments[0]]"
            ".querySelectorAll('.jp-OutputArea-output')].map(e => e.textContent).join('\\n')",
            place,
        )

    def theme(self, name: str) -> None:
        """Settings > Theme."""
        self.script("return jupyterapp.commands.execute('apputils:change-theme', {theme: arguments[0]})", name)
        wait_for("the theme", lambda: self.script("return document.body.dataset.jpThemeName") == name, 30)
        time.sleep(1.0)

    def idle(self) -> bool:
        return bool(self.all('.jp-Notebook-ExecutionIndicator[data-status="idle"]'))

    def run_all(self, cells: int) -> None:
        """Run > Run All Cells, then wait until all `cells` code cells have run, or one shows an error and no more run.

        The count is asked for because a page under load has cells that it does not show yet.
        """
        tries = []
        while not self.done():
            if len(tries) == 5:
                raise TimeoutError(f"Run > Run All Cells started nothing: {tries}; the prompts: {self.prompts()}")
            tries.append(self._choose("Run", "runmenu:run-all"))
            try:
                # A page that is still laying itself out swallows a click now and then, and a kernel whose connection is
                # just being made drops what was sent to it: then the prompts are empty again, and a person tries again.
                wait_for("the first cell", self.started, 5, every=0.05)
                wait_for(
                    "the last cell",
                    lambda: self.rested() and (self.done() in (0, cells) or self.errors()),
                    IDLE_S,
                    every=0.5,
                )
            except TimeoutError:
                if self.started():
                    raise TimeoutError(
                        f"{self.done()} of {cells} cells have run; the prompts: {self.prompts()}"
                    ) from None

    def _choose(self, menu: str, command: str) -> str:
        """Choose an entry of a menu; what went wrong with it, "" when nothing did."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
        try:
            next(item for item in self.all(".lm-MenuBar-item") if item.text.strip() == menu).click()
            entry = wait_for("the menu", lambda: self.all(f'.lm-Menu-item[data-command="{command}"]'), 5)[0]
            entry.find_element(By.CSS_SELECTOR, ".lm-Menu-itemLabel").click()
        except (StopIteration, TimeoutError, WebDriverException) as error:
            return f"{type(error).__name__}: {str(error).splitlines()[:1]}"
        return ""

    def prompts(self) -> list[str]:
        """ "[*]:", "[3]:" or "[ ]:" of every code cell; a folded cell shows its number beside the output, if it has one,
        and else only its model knows."""
        return self.script("""
            const models = [...jupyterapp.shell.currentWidget.content.model.cells].filter(model => model.type === 'code');
            return [...document.querySelectorAll('.jp-NotebookPanel .jp-CodeCell')].map((cell, place) =>
                (cell.querySelector('.jp-InputPrompt')?.textContent || cell.querySelector('.jp-OutputPrompt')?.textContent
                 || `[${models[place]?.executionCount ?? ' '}]:`).trim())""")

    def started(self) -> bool:
        return any(prompt not in ("", "[ ]:") for prompt in self.prompts())

    def done(self) -> int:
        """How many code cells have a number."""
        return sum(bool(re.fullmatch(r"\[\d+\]:", prompt)) for prompt in self.prompts())

    def errors(self) -> list[str]:
        """The error outputs that the page shows."""
        return [shown.text for shown in self.all('[data-mime-type="application/vnd.jupyter.error"]')]

    def rested(self) -> bool:
        """Whether nothing waits, nothing runs, and so a second later."""
        if "[*]:" in self.prompts() or not self.idle():
            return False
        time.sleep(1.0)
        return "[*]:" not in self.prompts() and self.idle()

    def save(self) -> dict:
        """Ctrl+S; the notebook as it then is on disk."""
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        before = self.file.stat().st_mtime_ns
        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.CONTROL, "s")
        wait_for("the save", lambda: self.file.stat().st_mtime_ns != before, 30)
        time.sleep(0.5)
        return json.loads(self.file.read_text(encoding="utf-8"))

    def severe(self) -> list[str]:
        """Messages of level SEVERE on the browser's console since the last call."""
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]

    def fold_file_list(self) -> None:
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.CONTROL, "b")

    def screenshot(self, file: Path, tallest: int = 16000, width: int = 1280) -> None:
        """The whole notebook in one picture: the window is made as tall as its content for it."""
        file.parent.mkdir(parents=True, exist_ok=True)
        height = self.script("""
            const panel = document.querySelector('.jp-NotebookPanel-notebook .jp-WindowedPanel-outer')
                       ?? document.querySelector('.jp-NotebookPanel-notebook');
            return panel.scrollHeight + window.innerHeight - panel.clientHeight;""")
        self.browser.set_window_size(width, min(int(height) + 40, tallest))
        time.sleep(1.0)
        self.script(
            "for (const e of document.querySelectorAll('.jp-NotebookPanel, .jp-NotebookPanel *')) if (e.scrollTop) "
            "e.scrollTop = 0;"
        )
        time.sleep(1.0)
        self.browser.save_screenshot(str(file))
