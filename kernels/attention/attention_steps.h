// Attention on cube and vector cores: what both kinds of core go by. See attention.asc.
#pragma once
#include "kernel_operator.h"
#include "attention.h"

struct Attention {
    uint32_t batch, heads, kvHeads, rows, keys, dim;
    uint64_t q[3], k[3], v[3], out[3], mask[3];  // elements from batch to batch, head to head, row to row
    uint32_t wide;                               // keys of a block: whole 64s
    uint32_t causal, masked;                     // masked: 0 no, 1 by bytes (0: not seen), 2 by numbers that are added
    // of a cache [pages, pageSize, kvHeads, dim] and its table [batch, maxPages]
    uint32_t pageSize, maxPages;
    float scale;
    uint32_t keepsLse;  // whether the log-sum-exp of each row is wanted too
};

constexpr uint32_t TALL = 128, WIDE = 512;      // of a step: queries, keys
constexpr uint32_t CHUNK = 128;                 // keys that are multiplied at a time
constexpr uint32_t LINE = 16, FRACTAL = 256;    // 16-bit types: 16 x 16 numbers
constexpr uint32_t BAND = 16;                   // rows come in whole fractals
constexpr uint32_t PLAIN = 128, MASKED = 64;    // 64 scores each: how many a vector core works on at a time
constexpr uint32_t S_SLOTS = 3, P_SLOTS = 3, O_SLOTS = 3;
constexpr uint16_t S_READY = 1, P_READY = 2, O_READY = 3;

// Where the slots of a block are, in floats from the workspace's begin.
struct Slots {
    uint32_t wide, pitch;
    __aicore__ inline uint64_t Block() const { return TALL * (S_SLOTS * wide + P_SLOTS * (wide / 2) + O_SLOTS * pitch); }
    __aicore__ inline uint64_t S(uint32_t block, uint32_t step) const
    {
        return block * Block() + static_cast<uint64_t>(step % S_SLOTS) * TALL * wide;
    }
    __aicore__ inline uint64_t P(uint32_t block, uint32_t step) const
    {
        return S(block, 0) + TALL * (S_SLOTS * wide + step % P_SLOTS * (wide / 2));
    }
    __aicore__ inline uint64_t O(uint32_t block, uint32_t step) const
    {
        return P(block, 0) + TALL * (P_SLOTS * (wide / 2) + step % O_SLOTS * pitch);
    }
};

// The steps of a block, for both kinds of core the same. Tasks are dealt out in turn; with a causal mask the last rows,
// which see the most keys, come first.
class Steps {
    const Attention& a;
    AscendC::GlobalTensor<int32_t> lengths;
    uint32_t task, blocks, limit = 0;
    int32_t count = -1;

public:
    uint32_t batch = 0, head = 0, row = 0, high = 0, key = 0, width = 0;
    bool first = false, last = true;

    __aicore__ inline Steps(const Attention& a, GM_ADDR given, uint32_t block)
            : a(a), task(block), blocks(AscendC::GetBlockNum())
    {
        lengths.SetGlobalBuffer((__gm__ int32_t*)given);
    }

    __aicore__ inline uint32_t Number() const { return static_cast<uint32_t>(count); }

    __aicore__ inline bool Next()
    {
        if (last) {
            do {
                if (!NextTask()) return false;
            } while (limit == 0);
            key = 0;
        } else {
            key += a.wide;
        }
        first = key == 0;
        last = key + a.wide >= limit;
        width = LeastOf(a.wide, limit - key);
        count++;
        return true;
    }

    __aicore__ inline bool NextTask()  // limit: how many keys it sees; 0 only where lengths say so
    {
        uint32_t many = a.batch * a.heads, tiles = CeilOf(a.rows, TALL);
        if (task >= many * tiles) return false;
        batch = task % many / a.heads;
        head = task % many % a.heads;
        row = (tiles - 1 - task / many) * TALL;
        high = LeastOf(TALL, a.rows - row);
        limit = a.causal ? LeastOf(a.keys, row + high) : a.keys;
        if (a.pageSize > 0) {
            int32_t length = lengths.GetValue(batch);
            limit = length < 0 ? 0 : LeastOf(a.keys, static_cast<uint32_t>(length));
        }
        task += blocks;
        return true;
    }
    __aicore__ inline bool Empty() const { return limit == 0; }
};
