// The backward of attention on cube and vector cores: what both kinds of core go by. See attention_grad.asc.
#pragma once
#include "attention_steps.h"

// A task is TALL rows of "mine" against all of "theirs": queries against keys for the gradient of q, keys against
// queries for those of k and v. mine1 and theirs1 are q and k, mine2 and theirs2 the gradient of the result and v, or the other
// way round.
struct AttentionGrad {
    uint32_t batch, heads, rows;      // of mine
    uint32_t others, loops, divide;   // their length; their heads for one of mine: loops, from head * loops / divide on
    uint32_t dim, wide;               // numbers of a head; theirs of a step
    uint32_t causal, masked;          // masked: as in Attention
    uint64_t mine1[3], mine2[3], theirs1[3], theirs2[3], out[3], to1[3], to2[3];  // elements: batch, head, row
    uint64_t mask[3];                 // batch, head of queries, row of mine
    float scale;
};

constexpr uint32_t GRAD_WIDE = 256;
constexpr uint32_t GRAD_SLOTS = 3;    // of scores, of shares, of sums

// Where the slots of a block are, in floats from the workspace's begin. which: 0 or 1, of what there are two.
struct GradSlots {
    uint32_t wide, pitch;
    __aicore__ inline uint64_t Block() const
    {
        return 2 * GRAD_SLOTS * static_cast<uint64_t>(TALL) * (wide + wide / 2 + pitch);
    }
    __aicore__ inline uint64_t S(uint32_t which, uint32_t block, uint32_t step) const
    {
        return block * Block() + static_cast<uint64_t>(which * GRAD_SLOTS + step % GRAD_SLOTS) * TALL * wide;
    }
    __aicore__ inline uint64_t P(uint32_t which, uint32_t block, uint32_t step) const
    {
        return S(2, block, 0) + static_cast<uint64_t>(which * GRAD_SLOTS + step % GRAD_SLOTS) * TALL * (wide / 2);
    }
    __aicore__ inline uint64_t Sum(uint32_t which, uint32_t block, uint32_t task) const
    {
        return P(2, block, 0) + static_cast<uint64_t>(which * GRAD_SLOTS + task % GRAD_SLOTS) * TALL * pitch;
    }
};

// The steps of a block, for both kinds of core the same.
template <bool KEYS> class GradSteps {
    const AttentionGrad& a;
    uint32_t task, blocks, begin = 0, limit = 0, group = 0;
    int32_t count = -1, done = -1;

public:
    uint32_t batch = 0, head = 0, other = 0, row = 0, high = 0, key = 0, width = 0;
    bool first = false, last = true;

    __aicore__ inline GradSteps(const AttentionGrad& a, uint32_t block)
            : a(a), task(block), blocks(AscendC::GetBlockNum())
    {
    }

    __aicore__ inline uint32_t Number() const { return static_cast<uint32_t>(count); }
    __aicore__ inline uint32_t Task() const { return static_cast<uint32_t>(done); }  // of those that have steps
    __aicore__ inline uint32_t Queries() const { return KEYS ? other : head; }       // their head

    __aicore__ inline bool Next()
    {
        if (last) {
            do {
                if (!NextTask()) return false;
            } while (Empty());
            key = begin;
            group = 0;
            done++;
        } else if (key + a.wide < limit) {
            key += a.wide;
        } else {
            key = begin;
            group++;
        }
        other = head * a.loops / a.divide + group;
        first = key == begin && group == 0;
        last = key + a.wide >= limit && group + 1 == a.loops;
        width = LeastOf(a.wide, limit - key);
        count++;
        return true;
    }

    __aicore__ inline bool NextTask()
    {
        uint32_t many = a.batch * a.heads, tiles = CeilOf(a.rows, TALL);
        if (task >= many * tiles) return false;
        batch = task % many / a.heads;
        head = task % many % a.heads;
        // with a causal mask the longest tasks come first
        row = (KEYS ? task / many : tiles - 1 - task / many) * TALL;
        high = LeastOf(TALL, a.rows - row);
        begin = KEYS && a.causal ? LeastOf(row, a.others) : 0;
        limit = !KEYS && a.causal ? LeastOf(a.others, row + high) : a.others;
        task += blocks;
        return true;
    }
    __aicore__ inline bool Empty() const { return begin >= limit; }  // keys that no query sees
};
