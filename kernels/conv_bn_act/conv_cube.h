// The cube core's part: units of y, their sums in steps, pictures and tiles that are turned. conv_bn_act.asc says how it goes.
#pragma once
#include "kernel_operator.h"
#include "conv.h"
using namespace AscendC;

constexpr uint32_t C0 = 16, FRACTAL = 256;
constexpr uint32_t L1_BIAS = 16 * 1024, L1_OUT = 32 * 1024, L1_ONE = 512;  // bytes: all of the bias, a tile of y, the identity
// L0A and L0B have two slots of DEEP fractals and the identity; L0A, where x is turned, two smaller ones besides.
constexpr uint32_t DEEP = 63, DEEP_TURNS = 47, TURNED = 16, ACC = 64 * 1024, TURN = 32 * 1024;
constexpr uint16_t READY = 1, FREE = 2;
constexpr uint32_t SETTLED = 10;  // fractals of C: products of fewer need a barrier before the next adds to them
constexpr uint32_t AHEAD = 8;  // tiles of y that the cube may be before the vector cores

__aicore__ inline uint32_t Parts(uint32_t a, uint32_t unit) { return (a + unit - 1) / unit; }
__aicore__ inline uint32_t Up(uint32_t a, uint32_t unit) { return Parts(a, unit) * unit; }
__aicore__ inline uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }

// The units of one core: a column of y's channels after the other, so that the weights in L1 serve many of them.
struct Units {
    uint32_t bands, begin, end;
    __aicore__ inline Units(const Conv& c, uint32_t core, uint32_t cores)
    {
        bands = Parts(c.outHeight * c.outWidth, c.rows);
        uint32_t all = bands * c.batch * Parts(c.outChannels, c.cols), few = all / cores, more = all % cores;
        begin = core * few + Least(core, more);
        end = begin + few + (core < more ? 1 : 0);
    }
};

// A chunk of a unit: what is loaded and multiplied at a time.
struct Step {
    uint32_t unit, chunk;
    uint32_t image, first, count;            // positions of y
    uint32_t col, cols;                      // channels of y
    uint32_t begin, high, above, below, skip;  // rows of x, and of zeros around them; positions before the first in its row of y
    uint32_t block, blocks;                  // of 16 channels of x
};

// Positions and channels of y that are multiplied at a time.
struct Tile {
    uint32_t image, first, count, col, cols, slot;
};

