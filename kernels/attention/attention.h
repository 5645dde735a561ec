// What the kernels of attention share.
#pragma once
#include "../rows.h"

constexpr uint32_t LANES = 64;    // float in one repeat
constexpr uint32_t SETTLED = 10 * 256;  // sums: a smaller product must not add to them before the one before it has ended
constexpr float FLOOR = -1e30f;   // the maximum of no score
// a score that is masked: exp(UNSEEN - FLOOR) is 0, and so is every share of a row that sees nothing
constexpr float UNSEEN = -1e38f;
