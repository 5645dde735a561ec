// GlobalTensor and LocalTensor: typed handles on GM and on-chip memory.
#pragma once
#include "twin/base/shape.h"

namespace twin {
// The address of an element, for code that takes a reference: whether it will be read or written is unknown.
void* place(const Loc&, uint64_t offset, uint32_t size, Here);
void* place(const Gm&, uint64_t offset, uint32_t size, Here);
// The tag that a queue's buffer carries from AllocTensor on.
void set_tag(const Loc&, int tag);
int tag_of(const Loc&);
}  // namespace twin

namespace AscendC {

namespace detail {
template <typename T> struct Assigned;  // twin/vector/operators.h
}
using TTagType = int32_t;
using TBufHandle = uint8_t*;

// The fields that kernels set by hand in a tensor's `address_`. It is the tensor's Loc, seen under its other names.
struct TBuffAddr {
    struct Position {  // keeps the memory in step with the position
        Position& operator=(uint8_t p) {
            pos = p;
            mem = ::twin::mem_of(TPosition(p));
            return *this;
        }
        operator uint8_t() const { return pos; }
        ::twin::Mem mem;
        uint8_t pos;
    };
    uint32_t bufferAddr;
    uint32_t dataLen;
    uint32_t bufferHandle;  // the twin's own: which allocation, and which life of it
    Position logicPos;
};
static_assert(sizeof(TBuffAddr) == sizeof(::twin::Loc), "TBuffAddr is another view of Loc");

template <typename T> class GlobalTensor {
public:
    using PrimType = T;
    GlobalTensor() {}
    void SetGlobalBuffer(__gm__ T* buffer) { SetGlobalBuffer(buffer, 0); }
    void SetGlobalBuffer(__gm__ T* buffer, uint64_t size) {
        gm_.ptr = (uint8_t*)buffer;
        gm_.base = gm_.ptr;
        gm_.bytes = ::twin::bytes_of<T>(size);
    }
    uint64_t GetSize() const { return gm_.bytes * 8 / ::twin::bits_of<T>(); }
    const __gm__ T* GetPhyAddr() const { return (const T*)gm_.ptr; }
    __gm__ T* GetPhyAddr(uint64_t offset) const { return (T*)(gm_.ptr + ::twin::bytes_of<T>(offset)); }
    void SetAddr(uint64_t offset) { gm_.ptr += ::twin::bytes_of<T>(offset); }
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor r = *this;
        r.SetAddr(offset);
        return r;
    }
    T GetValue(uint64_t offset, TWIN_HERE) const {
        T v;
        __builtin_memcpy(&v, ::twin::element(gm_, offset * sizeof(T), sizeof(T), false, here), sizeof(T));
        return v;
    }
    void SetValue(uint64_t offset, T value, TWIN_HERE) {
        __builtin_memcpy(::twin::element(gm_, offset * sizeof(T), sizeof(T), true, here, &value), &value, sizeof(T));
    }
    __gm__ T& operator()(uint64_t offset, TWIN_HERE) const {
        return *(T*)::twin::place(gm_, offset * sizeof(T), sizeof(T), here);
    }
    template <CacheRwMode rw = CacheRwMode::RW> void SetL2CacheHint(CacheMode mode) {
        gm_.l2_bypass = mode == CacheMode::CACHE_MODE_DISABLE;
    }
    void SetShapeInfo(const ShapeInfo& info) { shape_ = detail::number_of(info); }
    ShapeInfo GetShapeInfo() const { return detail::shape_of(shape_); }
    union {
        ::twin::Gm gm_{};
        __gm__ T* address_;
    };
private:
    uint16_t shape_ = 0;
};

