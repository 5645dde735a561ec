"""Functions of the library's inside by name, int4b_t through DataCopyPad, and headers behind linked folders."""

import torch
from same import equal  # noqa: E402

import labkit
from labkit.build import includes

TEXT = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void turned(GM_ADDR x, GM_ADDR z, GM_ADDR n) {
    TPipe pipe;
    TBuf<> first, second, third;
    pipe.InitBuffer(first, 1, 512);
    pipe.InitBuffer(second, 512);
    pipe.InitBuffer(third, 512);
    __ubuf__ half* a = (__ubuf__ half*)first.Get<half>().GetPhyAddr();
    __ubuf__ half* b = (__ubuf__ half*)second.Get<half>().GetPhyAddr();
    __ubuf__ half* c = (__ubuf__ half*)third.Get<half>().GetPhyAddr();
    DataCopyGM2UBImpl(a, (__gm__ half*)x, DataCopyParams(1, 16, 0, 0));
    PipeBarrier<PIPE_ALL>();
    __ubuf__ half *from[16], *to[16];
    for (int i = 0; i < 16; i++) {
        from[i] = a + 16 * i;
        to[i] = b + 16 * i;
    }
    TransDataTo5HDParams p;
    p.repeatTimes = 1;
    TransDataTo5HDImpl(to, from, p);
    PipeBarrier<PIPE_V>();
    DataCopyUB2UBImpl(c, b, DataCopyParams(1, 16, 0, 0));
    PipeBarrier<PIPE_ALL>();
    DataCopyUB2GMImpl((__gm__ half*)z, c, DataCopyParams(1, 16, 0, 0));
    GlobalTensor<int4b_t> gn;
    gn.SetGlobalBuffer((__gm__ int4b_t*)n);
    DataCopyPad(gn, first.Get<half>().ReinterpretCast<int4b_t>(), DataCopyExtParams(1, 5, 0, 0, 0));
}
"""


def test_names_of_the_librarys_inside():
    x = torch.randn(16, 16).half()
    z, n = torch.empty(16, 16, dtype=torch.float16).npu(), torch.zeros(8, dtype=torch.int8).npu()
    record = labkit.kernel(text=TEXT, filename="turned.asc")[1](x.npu(), z, n)
    assert record.ok and not record.findings, record.report()
    assert equal(z.cpu(), x.T)
    assert n.cpu()[:5].tolist() == x.view(torch.int8).flatten()[:5].tolist() and not n.cpu()[5:].any()


def test_a_header_behind_a_linked_folder(tmp_path):
    (tmp_path / "real" / "kernel").mkdir(parents=True)
    (tmp_path / "real" / "part.h").write_text("int part;\n")
    (tmp_path / "view").mkdir()
    (tmp_path / "view" / "op").symlink_to(tmp_path / "real" / "kernel")
    assert "int part" in includes.text_of('#include "op/../part.h"\n', tmp_path / "view")
