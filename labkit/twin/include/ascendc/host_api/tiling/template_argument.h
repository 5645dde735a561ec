// Template arguments of a kernel that its tiling function chooses: ASCENDC_TPL_*. The declarations tell CANN's build
// which kernels to make; the twin uses the chosen arguments themselves, so here the declarations have no effect.
#pragma once
#include <stdint.h>

#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_SEL(...)
#define ASCENDC_TPL_1_BW 1
#define ASCENDC_TPL_2_BW 2
#define ASCENDC_TPL_3_BW 3
#define ASCENDC_TPL_4_BW 4
#define ASCENDC_TPL_5_BW 5
#define ASCENDC_TPL_6_BW 6
#define ASCENDC_TPL_7_BW 7
#define ASCENDC_TPL_8_BW 8

#ifdef TWIN_OP_HOST
#include <deque>
#include <vector>

namespace twin_op {
constexpr uint64_t kChosen = 1ull << 62;  // such a key stands for a list of arguments
inline std::deque<std::vector<int64_t>>& chosen() {
    static std::deque<std::vector<int64_t>> all;
    return all;
}
template <typename... A> uint64_t choose(A... a) {
    chosen().push_back({int64_t(a)...});
    return kChosen + chosen().size() - 1;
}
}  // namespace twin_op
#define GET_TPL_TILING_KEY(...) ::twin_op::choose(__VA_ARGS__)
#define ASCENDC_TPL_SEL_PARAM(context, ...) (context)->SetTilingKey(::twin_op::choose(__VA_ARGS__))
#endif