template <typename T> class LocalTensor {
public:
    using PrimType = T;
    LocalTensor() {}
    // A tensor at a fixed address (static style, no TPipe); tileSize in elements.
    LocalTensor(TPosition pos, uint32_t addr, uint32_t tileSize) {
        loc_.addr = addr;
        loc_.bytes = uint32_t(::twin::bytes_of<T>(tileSize));
        loc_.mem = ::twin::mem_of(pos);
        loc_.pos = uint8_t(pos);
    }
    explicit LocalTensor(const TBuffAddr& address) : address_(address) {}
    explicit LocalTensor(const ::twin::Loc& loc) : loc_(loc) {}
    void operator=(const detail::Assigned<T>&);  // dst = a + b
    uint32_t GetSize() const { return uint32_t(loc_.bytes * 8ull / ::twin::bits_of<T>()); }
    void SetSize(uint32_t size) { loc_.bytes = uint32_t(::twin::bytes_of<T>(size)); }
    uint32_t GetLength() const { return loc_.bytes; }
    void SetBufferLen(uint32_t size) { SetSize(size); }
    int32_t GetPosition() const { return loc_.pos; }
    // A real pointer, whose lower 32 bits are the address on the chip.
    uint64_t GetPhyAddr() const { return uint64_t(::twin::address(loc_)); }
    uint64_t GetPhyAddr(uint32_t offset) const { return GetPhyAddr() + ::twin::bytes_of<T>(offset); }
    void SetAddr(const TBuffAddr& address) { address_ = address; }
    void InitBuffer(uint32_t bufferOffset, uint32_t bufferSize) {  // bytes; elements
        loc_.addr = bufferOffset;
        SetSize(bufferSize);
    }
    template <typename S> void SetAddrWithOffset(LocalTensor<S>& src, uint32_t offset) {
        loc_ = src.loc_;
        *this = (*this)[offset];
    }
    TBufHandle GetBufferHandle() const { return reinterpret_cast<TBufHandle>(uintptr_t(address_.bufferHandle)); }
    void SetUserTag(TTagType tag) { ::twin::set_tag(loc_, tag); }
    TTagType GetUserTag() const { return ::twin::tag_of(loc_); }
    LocalTensor operator[](uint32_t offset) const {
        LocalTensor r = *this;
        uint64_t skip = ::twin::bytes_of<T>(offset);  // perhaps beyond 32 bits: then nothing is left
        r.loc_.addr += uint32_t(skip);
        r.loc_.bytes = skip < loc_.bytes ? uint32_t(loc_.bytes - skip) : 0;
        return r;
    }
    T GetValue(uint32_t index, TWIN_HERE) const {
        static_assert(::twin::bits_of<T>() >= 8,
                      "GetValue of a LocalTensor<int4b_t>: read its bytes through ReinterpretCast<int8_t>()");
        T v;
        __builtin_memcpy(&v, ::twin::element(loc_, index * sizeof(T), sizeof(T), false, here), sizeof(T));
        return v;
    }
    template <typename S> void SetValue(uint32_t index, S value, TWIN_HERE) const {
        static_assert(::twin::bits_of<T>() >= 8,
                      "SetValue of a LocalTensor<int4b_t>: write its bytes through ReinterpretCast<int8_t>()");
        T v = T(value);
        __builtin_memcpy(::twin::element(loc_, index * sizeof(T), sizeof(T), true, here), &v, sizeof(T));
    }
    __ubuf__ T& operator()(uint32_t offset, TWIN_HERE) const {
        return *(T*)::twin::place(loc_, offset * sizeof(T), sizeof(T), here);
    }
    template <typename U> LocalTensor<U> ReinterpretCast() const { return LocalTensor<U>(loc_); }
    void SetShapeInfo(const ShapeInfo& info) { shape_ = detail::number_of(info); }
    ShapeInfo GetShapeInfo() const { return detail::shape_of(shape_); }
    union {
        ::twin::Loc loc_{0, 0, 0, 0, ::twin::Mem::UB, uint8_t(TPosition::MAX)};
        TBuffAddr address_;
    };
private:
    uint16_t shape_ = 0;
};

}  // namespace AscendC
