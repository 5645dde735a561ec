"""guidellm, a load generator of the trade, drives the endpoint for 20 s; it lives in run/load-venv, which
`python scripts/profiler_tools.py load` makes. Its times are this machine's, of simulating; only the protocol is tested.
"""

from __future__ import annotations

import json
import os
import random
import subprocess

import profiler_tools
import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("transformers")

from served import process, reachable, until

pytestmark = [pytest.mark.tools, pytest.mark.slow]
SECONDS = 20


@pytest.fixture(scope="module")
def guidellm():
    found = (
        profiler_tools.make_load() if os.environ.get("LABKIT_REQUIRE_TOOLS") == "1" else profiler_tools.load_python()
    )
    if found is None:
        pytest.skip("no run/load-venv: python scripts/profiler_tools.py load makes it")
    return found.with_name("guidellm")


def a_tokenizer(folder) -> None:
    """Bytes, as the server has them: guidellm counts tokens itself, and would fetch a tokenizer from the network."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(folder)


def test_guidellm_finds_nothing_wrong(guidellm, tmp_path):
    a_tokenizer(tmp_path / "tokenizer")
    rng = random.Random(0)
    lines = [{"prompt": "x" * rng.randint(8, 60), "output_tokens_count": rng.randint(2, 8)} for _ in range(200)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    port = 18_000 + os.getpid() % 10_000
    url, out = f"http://127.0.0.1:{port}", tmp_path / "out.json"
    command = [
        str(guidellm), "run", "--disable-progress",
        "--backend", f"kind=openai_http,target={url}",
        "--profile", "kind=concurrent,streams=2",
        "--constraint", f"kind=max_duration,seconds={SECONDS}",
        "--tokenizer", f"kind=huggingface_auto,model={tmp_path / 'tokenizer'}",
        "--data", f"kind=json_file,path={tmp_path / 'prompts.jsonl'}",
        "--output", f"kind=json,path={out}",
    ]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    with process(port):
        until(lambda: reachable(url), 120)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        counts = json.loads(out.read_text(encoding="utf-8"))["benchmarks"][0]["metrics"]["request_totals"]
        assert counts["successful"] > 5 and counts["errored"] == 0, counts
        until(lambda: not any(httpx.get(f"{url}/health").json()["held"].values()))
        health = httpx.get(f"{url}/health").json()["counts"]
        assert health["finished"] >= counts["successful"] and health["failed"] == 0
