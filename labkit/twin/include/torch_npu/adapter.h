// Included before an adapter that is compiled for the twin: an operator's C++ side, with PyTorch's own headers.
//
// A launch `kernel<<<blocks, nullptr, stream>>>(...)` becomes labkit::bind(...)(...): the arguments, converted to the
// kernel's own types, are sent to the process that runs kernels. TORCH_LIBRARY* only records what is to be registered:
// the lab registers it when the library is loaded, so that an error is returned as text instead of ending the process,
// and removes it when the adapter is rebuilt.
#pragma once
#include <torch/library.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

extern "C" {  // the simulated device's library (labkit/device/csrc/capi.cpp)
const char* lab_kernel_launch(int adapter, const char* kernel, uint32_t blocks, const void* stream, int queued,
                              const char* file, int line, int count, const void* const* values, const uint32_t* sizes);
}

namespace labkit {

// ---- registration

struct Registration {
    torch::Library::Kind kind;
    const char* ns;
    std::optional<c10::DispatchKey> key;
    void (*fill)(torch::Library&);
    const char* file;
    unsigned line;
    std::unique_ptr<torch::Library> library;
};
inline std::vector<Registration>& registrations() {
    static auto* all = new std::vector<Registration>();
    return *all;
}
struct Note {
    Note(torch::Library::Kind kind, const char* ns, std::optional<c10::DispatchKey> key, void (*fill)(torch::Library&),
         const char* file, unsigned line) {
        registrations().push_back({kind, ns, key, fill, file, line, nullptr});
    }
};
inline int& adapter() {
    static int number = -1;
    return number;
}

// ---- launch

inline bool& queued() {  // inside OpCommand: the launch is queued behind the operators issued before
    static thread_local bool inside = false;
    return inside;
}

template <class P, class A> P as_parameter(A&& a) {
    if constexpr (std::is_pointer_v<P> && std::is_same_v<std::decay_t<A>, void*>) return static_cast<P>(a);
    else if constexpr (std::is_pointer_v<P> && std::is_same_v<std::decay_t<A>, const void*>)
        return static_cast<P>(const_cast<void*>(a));
    else return std::forward<A>(a);
}

template <class... P> struct Launch {
    const char* kernel;
    uint32_t blocks;
    void* stream;
    const char* file;
    int line;

    template <class... A> void operator()(A&&... a) const {
        static_assert(sizeof...(A) == sizeof...(P),
                      "the launch gives another number of arguments than the kernel takes");
        const std::tuple<std::decay_t<P>...> values{as_parameter<std::decay_t<P>>(std::forward<A>(a))...};
        std::apply(
            [&](const auto&... v) {
                const void* at[sizeof...(P) + 1] = {&v...};
                const uint32_t sizes[sizeof...(P) + 1] = {uint32_t(sizeof v)...};
                const char* wrong = lab_kernel_launch(adapter(), kernel, blocks, stream, queued(), file, line,
                                                      int(sizeof...(P)), at, sizes);
                TORCH_CHECK(!wrong, wrong);
            },
            values);
    }
};

template <class... P, class D> Launch<P...> bind(const char* kernel, void (*)(P...), uint32_t blocks, D, void* stream,
                                                 const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {kernel, blocks, stream, file, line};
}
template <class... P> Launch<P...> bind(const char* kernel, void (*)(P...), uint32_t blocks,
                                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {kernel, blocks, nullptr, file, line};
}

}  // namespace labkit

// Registers everything recorded, as adapter `number`. Null, or one line for each error: place ("file:line") and reason.
extern "C" __attribute__((visibility("default"), used)) inline const char* labkit_register(int number) {
    static std::string wrong;
    labkit::adapter() = number;
    for (auto& r : labkit::registrations()) {
        try {
            r.library = std::make_unique<torch::Library>(r.kind, r.ns, r.key, r.file, r.line);
            r.fill(*r.library);
            continue;
        } catch (const c10::Error& e) {
            wrong = e.what_without_backtrace();
        } catch (const std::exception& e) {
            wrong = e.what();
        }
        for (auto& other : labkit::registrations()) other.library.reset();
        wrong = std::string(r.file) + ":" + std::to_string(r.line) + "\n" + wrong;
        return wrong.c_str();
    }
    return nullptr;
}
extern "C" __attribute__((visibility("default"), used)) inline void labkit_unregister() {
    auto& all = labkit::registrations();
    for (auto r = all.rbegin(); r != all.rend(); ++r) r->library.reset();
}

#undef TORCH_LIBRARY
#undef TORCH_LIBRARY_FRAGMENT
#undef TORCH_LIBRARY_IMPL
#define LABKIT_LIBRARY(kind, ns, key, m, uid)                                                            \
    static void C10_CONCATENATE(labkit_fill_##ns##_, uid)(torch::Library&);                              \
    static const ::labkit::Note C10_CONCATENATE(labkit_note_##ns##_, uid)(                               \
        torch::Library::kind, #ns, key, &C10_CONCATENATE(labkit_fill_##ns##_, uid), __FILE__, __LINE__); \
    void C10_CONCATENATE(labkit_fill_##ns##_, uid)(torch::Library & m)
#define TORCH_LIBRARY(ns, m) LABKIT_LIBRARY(DEF, ns, std::nullopt, m, C10_UID)
#define TORCH_LIBRARY_FRAGMENT(ns, m) LABKIT_LIBRARY(FRAGMENT, ns, std::nullopt, m, C10_UID)
#define TORCH_LIBRARY_IMPL(ns, k, m) LABKIT_LIBRARY(IMPL, ns, std::make_optional(c10::DispatchKey::k), m, C10_UID)
