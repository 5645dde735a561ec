// Streams of the simulated npu under torch_npu's C++ names, for adapters. On a node the wheel's own header is used.
#pragma once
#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <functional>
#include <ostream>

#include "acl/acl.h"

extern "C" {  // the simulated device's library
int lab_get_device();
void* lab_stream_handle(int device, long long stream);
void lab_drain(const void* stream);
}

namespace c10_npu {

class NPUStream {
public:
    enum Unchecked { UNCHECKED };
    explicit NPUStream(c10::Stream stream) : stream_(stream) {
        TORCH_CHECK(stream.device_type() == c10::DeviceType::PrivateUse1, "NPUStream: this is a stream of ",
                    stream.device());
    }
    explicit NPUStream(Unchecked, c10::Stream stream) : stream_(stream) {}

    bool operator==(const NPUStream& other) const noexcept { return stream_ == other.stream_; }
    bool operator!=(const NPUStream& other) const noexcept { return !(*this == other); }

    // The handle for a launch. The host's queue of operators in front of the stream is emptied first ...
    aclrtStream stream() const { return stream(true); }
    operator aclrtStream() const { return stream(); }
    // ... unless the argument is false: then the launch may overtake operators that were called before it.
    aclrtStream stream(const bool need_empty) const {
        aclrtStream handle = lab_stream_handle(stream_.device_index(), stream_.id());
        if (need_empty) lab_drain(handle);
        return handle;
    }

    operator c10::Stream() const { return stream_; }
    c10::Stream unwrap() const { return stream_; }
    c10::DeviceType device_type() const { return c10::DeviceType::PrivateUse1; }
    c10::DeviceIndex device_index() const { return stream_.device_index(); }
    c10::Device device() const { return stream_.device(); }
    c10::StreamId id() const { return stream_.id(); }
    bool query() const { return guard().queryStream(stream_); }
    void synchronize() const { guard().synchronizeStream(stream_); }
    void setDataPreprocessStream(bool) {}
    bool isDataPreprocessStream() { return false; }
    bool isSyncLaunchStream() const { return false; }

    static c10::impl::VirtualGuardImpl guard() { return c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1); }
    static c10::Device device_of(c10::DeviceIndex index) {
        return c10::Device(c10::DeviceType::PrivateUse1, index < 0 ? c10::DeviceIndex(lab_get_device()) : index);
    }

private:
    c10::Stream stream_;
};

inline NPUStream getCurrentNPUStream(c10::DeviceIndex device = -1) {
    return NPUStream(NPUStream::guard().getStream(NPUStream::device_of(device)));
}
inline NPUStream getDefaultNPUStream(c10::DeviceIndex device = -1) {
    return NPUStream(NPUStream::guard().getDefaultStream(NPUStream::device_of(device)));
}
inline NPUStream getNPUStreamFromPool(c10::DeviceIndex device = -1) {
    return NPUStream(NPUStream::guard().getStreamFromGlobalPool(NPUStream::device_of(device)));
}
inline NPUStream getStreamFromPool(const bool isHighPriority, c10::DeviceIndex device = -1) {
    return NPUStream(NPUStream::guard().getStreamFromGlobalPool(NPUStream::device_of(device), isHighPriority));
}
inline void setCurrentNPUStream(NPUStream stream) { NPUStream::guard().exchangeStream(stream.unwrap()); }
inline bool npuSynchronizeDevice(bool = true) {
    NPUStream::guard().synchronizeDevice(lab_get_device());
    return true;
}
inline std::ostream& operator<<(std::ostream& out, const NPUStream& s) { return out << s.unwrap(); }

}  // namespace c10_npu

namespace std {
template <> struct hash<c10_npu::NPUStream> {
    size_t operator()(c10_npu::NPUStream s) const noexcept { return hash<c10::Stream>{}(s.unwrap()); }
};
}  // namespace std
