// y[i] = tanh(factor * x[i] + x[i]) * (factor * x[i] + x[i]) for each tensor of a list; a block does one half of each.
#include "kernel_part/steps.h"

#ifdef __CCE_KT_TEST__
#define KERNEL_LINKAGE static
#else
#define KERNEL_LINKAGE extern "C"
#endif

__aicore__ inline GM_ADDR Of(GM_ADDR list, uint32_t i) {
    __gm__ uint64_t* words = reinterpret_cast<__gm__ uint64_t*>(list);
    return reinterpret_cast<GM_ADDR>(*(words + (words[0] >> 3) + i));
}

KERNEL_LINKAGE __global__ __aicore__ void list_scale(GM_ADDR x, GM_ADDR factor, GM_ADDR y, GM_ADDR workspace,
                                                     GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    TPipe pipe;
    TBuf<TPosition::VECCALC> in, out;
    pipe.InitBuffer(in, 32768);
    pipe.InitBuffer(out, 32768);
    LocalTensor<float> a = in.Get<float>(), b = out.Get<float>();
    float by = *reinterpret_cast<__gm__ bfloat16_t*>(factor);
    for (uint32_t i = 0; i < data.count; i++) {
        uint32_t n = data.sizes[i];
        __gm__ float* from = reinterpret_cast<__gm__ float*>(Of(x, i)) + GetBlockIdx() * n;
        __gm__ float* to = reinterpret_cast<__gm__ float*>(Of(y, i)) + GetBlockIdx() * n;
        DataCopyPadGm2UBImpl((__ubuf__ float*)a.GetPhyAddr(), from, DataCopyExtParams(1, n * sizeof(float), 0, 0, 0),
                             DataCopyPadExtParams<float>(false, 0, 0, 0));
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
        Steps<float, Muls, Add, Tanh>(b, a, by, n, Mul);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
        DataCopyPadUB2GMImpl(to, (__ubuf__ float*)b.GetPhyAddr(), DataCopyExtParams(1, n * sizeof(float), 0, 0, 0));
        PipeBarrier<PIPE_ALL>();
    }
}
