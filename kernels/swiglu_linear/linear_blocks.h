// The blocks of y = x W^T that a cube core works on: x [m, h], W [i, h] as nn.Linear keeps it, y [m, i].
#pragma once
#include "products.h"

template <typename T> class LinearBlocks {
public:
    __aicore__ inline LinearBlocks(GM_ADDR x, GM_ADDR w, GM_ADDR y, const Tiling& t)
        : x((__gm__ T*)x), w((__gm__ T*)w), y((__gm__ T*)y), t(t), order{Parts(t.m, t.rows), Parts(t.i, t.cols), t.panel}, at(GetBlockIdx())
    {
    }

    __aicore__ inline bool Next(Block<T>& block)
    {
        if (at >= order.Blocks()) {
            return false;
        }
        uint32_t row, column;
        order.At(at, row, column);
        row *= t.rows;
        column *= t.cols;
        block.a[0] = x + uint64_t(row) * t.h;
        block.b[0] = w + uint64_t(column) * t.h;
        block.to = y + uint64_t(row) * t.i + column;
        block.rows = Least(t.rows, t.m - row);
        block.cols = Least(t.cols, t.i - column);
        block.turn = at;
        at += GetBlockNum();
        return true;
    }

    __aicore__ inline void Store(const LocalTensor<float>& sums, const Block<T>& block)
    {
        GlobalTensor<T> to;
        to.SetGlobalBuffer(block.to);
        StoreRows(to, sums, block.rows, block.cols, t.i);
    }

protected:
    __gm__ T *x, *w, *y;
    Tiling t;
    Order order;
    uint32_t at;
};
