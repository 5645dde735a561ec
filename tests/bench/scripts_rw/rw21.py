"""3x3 convolution, sweep over the batch. Writes conv_batch.txt into the temporary directory."""
import pathlib
import statistics
import tempfile

import torch
import torch.nn.functional as F
import torch_npu

torch.set_num_threads(1)


class BatchSweep:
    channels, size, calls, repeats = 16, 28, 6, 11

    def __init__(self, batches):
        self.batches = batches
        torch.manual_seed(9)
        self.kernel = torch.randn(self.channels, self.channels, 3, 3).half().npu()
        self.path = pathlib.Path(tempfile.gettempdir()) / "conv_batch.txt"

    def pair(self, images):
        e = [torch.npu.Event(enable_timing=True) for _ in range(2)]
        torch.npu.synchronize()
        e[0].record()
        for _ in range(self.calls):
            F.conv2d(images, self.kernel, padding=1)
        e[1].record()
        e[1].synchronize()
        return e[0].elapsed_time(e[1]) / self.calls

    def __iter__(self):
        for batch in self.batches:
            images = torch.randn(batch, self.channels, self.size, self.size).half().npu()
            for _ in range(2):
                self.pair(images)
            ms = statistics.median(self.pair(images) for _ in range(self.repeats))
            flop = 2 * batch * self.channels * self.channels * 9 * self.size * self.size
            yield batch, ms * 1e3, ms * 1e3 / batch, batch / ms * 1e3, flop / ms / 1e9

    def write(self):
        with self.path.open("w") as out:
            out.write(f"conv2d {self.channels}->{self.channels}, 3x3, {self.size}x{self.size}, float16, padding 1\n")
            out.write(f"time: NPU events around {self.calls} calls from an idle device, launch gaps included; median of {self.repeats} pairs, 2 pairs to warm up\n")
            out.write("batch   us per call   us per image     images/s   TFLOP/s\n")
            for batch, call, image, rate, tflops in self:
                out.write(f"{batch:5d} {call:13.2f} {image:14.3f} {rate:12.0f} {tflops:9.3f}\n")
            out.write("us per image = us per call / batch: a share of a batch, not what a call with a single image takes (row 1)\n")
            out.write("images are reused within a row and stay in L2; FLOP = 2 * outputs * 9 * channels, borders counted in full\n")
        return self.path


written = BatchSweep((1, 2, 4, 8, 16, 32)).write()
print(written.read_text(), end="")
print("->", written)
