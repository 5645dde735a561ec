// Sorting: Sort32 and MrgSort over records of 8 bytes (score below, index above), and what is built from them.
#pragma once
#include "twin/vector/gather.h"

namespace twin {
struct Runs {  // up to four sorted runs of `length` records
    Loc list[4];
    uint16_t length[4];
    uint16_t valid;
    uint8_t times;
    bool stop;  // as soon as one run is used up
};
void sort32(Dt, Loc d, Loc scores, Loc index, int32_t times, Here);
void merge_sort(Dt, Loc d, const Runs&, Here);
uint16_t merged(int list);  // records that the last merge took from a run
void full_sort(Dt, Loc d, Loc scores, Loc index, Loc work, int32_t times, Here);
void extract(Dt, Loc values, Loc index, Loc sorted, int32_t times, Here);
void does_nothing(const char* call, Here);  // reports a call that Atlas A2 leaves out
}  // namespace twin

namespace AscendC {

constexpr int32_t MRG_SORT_ELEMENT_LEN = 4;

struct MrgSort4Info {
    MrgSort4Info() {}
    MrgSort4Info(const uint16_t lengths[MRG_SORT_ELEMENT_LEN], const bool suspend, const uint16_t valid,
                 const ::twin::Arg8 times)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(times) {
        for (int i = 0; i < MRG_SORT_ELEMENT_LEN; i++) elementLengths[i] = lengths[i];
    }
    uint16_t elementLengths[MRG_SORT_ELEMENT_LEN] = {0};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    ::twin::Arg8 repeatTimes = 1;
};
template <typename T> struct MrgSortSrcList {
    MrgSortSrcList() {}
    MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c, const LocalTensor<T>& d)
        : src1(a), src2(b), src3(c), src4(d) {}
    LocalTensor<T> src1, src2, src3, src4;
};

#define TWIN_ALLOW_SORT(name) TWIN_ALLOW(name, "half and float", half, float)

template <typename T> void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                  const LocalTensor<uint32_t>& src1, const int32_t repeatTime, TWIN_HERE) {
    TWIN_ALLOW_SORT("Sort32");
    ::twin::sort32(::twin::dt<T>(), dst.loc_, src0.loc_, src1.loc_, repeatTime, here);
}
template <typename T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& p, TWIN_HERE) {
    TWIN_ALLOW_SORT("MrgSort");
    ::twin::Runs r{{src.src1.loc_, src.src2.loc_, src.src3.loc_, src.src4.loc_},
                   {},
                   p.validBit,
                   p.repeatTimes,
                   p.ifExhaustedSuspension};
    for (int i = 0; i < 4; i++) r.length[i] = p.elementLengths[i];
    ::twin::merge_sort(::twin::dt<T>(), dst.loc_, r, here);
}
template <typename T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList, const uint16_t elementCountList[4],
             uint32_t sortedNum[4], uint16_t validBit, const int32_t repeatTime, TWIN_HERE) {
    MrgSort(dst, sortList,
            MrgSort4Info(elementCountList, isExhaustedSuspension, validBit, ::twin::Arg8(repeatTime, here)), here);
    if constexpr (isExhaustedSuspension)
        for (int i = 0; i < 4; i++) sortedNum[i] = ::twin::merged(i);
}
inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3, uint16_t& list4) {
    list1 = ::twin::merged(0);
    list2 = ::twin::merged(1);
    list3 = ::twin::merged(2);
    list4 = ::twin::merged(3);
}

// On A2 scores need no preparation: concat is src.
template <typename T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t) {
    TWIN_ALLOW_SORT("Concat");
    concat = src;
}
template <typename T, bool isFullSort> void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat,
                                                 const LocalTensor<uint32_t>& index, const LocalTensor<T>& tmp,
                                                 const int32_t repeatTime, TWIN_HERE) {
    TWIN_ALLOW_SORT("Sort");
    if constexpr (isFullSort)
        ::twin::full_sort(::twin::dt<T>(), dst.loc_, concat.loc_, index.loc_, tmp.loc_, repeatTime, here);
    else ::twin::sort32(::twin::dt<T>(), dst.loc_, concat.loc_, index.loc_, repeatTime, here);
}
template <typename T> void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
                                   const LocalTensor<T>& sorted, const int32_t repeatTime, TWIN_HERE) {
    TWIN_ALLOW_SORT("Extract");
    ::twin::extract(::twin::dt<T>(), dstValue.loc_, dstIndex.loc_, sorted.loc_, repeatTime, here);
}
template <typename T> uint32_t GetSortOffset(const uint32_t elemOffset) {
    TWIN_ALLOW_SORT("GetSortOffset");
    return elemOffset * uint32_t(8 / sizeof(T));
}
template <typename T> uint32_t GetSortLen(const uint32_t elemCount) {
    TWIN_ALLOW_SORT("GetSortLen");
    return elemCount * uint32_t(8 / sizeof(T));
}

// Region Proposals are not on Atlas A2: CANN compiles these calls there to nothing (asc-devkit, dav_c220,
// kernel_operator_proposal_impl.h), so that code for several chips may hold them where they are never reached.
template <typename T> void RpSort16(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t, TWIN_HERE) {
    ::twin::does_nothing("RpSort16", here);
}
template <typename T> void MrgSort4(const LocalTensor<T>&, const MrgSortSrcList<T>&, const MrgSort4Info&, TWIN_HERE) {
    ::twin::does_nothing("MrgSort4", here);
}
template <typename T>
void ProposalConcat(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t, const int32_t, TWIN_HERE) {
    ::twin::does_nothing("ProposalConcat", here);
}
template <typename T>
void ProposalExtract(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t, const int32_t, TWIN_HERE) {
    ::twin::does_nothing("ProposalExtract", here);
}

}  // namespace AscendC