template <typename T, bool FLAGS> class ConvCube {
    GlobalTensor<T> xGm, wGm, yGm;
    GlobalTensor<float> biasGm;
    Conv c;
    uint32_t taps, allBlocks, chunks, wide, imageSize, weightSize;  // wide: channels of y in the packed weights; sizes in elements
    uint32_t p = 0, acc = 0, turn = 0, tileCount = 0, loadedW = 0, usedW = 0, finished = 0;
    bool waitsW = true, pending = false, turning = false;  // pending: tile `left` has still to be finished
    Tile left;
    struct {
        uint32_t slot, at, line, block, blocks, lines, length;
    } job;  // the picture that is being turned
    Units units;

public:
    __aicore__ inline ConvCube(GM_ADDR x, GM_ADDR w, GM_ADDR bias, GM_ADDR y, const Conv& conv) : c(conv), units(conv, GetBlockIdx(), GetBlockNum())
    {
        xGm.SetGlobalBuffer((__gm__ T*)x);
        wGm.SetGlobalBuffer((__gm__ T*)w);
        yGm.SetGlobalBuffer((__gm__ T*)y);
        biasGm.SetGlobalBuffer((__gm__ float*)bias);
        taps = c.kernelH * c.kernelW;
        allBlocks = Parts(c.channels, C0);
        chunks = Parts(allBlocks, c.group);
        wide = Up(c.outChannels, C0);
        imageSize = c.group * Up(c.foldH ? c.high * Up(c.width, C0) : c.high * c.width, C0) * C0;
        weightSize = c.group * taps * c.cols * C0;
    }

    __aicore__ inline void Run()
    {
        for (int32_t e = 0; e < 2; e++) {
            SetFlag<HardEvent::MTE1_MTE2>(e);
            SetFlag<HardEvent::MTE1_MTE2>(2 + e);
            SetFlag<HardEvent::M_MTE1>(e);
            SetFlag<HardEvent::M_MTE1>(3 + e);
            SetFlag<HardEvent::FIX_M>(e);
            SetFlag<HardEvent::FIX_M>(2 + e);
            SetFlag<HardEvent::MTE1_FIX>(e);
            SetFlag<HardEvent::MTE1_FIX>(2 + e);
        }
        SetFlag<HardEvent::M_MTE1>(2);
                Constants();
        Step now, next, after;
        bool more = First(now), again = false, later = false;
        uint32_t slot = 0;
        if (more) {
            LoadImage(now, 0);
            LoadWeights(now, true);
            next = now;
            again = Advance(next);
            if (c.turnX) {
                if (again) LoadImage(next, 1);
                Turn(now, 0);
                while (turning) TurnPiece();
            }
        }
        while (more) {
            bool fresh = false;
            if (again) {
                fresh = chunks > 1 || next.col != now.col;
                LoadWeights(next, fresh);
                after = next;
                later = Advance(after);
                if (c.turnX) {
                    if (later) LoadImage(after, slot);
                    Turn(next, 1 - slot);
                } else {
                    LoadImage(next, 1 - slot);
                }
            }
            Multiply(now, slot, !again || fresh);
            now = next;
            more = again;
            next = after;
            again = later;
            later = false;
            slot = 1 - slot;
        }
        while (pending) FinishPiece();
        for (int32_t e = 0; e < 2; e++) {
            WaitFlag<HardEvent::MTE1_MTE2>(e);
            WaitFlag<HardEvent::MTE1_MTE2>(2 + e);
            WaitFlag<HardEvent::M_MTE1>(e);
            WaitFlag<HardEvent::M_MTE1>(3 + e);
            WaitFlag<HardEvent::FIX_M>(e);
            WaitFlag<HardEvent::FIX_M>(2 + e);
            WaitFlag<HardEvent::MTE1_FIX>(e);
            WaitFlag<HardEvent::MTE1_FIX>(2 + e);
        }
        WaitFlag<HardEvent::M_MTE1>(2);
        if (FLAGS) {
            for (uint32_t left = Least(tileCount, AHEAD); left > 0; left--) CrossCoreWaitFlag(FREE);
        }
    }

private:
    // ---- places in L1, from the bottom: bias, identity, a tile of y, weights twice, pictures twice, and the same as it lies in GM
    __aicore__ inline LocalTensor<float> Bias() { return LocalTensor<float>(TPosition::C1, 0, L1_BIAS / sizeof(float)); }
    __aicore__ inline LocalTensor<T> One() { return LocalTensor<T>(TPosition::A1, L1_BIAS, FRACTAL); }
    __aicore__ inline LocalTensor<T> Out(uint32_t e) { return LocalTensor<T>(TPosition::A1, L1_BIAS + L1_ONE + e * (L1_OUT / c.sums), L1_OUT / c.sums / sizeof(T)); }
    __aicore__ inline uint32_t Begin() { return L1_BIAS + L1_ONE + (c.turnY ? L1_OUT : 0); }
    __aicore__ inline LocalTensor<T> Weights(uint32_t e) { return LocalTensor<T>(TPosition::B1, Begin() + e * weightSize * sizeof(T), weightSize); }
    __aicore__ inline LocalTensor<T> Image(uint32_t e) { return LocalTensor<T>(TPosition::A1, Begin() + (2 * weightSize + e * imageSize) * sizeof(T), imageSize); }
    __aicore__ inline LocalTensor<T> Raw(uint32_t e) { return Image(c.turnX ? 2 + e : e); }
    __aicore__ inline uint32_t Deep() { return c.turnX ? DEEP_TURNS : DEEP; }
    __aicore__ inline LocalTensor<T> A2(uint32_t e) { return LocalTensor<T>(TPosition::A2, e * Deep() * 512, Deep() * FRACTAL); }
    __aicore__ inline LocalTensor<T> TurnA2(uint32_t e) { return LocalTensor<T>(TPosition::A2, (2 * DEEP_TURNS + e * TURNED) * 512, TURNED * FRACTAL); }
    __aicore__ inline LocalTensor<T> B2(uint32_t e) { return LocalTensor<T>(TPosition::B2, e * DEEP * 512, DEEP * FRACTAL); }
    __aicore__ inline LocalTensor<T> OneA2() { return LocalTensor<T>(TPosition::A2, 127 * 512, FRACTAL); }
    __aicore__ inline LocalTensor<T> OneB2() { return LocalTensor<T>(TPosition::B2, 127 * 512, FRACTAL); }
    // L0C: two tiles of y; where something is turned, one or two in its first half and what is turned in the other
    __aicore__ inline LocalTensor<float> Sums()
    {
        uint32_t size = c.turnX || c.turnY ? ACC / c.sums : ACC;
        return LocalTensor<float>(TPosition::CO1, acc * size, size / sizeof(float));
    }
    __aicore__ inline LocalTensor<float> Turned() { return LocalTensor<float>(TPosition::CO1, ACC + turn * TURN, TURN / sizeof(float)); }

    __aicore__ inline void Constants()
    {
        if (units.begin >= units.end) return;
        DataCopy(Bias(), biasGm, wide);
        DataCopy(One(), wGm, FRACTAL);
        SetFlag<HardEvent::MTE2_MTE1>(4);
        WaitFlag<HardEvent::MTE2_MTE1>(4);
        LoadData(OneA2(), One(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
        LoadData(OneB2(), One(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
        SetFlag<HardEvent::MTE1_M>(4);
        WaitFlag<HardEvent::MTE1_M>(4);
    }

    // ---- the steps of this core
    __aicore__ inline bool First(Step& s)
    {
        s.unit = units.begin;
        s.chunk = 0;
        return Describe(s);
    }
    __aicore__ inline bool Advance(Step& s)
    {
        s.chunk++;
        if (s.chunk == chunks) {
            s.chunk = 0;
            s.unit++;
        }
        return Describe(s);
    }
    __aicore__ inline bool Describe(Step& s)
    {
        if (s.unit >= units.end) return false;
        uint32_t positions = c.outHeight * c.outWidth, perColumn = units.bands * c.batch, rest = s.unit % perColumn;
        s.col = s.unit / perColumn * c.cols;
        s.cols = Least(c.cols, c.outChannels - s.col);
        s.image = rest / units.bands;
        s.first = rest % units.bands * c.rows;
        s.count = Least(c.rows, positions - s.first);
        uint32_t top = s.first / c.outWidth, bottom = (s.first + s.count - 1) / c.outWidth;
        s.skip = s.first - top * c.outWidth;
        int32_t from = static_cast<int32_t>(top * c.strideH) - static_cast<int32_t>(c.padH), to = static_cast<int32_t>(bottom * c.strideH + c.kernelH) - static_cast<int32_t>(c.padH);
        s.begin = from < 0 ? 0 : from;
        uint32_t end = Least(to, c.height);
        s.high = end - s.begin;
        s.above = static_cast<uint32_t>(static_cast<int32_t>(s.begin) - from);
        s.below = static_cast<uint32_t>(to) - end;
        s.block = s.chunk * c.group;
        s.blocks = Least(c.group, allBlocks - s.block);
        return true;
    }

    // ---- GM to L1
    __aicore__ inline void LoadWeights(const Step& s, bool fresh)
    {
        if (!fresh) return;
        uint32_t e = loadedW++ % 2, cols = Up(s.cols, C0);
        WaitFlag<HardEvent::MTE1_MTE2>(2 + e);
        // packed: [16 channels of x and tap][channels of y][16]
        DataCopy(Weights(e), wGm[FRACTAL + (static_cast<uint64_t>(s.block) * taps * wide + s.col) * C0],
                 DataCopyParams(s.blocks * taps, cols, wide - cols, 0));
        SetFlag<HardEvent::MTE2_MTE1>(2 + e);
    }

    __aicore__ inline void LoadImage(const Step& s, uint32_t e)
    {
        WaitFlag<HardEvent::MTE1_MTE2>(e);
        uint32_t channels = Least(s.blocks * C0, c.channels - s.block * C0);
        if (!c.turnX) {
            uint32_t lines = s.high * c.width;
            uint64_t from = static_cast<uint64_t>(s.image) * c.picture + static_cast<uint64_t>(s.begin) * c.line + s.block * C0;
            if (c.line == c.width * c.pixel) {
                DataCopy(Raw(e), xGm[from], Nd2NzParams(1, lines, channels, 0, c.pixel, lines, 1, 0));
            } else {
                for (uint32_t r = 0; r < s.high; r++) DataCopy(Raw(e)[r * c.width * C0], xGm[from + static_cast<uint64_t>(r) * c.line], Nd2NzParams(1, c.width, channels, 0, c.pixel, lines, 1, 0));
            }
        } else if (c.foldH == 0) {
            uint32_t run = s.high * c.width, area = c.height * c.width;
            uint64_t from = (static_cast<uint64_t>(s.image) * c.channels + s.block * C0) * area + s.begin * c.width;
            Clear(Raw(e), channels, s.blocks * C0 - channels, s.blocks * C0, Parts(run, C0));
            Rows(Raw(e), xGm[from], channels, run, area, s.blocks * C0);
        } else {
            uint32_t tall = allBlocks * C0, pieces = Parts(c.width, C0), real = c.channels / c.foldH;
            for (uint32_t r = 0; r < s.high; r++) {
                LocalTensor<T> to = Raw(e)[r * pieces * tall * C0];
                int32_t top = static_cast<int32_t>((s.begin + r) * c.foldStride) - static_cast<int32_t>(c.foldPad);
                uint32_t above = top < 0 ? -top : 0, below = top + static_cast<int32_t>(c.foldH) > static_cast<int32_t>(c.foldHeight) ? top + c.foldH - c.foldHeight : 0;
                Clear(to, c.channels, tall - c.channels, tall, pieces);
                for (uint32_t channel = 0; channel < real; channel++) {
                    uint32_t at = channel * c.foldH, rows = c.foldH - above - below;
                    Clear(to, at, above, tall, pieces);
                    Clear(to, at + c.foldH - below, below, tall, pieces);
                    uint64_t from = (static_cast<uint64_t>(s.image) * real + channel) * c.foldHeight * c.width + static_cast<uint64_t>(top + above) * c.width;
                    Rows(to[(at + above) * C0], xGm[from], rows, c.width, c.width, tall);
                }
            }
        }
        SetFlag<HardEvent::MTE2_MTE1>(e);
    }

    // `rows` rows of `length`, `apart` in GM, become columns of 16 elements, `tall` rows each. A copy steps no further than 65535.
    __aicore__ inline void Rows(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t rows, uint32_t length, uint32_t apart, uint32_t tall)
    {
        if (apart <= 65535) {
            DataCopy(to, from, Nd2NzParams(1, rows, length, 0, apart, tall, 1, 0));
        } else {
            for (uint32_t r = 0; r < rows; r++) DataCopy(to[r * C0], from[static_cast<uint64_t>(r) * apart], Nd2NzParams(1, 1, length, 0, length, tall, 1, 0));
        }
    }

    // Zeros into `rows` rows of each of `columns` columns that are `tall` high.
    __aicore__ inline void Clear(const LocalTensor<T>& to, uint32_t row, uint32_t rows, uint32_t tall, uint32_t columns)
    {
        if (rows > 0) Fill(to[row * C0], InitConstValueParams<T>(columns, rows, tall - rows, static_cast<T>(0.0f)));
    }

    // ---- the picture as LoadData 3D wants it: positions x 16 channels, a piece of it at a time, between the products of the step before
    __aicore__ inline void Turn(const Step& s, uint32_t e)
    {
        job = {e, 0, 0, 0, s.blocks, c.foldH ? s.high : 1, c.foldH ? c.width : s.high * c.width};
        WaitFlag<HardEvent::MTE2_MTE1>(e);
        WaitFlag<HardEvent::MTE1_FIX>(e);
        turning = true;
    }

    __aicore__ inline void TurnPiece()
    {
        uint32_t here = Least(TURNED * C0, job.length - job.at), high = Parts(here, C0), tall = job.blocks * C0, area = job.lines * job.length;
        WaitFlag<HardEvent::M_MTE1>(3 + turn);
        LoadData(TurnA2(turn), Raw(job.slot)[(job.line * Parts(job.length, C0) + job.at / C0) * tall * C0 + job.block * FRACTAL], LoadData2DParams(0, high, job.blocks, 0, 0, true, 0));
        Turned(high * C0, C0, TurnA2(turn), OneB2());
        SetFlag<HardEvent::M_MTE1>(3 + turn);
        Fixpipe(Image(job.slot)[(job.block * area + job.line * job.length + job.at) * C0], Turned(), Leave(C0, here, high * C0, area, false));
        SetFlag<HardEvent::FIX_M>(2 + turn);
        turn = 1 - turn;
        job.at += TURNED * C0;
        if (job.at < job.length) return;
        job.at = 0;
        job.line++;
        if (job.line < job.lines) return;
        job.line = 0;
        job.block++;
        if (job.block < job.blocks) return;
        turning = false;
        SetFlag<HardEvent::MTE1_MTE2>(job.slot);
        SetFlag<HardEvent::FIX_MTE1>(job.slot);
    }

    // One of the operands is the identity; the product waits in L0C for Fixpipe.
    __aicore__ inline void Turned(uint32_t m, uint32_t n, const LocalTensor<T>& a, const LocalTensor<T>& b)
    {
        SetFlag<HardEvent::MTE1_M>(3);
        WaitFlag<HardEvent::MTE1_M>(3);
        WaitFlag<HardEvent::FIX_M>(2 + turn);
        Product(Turned(), a, b, m, n, C0, true);
        SetFlag<HardEvent::M_FIX>(2 + turn);
        WaitFlag<HardEvent::M_FIX>(2 + turn);
    }

    __aicore__ inline FixpipeParamsV220 Leave(uint32_t n, uint32_t m, uint32_t from, uint32_t to, bool relu)
    {
        FixpipeParamsV220 fix;
        fix.nSize = n;
        fix.mSize = m;
        fix.srcStride = from;
        fix.dstStride = to;
        fix.ndNum = 1;
        fix.quantPre = IsSameType<T, half>::value ? QuantMode_t::F322F16 : QuantMode_t::F322BF16;
        fix.reluEn = relu;
        return fix;
    }

    __aicore__ inline void Product(const LocalTensor<float>& to, const LocalTensor<T>& a, const LocalTensor<T>& b, uint32_t m, uint32_t n, uint32_t k, bool begins)
    {
        MmadParams mmad;
        mmad.m = m;
        mmad.n = n;
        mmad.k = k;
        mmad.cmatrixInitVal = begins;
        if (!begins && m / C0 * (n / C0) < SETTLED) {
            PipeBarrier<PIPE_M>();
        }
        Mmad(to, a, b, mmad);
    }

    // ---- a chunk's products; release: the weights are not needed again
    __aicore__ inline void Multiply(const Step& s, uint32_t slot, bool release)
    {
        uint32_t w = usedW % 2, cols = Up(s.cols, C0), all = s.blocks * taps;
        if (c.turnX) {
            WaitFlag<HardEvent::FIX_MTE1>(slot);
        } else {
            WaitFlag<HardEvent::MTE2_MTE1>(slot);
        }
        if (waitsW) WaitFlag<HardEvent::MTE2_MTE1>(2 + w);
        waitsW = release;
        uint8_t pads[4] = {static_cast<uint8_t>(c.padW), static_cast<uint8_t>(c.padW), static_cast<uint8_t>(s.above), static_cast<uint8_t>(s.below)};
        LocalTensor<float> table(TPosition::C2, 0, 256);
        for (uint32_t t = 0; t < s.count; t += c.tile) {
            uint32_t here = Least(c.tile, s.count - t), tall = Up(here, C0), deep = Least(Deep() / (tall / C0), DEEP / (cols / C0));
            if (s.chunk == 0) {
                WaitFlag<HardEvent::M_MTE1>(2);
                DataCopy(table, Bias()[s.col], DataCopyParams(1, cols * sizeof(float) / 64, 0, 0));
                SetFlag<HardEvent::MTE1_M>(2);
                WaitFlag<HardEvent::MTE1_M>(2);
                WaitFlag<HardEvent::FIX_M>(acc);
            }
            for (uint32_t k = 0; k < all; k += deep) {
                uint32_t some = Least(deep, all - k);
                WaitFlag<HardEvent::M_MTE1>(p);
                LoadData(A2(p), Image(slot), LoadData3DParamsV2<T>(pads, s.high, c.width, s.blocks * C0, some * C0, tall, k * C0, s.skip + t, c.strideW, c.strideH, c.kernelW, c.kernelH, 1, 1, false, false, static_cast<T>(0.0f)));
                LoadData(B2(p), Weights(w)[k * cols * C0], LoadData2DParams(0, some * cols / C0, 1, 0, 0, false, 0));
                SetFlag<HardEvent::MTE1_M>(p);
                WaitFlag<HardEvent::MTE1_M>(p);
                if (s.chunk == 0 && k == 0) {
                    MmadParams mmad;
                    mmad.m = tall;
                    mmad.n = cols;
                    mmad.k = some * C0;
                    mmad.cmatrixInitVal = false;
                    mmad.cmatrixSource = true;
                    Mmad(Sums(), A2(p), B2(p), table, mmad);
                    SetFlag<HardEvent::M_MTE1>(2);
                } else {
                    Product(Sums(), A2(p), B2(p), tall, cols, some * C0, false);
                }
                SetFlag<HardEvent::M_MTE1>(p);
                p = 1 - p;
                if (turning) TurnPiece();
            }
            while (pending) FinishPiece();
            if (s.chunk + 1 == chunks) Store({s.image, s.first + t, here, s.col, s.cols, acc});
        }
        while (turning) TurnPiece();
        if (c.turnX) {
            SetFlag<HardEvent::MTE1_FIX>(slot);
        } else {
            SetFlag<HardEvent::MTE1_MTE2>(slot);
        }
        if (release) {
            SetFlag<HardEvent::MTE1_MTE2>(2 + w);
            usedW++;
        }
    }

    // ---- a tile of y leaves L0C, to GM or, where it is to be turned, to L1
    __aicore__ inline void Store(const Tile& t)
    {
        uint32_t tall = Up(t.count, C0);
        SetFlag<HardEvent::M_FIX>(acc);
        WaitFlag<HardEvent::M_FIX>(acc);
        if (c.turnY) {
            WaitFlag<HardEvent::MTE1_FIX>(2 + acc);
            Fixpipe(Out(acc), Sums(), Leave(Up(t.cols, C0), tall, tall, tall, c.relu));
            SetFlag<HardEvent::FIX_MTE1>(2 + acc);
            left = t;
            pending = true;
        } else {
            Before();
            uint64_t position = static_cast<uint64_t>(t.image) * c.outHeight * c.outWidth + t.first;
            Fixpipe(yGm[position * c.outChannels + t.col], Sums(), Leave(t.cols, t.count, tall, c.outChannels, c.relu));
            After();
        }
        SetFlag<HardEvent::FIX_M>(acc);
        acc = (acc + 1) % c.sums;
    }

    // 16 channels of the tile that lies in L1, turned, to GM: between the products of the next tile.
    __aicore__ inline void FinishPiece()
    {
        uint32_t tall = Up(left.count, C0), positions = c.outHeight * c.outWidth, j = finished;
        if (j == 0) {
            Before();
            WaitFlag<HardEvent::FIX_MTE1>(2 + left.slot);
        }
        WaitFlag<HardEvent::M_MTE1>(p);
        LoadData(B2(p), Out(left.slot)[j * tall], LoadData2DParams(0, tall / C0, 1, 0, 0, false, 0));
        Turned(C0, tall, OneA2(), B2(p));
        SetFlag<HardEvent::M_MTE1>(p);
        p = 1 - p;
        Fixpipe(yGm[(static_cast<uint64_t>(left.image) * c.outChannels + left.col + j) * positions + left.first], Turned(), Leave(left.count, Least(C0, left.cols - j), C0, positions, false));
        SetFlag<HardEvent::FIX_M>(2 + turn);
        turn = 1 - turn;
        finished += C0;
        if (finished < left.cols) return;
        finished = 0;
        pending = false;
        SetFlag<HardEvent::MTE1_FIX>(2 + left.slot);
        After();
    }

    __aicore__ inline void Before()
    {
        if (FLAGS && tileCount >= AHEAD) CrossCoreWaitFlag(FREE);
    }
    __aicore__ inline void After()
    {
        tileCount++;
        if (FLAGS) CrossCoreSetFlag<0x2, PIPE_FIX>(READY);
    }
};
