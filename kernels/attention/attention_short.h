// Attention whose keys all fit one block: what both kinds of core go by. See short_attention.asc.
#pragma once
#include "attention.h"

struct ShortAttention {
    uint32_t batch, heads, kvHeads, rows, keys, dim;
    uint64_t q[3], k[3], v[3], out[3], mask[3];  // elements from batch to batch, head to head, row to row
    uint32_t most;                               // rows of a step; whole 16s unless tiles are dealt out
    uint32_t tiles;                              // of a head, where its steps are dealt out one by one, else 0
    uint32_t later;     // in 1/1024 of 16 rows: how many fewer each block has than the one before
    uint32_t masked;    // 0 no, 1 by bytes (0: not seen), 2 by numbers that are added
    uint32_t keepsLse;  // whether the log-sum-exp of each row is wanted too
    float scale;
};

constexpr uint32_t SHORT = 256;                // keys, at most
constexpr uint32_t SIDE = 16, PATCH = 256;     // 16-bit types: a fractal's rows and columns, its numbers
constexpr uint32_t BLOCK_FLOATS = 8;           // rows that the vector cores work on at a time; float in a block
constexpr uint32_t LEAD = 5, TURN = LEAD + 1;  // steps that the cube core is ahead; slots
constexpr uint16_t SCORES_READY = 1, SHARES_READY = 2;

// Where the slots of a block are. A slot holds columns of fractals: [16 keys][row][16].
struct ShortSlots {
    uint32_t columns, most;
    __aicore__ inline uint64_t Size() const { return static_cast<uint64_t>(columns) * most * SIDE; }
    __aicore__ inline uint64_t Scores(uint32_t block, uint32_t step) const  // in floats from the workspace's begin
    {
        return (block * TURN + step % TURN) * Size() / 2 * 3;
    }
    __aicore__ inline uint64_t Shares(uint32_t block, uint32_t step) const  // in 16-bit numbers
    {
        return 2 * (Scores(block, step) + Size());
    }
};

// The steps of a block, for both kinds of core the same; a step is at most `most` rows of one head. All heads' rows, in
// units of 16, are dealt out evenly. Where as many blocks each can share a head that is left over, each block has as
// many whole heads as there are for all, then its part of one head: it brings the keys of one head less than a share
// that begins and ends within heads. Else the rows are cut where they come. Parts of heads come last, the smaller one
// behind the larger: a short last step is sooner multiplied, and after a short first one the next scores would be late.
// Where all heads of a sequence have one mask, and a head takes several steps, it is the steps that are dealt out,
// heads with the same rows one after the other, so that these rows of the mask are turned once.
class ShortSteps {
    const ShortAttention* a;
    uint32_t units, tall, at, end, next[2] = {}, many[2] = {}, left = 0;
    int32_t count = -1;

public:
    uint32_t batch = 0, head = 0, row = 0, high = 0;
    bool begins = false, ends = true;  // the head, as far as it is this block's

    __aicore__ inline ShortSteps(const ShortAttention& given, uint32_t block) : a(&given) {
        units = given.tiles > 0 ? given.tiles : CeilOf(given.rows, SIDE);
        tall = given.tiles > 0 ? CeilOf(given.rows, given.tiles) : SIDE;
        uint32_t heads = given.batch * given.heads, blocks = AscendC::GetBlockNum(), over = heads % blocks;
        if (given.tiles == 0 && over > 0 && heads > blocks && blocks % over == 0) {
            uint32_t each = heads / blocks * units, sharers = blocks / over, part = block / over;
            uint32_t from = Within(part, sharers), to = Within(part + 1, sharers);
            at = block * each;
            end = at + each;
            next[0] = blocks * each + block % over * units + from;
            many[0] = to - from;
            return;
        }
        uint64_t all = static_cast<uint64_t>(heads) * units;
        at = From(all, block, blocks);
        end = From(all, block + 1, blocks);
        if (given.tiles > 0) return;
        // whole heads, then the larger part of one, then the other
        uint32_t whole = CeilOf(at, units) * units, rest = end / units * units;
        if (whole > rest) return;
        uint32_t before = whole - at, behind = end - rest;
        // several steps a head: a short first step gains more, for its keys are many
        if (given.rows > given.most && behind > 0 && before >= behind) return;
        next[0] = before > behind ? at : rest;
        next[1] = before > behind ? rest : at;
        many[0] = before > behind ? before : behind;
        many[1] = before > behind ? behind : before;
        at = whole;
        end = rest;
    }

    // Where a block's share begins. Blocks do not begin to work at once, so the later ones have less to do.
    __aicore__ inline uint32_t From(uint64_t all, uint64_t block, uint64_t blocks) const {
        return static_cast<uint32_t>((2048 * all * block / blocks + a->later * block * (blocks - block)) / 2048);
    }
    // Where a block's part of a head begins that `sharers` blocks share.
    __aicore__ inline uint32_t Within(uint64_t part, uint64_t sharers) const {
        uint64_t over = AscendC::GetBlockNum() / sharers;
        uint64_t from = 2048 * units * part / sharers + a->later * over * part * (sharers - part);
        return LeastOf(units, static_cast<uint32_t>((from + 1024) / 2048));
    }
    __aicore__ inline uint32_t Number() const { return static_cast<uint32_t>(count); }

    __aicore__ inline bool Next() {
        for (uint32_t i = 0; at == end && i < 2; i++) {
            at = next[i];
            end = at + many[i];
            many[i] = 0;
        }
        if (at == end) return false;
        count++;
        if (a->tiles > 0) {
            begins = true;
            head = at % a->heads;
            row = at / a->heads % units * tall;
            batch = at / a->heads / units;
            high = LeastOf(tall, a->rows - row);
            at++;
            return true;
        }
        begins = ends;
        if (begins) left = LeastOf(units - at % units, end - at);
        uint32_t here = CeilOf(left, CeilOf(left, a->most / SIDE));
        batch = at / units / a->heads;
        head = at / units % a->heads;
        row = at % units * tall;
        high = LeastOf(here * tall, a->rows - row);
        at += here;
        left -= here;
        ends = left == 0;
        return true;
    }
};
