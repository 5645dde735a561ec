// Products on a cube core, block by block of the result: K in chunks of L1 that are cut into steps of L0, BUFFERS of each.
//
// BUFFERS = 1: a chunk is loaded, multiplied, and only then comes the next. BUFFERS = 2: while one is multiplied, MTE2 brings
// the next, and at the end of a block the first of the block after it.
#pragma once
#include "kernel_operator.h"
#include "cut.h"
using namespace AscendC;

__aicore__ inline uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }
__aicore__ inline uint32_t Parts(uint32_t a, uint32_t unit) { return (a + unit - 1) / unit; }
__aicore__ inline uint32_t Up(uint32_t a, uint32_t unit) { return Parts(a, unit) * unit; }

enum Lies { ALONG, DOWN };            // the sum runs along the rows of the matrix in GM, or down its columns
enum Join { ALONE, BESIDE, ADDED };   // one product A B; A [B0 | B1]; A0 B0 + A1 B1

template <typename T> struct Block {  // of the result, and where in GM its operands begin
    __gm__ T *a[2], *b[2], *to;
    uint32_t rows, cols;              // that are valid; cols of one of two that lie side by side
    uint32_t turn;                    // where in the sum to begin: any number
};

// The blocks of a result, numbered so that neighbours share operands: down a panel of `panel` blocks, then to the next column.
struct Order {
    uint32_t down, across, panel;
    __aicore__ inline uint32_t Blocks() const { return down * across; }
    __aicore__ inline void At(uint32_t t, uint32_t& row, uint32_t& column) const
    {
        uint32_t before = t / (panel * across) * panel, high = Least(panel, down - before), rest = t % (panel * across);
        row = before + rest % high;
        column = rest / high;
    }
};

