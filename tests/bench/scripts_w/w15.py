"""Time of a chunk in the live caption's sound conditioning: gain, limiter and fade over all that was heard so far."""
import time
from dataclasses import dataclass, field

import numpy as np
import torch
import torch._dynamo
import torch_npu

CHANNELS, CHUNK = 32, 256
WARM_CHUNKS, CHUNKS = 4, 22

torch._dynamo.config.recompile_limit = 128  # the warning about the limit filled the log


def condition(sound, window):
    """sound and window: channels x everything heard so far."""
    loud = torch.tanh(sound * 1.4)
    return (loud - 0.1 * sound) * window


@dataclass
class Listener:
    function: object
    device: str
    sound: torch.Tensor = field(init=False)
    window: torch.Tensor = field(init=False)
    heard: int = 0

    def __post_init__(self):
        self.sound = torch.zeros(0, CHANNELS, device=self.device)
        self.window = torch.linspace(0, 1, CHUNK * CHUNKS, device=self.device)[:, None].expand(-1, CHANNELS).contiguous()

    def hear(self, chunk):
        self.sound = torch.cat([self.sound, chunk])
        self.heard += len(chunk)
        return self.function(self.sound, self.window[: self.heard])


def recording(chunks, seed):
    generator = torch.Generator().manual_seed(seed)
    return list(torch.randn(chunks, CHUNK, CHANNELS, generator=generator))


def play(listener, chunks):
    """Microseconds of each chunk, from its arrival on the card until its result is there."""
    taken = []
    for chunk in chunks:
        torch.npu.synchronize()
        begin = time.perf_counter()
        result = listener.hear(chunk)
        torch.npu.synchronize()
        taken.append(1e6 * (time.perf_counter() - begin))
    return np.array(taken), result


def main():
    host_chunks = recording(CHUNKS, seed=3)
    chunks = [chunk.npu() for chunk in host_chunks]
    fast = torch.compile(condition, dynamic=False)

    for _ in range(4):
        play(Listener(fast, "npu"), chunks[:WARM_CHUNKS])

    us, result = play(Listener(fast, "npu"), chunks)
    reference = Listener(condition, "cpu")
    for chunk in host_chunks:
        wanted = reference.hear(chunk)
    assert torch.allclose(result.cpu(), wanted, atol=1e-4)
    assert len(us) == CHUNKS

    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"conditioning under torch.compile, {CHANNELS} channels float32, chunks of {CHUNK}, {CHUNKS} chunks from the start of a talk")
    print(f"a chunk, arrival to result: P50 {p50:.0f} us   P10 {p10:.0f}   P90 {p90:.0f}   longest {us.max():.0f}")
    first, last = np.array_split(us, 2)
    print(f"first half P50 {np.median(first):.0f} us, second half {np.median(last):.0f}")


if __name__ == "__main__":
    main()
