// GlobalTensor and LocalTensor: typed handles on GM and on-chip memory.
#pragma once
#include "twin/types.h"

namespace AscendC {

using TTagType = int32_t;

template <typename T> class GlobalTensor {
public:
    using PrimType = T;
    GlobalTensor() = default;
    void SetGlobalBuffer(__gm__ T* buffer) { SetGlobalBuffer(buffer, 0); }
    void SetGlobalBuffer(__gm__ T* buffer, uint64_t size) {
        gm_.ptr = (uint8_t*)buffer;
        gm_.base = gm_.ptr;
        gm_.bytes = ::twin::bytes_of<T>(size);
    }
    uint64_t GetSize() const { return gm_.bytes * 8 / ::twin::bits_of<T>(); }
    __gm__ T* GetPhyAddr() const { return (T*)gm_.ptr; }
    __gm__ T* GetPhyAddr(uint64_t offset) const { return (T*)(gm_.ptr + ::twin::bytes_of<T>(offset)); }
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor r = *this;
        r.gm_.ptr += ::twin::bytes_of<T>(offset);
        return r;
    }
    T GetValue(uint64_t offset, TWIN_HERE) const {
        T v;
        __builtin_memcpy(&v, ::twin::element(gm_, offset * sizeof(T), sizeof(T), false, here), sizeof(T));
        return v;
    }
    void SetValue(uint64_t offset, T value, TWIN_HERE) {
        __builtin_memcpy(::twin::element(gm_, offset * sizeof(T), sizeof(T), true, here), &value, sizeof(T));
    }
    __gm__ T& operator()(uint64_t offset) const { return ((T*)gm_.ptr)[offset]; }
    template <CacheRwMode rw = CacheRwMode::RW> void SetL2CacheHint(CacheMode mode) { gm_.l2_bypass = mode == CacheMode::CACHE_MODE_DISABLE; }
    ::twin::Gm gm_;
};

template <typename T> class LocalTensor {
public:
    using PrimType = T;
    LocalTensor() = default;
    // A tensor at a fixed address (static style, no TPipe); tileSize in elements.
    LocalTensor(TPosition pos, uint32_t addr, uint32_t tileSize) {
        loc_.addr = addr;
        loc_.bytes = uint32_t(::twin::bytes_of<T>(tileSize));
        loc_.mem = ::twin::mem_of(pos);
        loc_.pos = uint8_t(pos);
    }
    explicit LocalTensor(const ::twin::Loc& loc) : loc_(loc) {}
    uint32_t GetSize() const { return loc_.bytes * 8ull / ::twin::bits_of<T>(); }
    void SetSize(uint32_t size) { loc_.bytes = uint32_t(::twin::bytes_of<T>(size)); }
    uint32_t GetLength() const { return loc_.bytes; }
    int32_t GetPosition() const { return loc_.pos; }
    uint64_t GetPhyAddr(uint32_t offset = 0) const { return uint64_t(::twin::address(loc_)) + ::twin::bytes_of<T>(offset); }
    void SetUserTag(TTagType tag) { tag_ = tag; }
    TTagType GetUserTag() const { return tag_; }
    LocalTensor operator[](uint32_t offset) const {
        LocalTensor r = *this;
        uint32_t skip = uint32_t(::twin::bytes_of<T>(offset));
        r.loc_.addr += skip;
        r.loc_.bytes = skip < loc_.bytes ? loc_.bytes - skip : 0;
        return r;
    }
    T GetValue(uint32_t index, TWIN_HERE) const {
        static_assert(::twin::bits_of<T>() >= 8, "GetValue of a LocalTensor<int4b_t>: read its bytes through ReinterpretCast<int8_t>()");
        T v;
        __builtin_memcpy(&v, ::twin::element(loc_, index * sizeof(T), sizeof(T), false, here), sizeof(T));
        return v;
    }
    template <typename S> void SetValue(uint32_t index, S value, TWIN_HERE) const {
        static_assert(::twin::bits_of<T>() >= 8, "SetValue of a LocalTensor<int4b_t>: write its bytes through ReinterpretCast<int8_t>()");
        T v = T(value);
        __builtin_memcpy(::twin::element(loc_, index * sizeof(T), sizeof(T), true, here), &v, sizeof(T));
    }
    __ubuf__ T& operator()(uint32_t offset) const { return ((T*)::twin::address(loc_))[offset]; }
    template <typename U> LocalTensor<U> ReinterpretCast() const { return LocalTensor<U>(loc_); }
    ::twin::Loc loc_{0, 0, 0, 0, ::twin::Mem::UB, uint8_t(TPosition::MAX)};
private:
    TTagType tag_ = 0;
};

}  // namespace AscendC