template <typename T, int32_t BUFFERS, Lies liesA, Lies liesB, Join join> class Products {
public:
    static constexpr uint32_t C0 = 32 / sizeof(T), STEP = 128 / sizeof(T), L0 = 32 * 1024, FRACTAL = 16 * C0;
    static constexpr uint32_t BESIDES = join == BESIDE ? 2 : 1, TERMS = join == ADDED ? 2 : 1;
    static constexpr uint32_t SETTLED = 10;        // fractals of C: products of fewer need a barrier before the next adds to them
    static constexpr uint16_t A = 0, B = BUFFERS;  // first flag of each operand's buffers in L1

    __aicore__ inline Products(uint32_t lineA, uint32_t lineB, uint32_t depth, const Tiling& cut)
        : lineA(lineA), lineB(lineB), depth(depth), cut(cut), sizeA(cut.rows * cut.chunk * cut.foldA), sizeB(cut.cols * cut.chunk * cut.foldB)
    {
        chunks = Parts(depth, cut.chunk);
        steps = chunks * TERMS;
        sums = LocalTensor<float>(TPosition::CO1, 0, cut.rows * cut.cols);
    }

    // work.Next(block): the next block of this core, false when there is none; work.Store(sums, block): from L0C to GM.
    template <typename Work> __aicore__ inline void Run(Work& work)
    {
        for (int32_t e = 0; e < BUFFERS; e++) {
            SetFlag<HardEvent::MTE1_MTE2>(A + e);
            SetFlag<HardEvent::MTE1_MTE2>(B + e);
            SetFlag<HardEvent::M_MTE1>(e);
        }
        SetFlag<HardEvent::FIX_M>(0);
        Block<T> now, next;
        bool more = Next(work, next);
        if (more && BUFFERS == 2) {
            LoadA(next, 0);
            LoadB(next, 0);
        }
        while (more) {
            now = next;
            more = Next(work, next);
            for (uint32_t s = 0; s < steps; s++) {
                Bring(now, next, more, s);
                Multiply(now, s);
            }
            SetFlag<HardEvent::M_FIX>(0);
            WaitFlag<HardEvent::M_FIX>(0);
            work.Store(sums, now);
            SetFlag<HardEvent::FIX_M>(0);
        }
        for (int32_t e = 0; e < BUFFERS; e++) {
            WaitFlag<HardEvent::MTE1_MTE2>(A + e);
            WaitFlag<HardEvent::MTE1_MTE2>(B + e);
            WaitFlag<HardEvent::M_MTE1>(e);
        }
        WaitFlag<HardEvent::FIX_M>(0);
    }

private:
    __aicore__ inline LocalTensor<T> A1(uint32_t e) { return LocalTensor<T>(TPosition::A1, e * sizeA * sizeof(T), sizeA); }
    __aicore__ inline LocalTensor<T> B1(uint32_t e) { return LocalTensor<T>(TPosition::B1, (BUFFERS * sizeA + e * sizeB) * sizeof(T), sizeB); }

    template <typename Work> __aicore__ inline bool Next(Work& work, Block<T>& block)
    {
        bool more = work.Next(block);
        uint32_t fold = cut.foldA > cut.foldB ? cut.foldA : cut.foldB;
        block.turn = more ? block.turn % Parts(chunks, fold) * fold : 0;  // a step where both loads begin
        return more;
    }

    // The sum goes round, from step block.turn on, so that cores that share an operand read it at different times. Step s of
    // the block: which of two terms, and which chunk.
    __aicore__ inline uint32_t Chunk(const Block<T>& block, uint32_t s) { return (s + block.turn) % steps % chunks; }
    __aicore__ inline uint32_t Term(const Block<T>& block, uint32_t s) { return (s + block.turn) % steps / chunks; }
    __aicore__ inline bool Begins(const Block<T>& block, uint32_t s, uint32_t fold) { return s == 0 || Chunk(block, s) % fold == 0; }

    // When a step begins with a buffer's load, the next one is brought into the other buffer; with one buffer it is that load itself.
    __aicore__ inline void Bring(const Block<T>& now, const Block<T>& next, bool more, uint32_t s)
    {
        uint32_t b = s, a = s;
        bool needB = Begins(now, s, cut.foldB), needA = Begins(now, s, cut.foldA);
        if (BUFFERS == 2) {
            for (b++; b < steps && !Begins(now, b, cut.foldB); b++) {
            }
            for (a++; a < steps && !Begins(now, a, cut.foldA); a++) {
            }
        }
        if (needB && b < steps) {
            LoadB(now, b);
        } else if (needB && more) {
            LoadB(next, 0);
        }
        if (needA && a < steps) {
            LoadA(now, a);
        } else if (needA && more) {
            LoadA(next, 0);
        }
    }

    // Rows of GM into columns of fractals, `high` rows to a column.
    __aicore__ inline void Fractals(const LocalTensor<T>& to, __gm__ T* from, uint32_t rows, uint32_t width, uint32_t line, uint32_t high)
    {
        GlobalTensor<T> gm;
        gm.SetGlobalBuffer(from);
        DataCopy(to, gm, Nd2NzParams(1, rows, width, 0, line, high, 1, 0));
    }

    // The same where the sum runs down: its rows are turned on the way to L0. In float a square of 16 x 16 is turned, two
    // fractals that have to lie side by side, so 16 rows come at a time.
    __aicore__ inline void Turned(const LocalTensor<T>& to, __gm__ T* from, uint32_t rows, uint32_t width, uint32_t line)
    {
        if constexpr (sizeof(T) == 4) {
            for (uint32_t r = 0; r < rows; r += 16) {
                Fractals(to[r * Up(width, 16)], from + uint64_t(r) * line, Least(16, rows - r), width, line, 16);
            }
        } else {
            Fractals(to, from, rows, width, line, Up(rows, 16));
        }
    }

    __aicore__ inline void LoadA(const Block<T>& block, uint32_t s)
    {
        uint32_t e = loadedA++ % BUFFERS, term = Term(block, s), k = Chunk(block, s) * cut.chunk, length = Least(cut.chunk * cut.foldA, depth - k);
        WaitFlag<HardEvent::MTE1_MTE2>(A + e);
        if constexpr (liesA == ALONG) {
            Fractals(A1(e), block.a[term] + k, block.rows, length, lineA, Up(block.rows, 16));
        } else {
            Turned(A1(e), block.a[term] + uint64_t(k) * lineA, length, block.rows, lineA);
        }
        SetFlag<HardEvent::MTE2_MTE1>(A + e);
    }

    __aicore__ inline void LoadB(const Block<T>& block, uint32_t s)
    {
        uint32_t e = loadedB++ % BUFFERS, term = Term(block, s), k = Chunk(block, s) * cut.chunk, length = Least(cut.chunk * cut.foldB, depth - k);
        uint32_t half = Up(block.cols, 16);
        WaitFlag<HardEvent::MTE1_MTE2>(B + e);
        if constexpr (liesB == ALONG) {
            for (uint32_t i = 0; i < BESIDES; i++) {
                Fractals(B1(e)[i * half * C0], block.b[join == ADDED ? term : i] + k, block.cols, length, lineB, half * BESIDES);
            }
        } else {
            Turned(B1(e), block.b[term] + uint64_t(k) * lineB, length, block.cols, lineB);
        }
        SetFlag<HardEvent::MTE2_MTE1>(B + e);
    }

    // `deep` fractals of the sum from `inner` on, of a chunk of `length`: to L0A row of fractals by row, to L0B column by column.
    __aicore__ inline void ToA2(const LocalTensor<T>& to, const LocalTensor<T>& from, uint32_t inner, uint32_t length, uint32_t high, uint32_t deep)
    {
        if constexpr (liesA == ALONG) {
            for (uint32_t i = 0; i < deep; i++) {
                LoadData(to[i * FRACTAL], from[(inner / C0 + i) * high * 16 * C0], LoadData2DParams(0, high, 1, 0, deep - 1, false, 0));
            }
        } else if constexpr (sizeof(T) == 4) {
            for (uint32_t i = 0; i < deep; i += 2) {
                LoadDataWithTranspose(to[i * FRACTAL], from[(inner / 16 + i / 2) * high * 256], LoadData2dTransposeParams(0, high, 1, deep - 1, 0));
            }
        } else {
            for (uint32_t i = 0; i < deep; i++) {
                LoadData(to[i * FRACTAL], from[(inner / 16 + i) * FRACTAL], LoadData2DParams(0, high, Parts(length, 16), 0, deep - 1, true, 0));
            }
        }
    }

    __aicore__ inline void ToB2(const LocalTensor<T>& to, const LocalTensor<T>& from, uint32_t inner, uint32_t length, uint32_t wide, uint32_t deep)
    {
        if constexpr (liesB == ALONG) {
            LoadData(to, from[inner * wide * 16], LoadData2DParams(0, deep * wide, 1, 0, 0, false, 0));
        } else if constexpr (sizeof(T) == 4) {
            for (uint32_t i = 0; i < deep; i += 2) {
                LoadDataWithTranspose(to[i * wide * FRACTAL], from[(inner / 16 + i / 2) * wide * 256], LoadData2dTransposeParams(0, wide, 1, 0, wide - 1));
            }
        } else {
            for (uint32_t i = 0; i < deep; i++) {
                LoadData(to[i * wide * FRACTAL], from[(inner / 16 + i) * FRACTAL], LoadData2DParams(0, wide, Parts(length, 16), 0, 0, true, 0));
            }
        }
    }

    __aicore__ inline void Multiply(const Block<T>& block, uint32_t s)
    {
        constexpr uint32_t unitA = liesA == DOWN ? 16 : C0, unitB = liesB == DOWN ? 16 : C0;  // of the sum: squares are 16 long
        uint32_t high = Parts(block.rows, 16), wide = Parts(block.cols, 16) * BESIDES, c = Chunk(block, s), length = Least(cut.chunk, depth - c * cut.chunk);
        uint32_t inA = c % cut.foldA * cut.chunk, inB = c % cut.foldB * cut.chunk;  // where in its buffer the step begins, and what lies there
        uint32_t longA = Least(cut.chunk * cut.foldA, depth - c * cut.chunk + inA), longB = Least(cut.chunk * cut.foldB, depth - c * cut.chunk + inB);
        uint32_t a = usedA % BUFFERS, b = usedB % BUFFERS;
        if (Begins(block, s, cut.foldA)) {
            WaitFlag<HardEvent::MTE2_MTE1>(A + a);
        }
        if (Begins(block, s, cut.foldB)) {
            WaitFlag<HardEvent::MTE2_MTE1>(B + b);
        }
        for (uint32_t inner = 0; inner < length; inner += STEP) {
            uint32_t p = pieces++ % BUFFERS, k = Least(STEP, length - inner);
            LocalTensor<T> a2(TPosition::A2, p * L0, L0 / sizeof(T)), b2(TPosition::B2, p * L0, L0 / sizeof(T));
            WaitFlag<HardEvent::M_MTE1>(p);
            ToA2(a2, A1(a), inA + inner, longA, high, Up(k, unitA) / C0);
            ToB2(b2, B1(b), inB + inner, longB, wide, Up(k, unitB) / C0);
            SetFlag<HardEvent::MTE1_M>(p);
            WaitFlag<HardEvent::MTE1_M>(p);
            bool first = s == 0 && inner == 0;
            if (first) {
                WaitFlag<HardEvent::FIX_M>(0);
            }
            MmadParams mmad;
            mmad.m = high * 16;  // a single row would be read as a vector
            mmad.n = wide * 16;
            mmad.k = k;
            mmad.cmatrixInitVal = first;
            mmad.kDirectionAlign = unitA > C0;
            if (!first && high * wide < SETTLED) {
                PipeBarrier<PIPE_M>();
            }
            Mmad(sums, a2, b2, mmad);
            SetFlag<HardEvent::M_MTE1>(p);
        }
        bool last = s + 1 == steps;
        if (last || Begins(block, s + 1, cut.foldA)) {
            usedA++;
            SetFlag<HardEvent::MTE1_MTE2>(A + a);
        }
        if (last || Begins(block, s + 1, cut.foldB)) {
            usedB++;
            SetFlag<HardEvent::MTE1_MTE2>(B + b);
        }
    }

    uint32_t lineA, lineB, depth;
    Tiling cut;
    uint32_t sizeA, sizeB, chunks, steps, loadedA = 0, loadedB = 0, usedA = 0, usedB = 0, pieces = 0;
    LocalTensor<float> sums;
};

// From L0C to rows of GM, `line` elements apart, rounded to O; relu: what is below 0 becomes 0.
template <typename O> __aicore__ inline void StoreRows(const GlobalTensor<O>& to, const LocalTensor<float>& sums, uint32_t rows, uint32_t cols, uint32_t line, bool relu = false)
{
    FixpipeParamsV220 fix;
    fix.reluEn = relu;
    fix.nSize = cols;
    fix.mSize = rows;
    fix.srcStride = Up(rows, 16);
    fix.dstStride = line;
    fix.ndNum = 1;
    fix.quantPre = IsSameType<O, half>::value ? QuantMode_t::F322F16 : IsSameType<O, float>::value ? QuantMode_t::NoQuant : QuantMode_t::F322BF16;
    Fixpipe(to, sums, fix);
}
