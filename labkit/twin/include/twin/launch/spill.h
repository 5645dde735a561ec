// TPipe's spill memory: a tensor written to GM and read back, with the waits that the library puts around it.
#pragma once
#include "twin/launch/sync.h"
#include "twin/memory/copy.h"

namespace AscendC {
namespace detail {
inline void meet(HardEvent event, ::twin::Here here) {
    ::twin::Pipe from = ::twin::Pipe(int(event) >> 4), to = ::twin::Pipe(int(event) & 15);
    int id = ::twin::event_id(from, to, false, here);
    ::twin::set_flag(from, to, id, here);
    ::twin::wait_flag(from, to, id, here);
}
inline DataCopyParams whole(uint32_t bytes) { return {1, uint16_t(bytes / 32), 0, 0}; }
}  // namespace detail

template <typename T> void TPipe::InitSpmBuffer(const GlobalTensor<T>& workspace, const int32_t) {
    spill_ = workspace.gm_;
}
template <typename T> void TPipe::WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const DataCopyParams& copyParams,
                                                 int32_t writeOffset, ::twin::Here here) {
    detail::meet(HardEvent::V_MTE3, here);
    detail::meet(HardEvent::MTE2_MTE3, here);
    GlobalTensor<T> to;
    to.gm_ = spill_;
    DataCopy(to[uint64_t(writeOffset)], writeBuffer, copyParams, here);
    detail::meet(HardEvent::MTE3_MTE2, here);
    detail::meet(HardEvent::MTE3_V, here);
}
template <typename T> void TPipe::ReadSpmBuffer(const LocalTensor<T>& readBuffer, const DataCopyParams& copyParams,
                                                int32_t readOffset, ::twin::Here here) {
    detail::meet(HardEvent::V_MTE2, here);
    GlobalTensor<T> from;
    from.gm_ = spill_;
    DataCopy(readBuffer, from[uint64_t(readOffset)], copyParams, here);
    detail::meet(HardEvent::MTE2_V, here);
    detail::meet(HardEvent::MTE2_MTE3, here);
}
template <typename T> void TPipe::WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const int32_t writeSize,
                                                 int32_t writeOffset, ::twin::Here here) {
    WriteSpmBuffer(writeBuffer,
                   detail::whole((writeSize ? writeSize : GetShapeSize(writeBuffer.GetShapeInfo())) * sizeof(T)),
                   writeOffset, here);
}
template <typename T> void TPipe::ReadSpmBuffer(const LocalTensor<T>& readBuffer, const int32_t readSize,
                                                int32_t readOffset, ::twin::Here here) {
    ReadSpmBuffer(readBuffer,
                  detail::whole((readSize ? readSize : GetShapeSize(readBuffer.GetShapeInfo())) * sizeof(T)),
                  readOffset, here);
}

}  // namespace AscendC
