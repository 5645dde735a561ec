// ACLRT_LAUNCH_KERNEL(name)(blocks, stream, arguments...): the launch of a kernel that lies in another file, by its
// name. CANN generates a header for each kernel; here the arguments travel as they were written and become the kernel's
// own types on its side, so that the caller's file need not know them.
#pragma once
#include "twin/base/abi.h"

namespace twin {

struct Passed {
    enum Kind : uint8_t { Whole, Real, Pointer, Object } kind;
    uint64_t bits;       // Whole, Real (a double), Pointer
    const void* object;  // Object
};

namespace passing {
template <typename T> struct is_pointer { static constexpr bool value = false; };
template <typename T> struct is_pointer<T*> { static constexpr bool value = true; };
template <typename A, typename B> struct same { static constexpr bool value = false; };
template <typename A> struct same<A, A> { static constexpr bool value = true; };
template <typename T> struct bare { using type = T; };
template <typename T> struct bare<const T> { using type = T; };
template <typename T> struct bare<T&> : bare<T> {};
template <typename T> constexpr bool whole() {
    return __is_enum(T) || (!is_pointer<T>::value && !__is_class(T) && !__is_union(T) && !same<T, float>::value &&
                            !same<T, double>::value);
}

template <typename A> Passed pass(const A& a) {
    if constexpr (is_pointer<A>::value || same<A, decltype(nullptr)>::value)
        return {Passed::Pointer, (uint64_t)a, nullptr};
    else if constexpr (same<A, float>::value || same<A, double>::value) {
        double d = a;
        Passed p{Passed::Real, 0, nullptr};
        __builtin_memcpy(&p.bits, &d, 8);
        return p;
    } else if constexpr (whole<A>()) return {Passed::Whole, (uint64_t)a, nullptr};
    else return {Passed::Object, 0, &a};
}

template <typename P> typename bare<P>::type take(const Passed& p) {
    using T = typename bare<P>::type;
    if constexpr (is_pointer<T>::value) return (T)p.bits;
    else if constexpr (__is_class(T) || __is_union(T)) {  // a struct by value, or where it lies
        T value;
        __builtin_memcpy((void*)&value,
                         p.kind == Passed::Pointer  ? (const void*)p.bits
                         : p.kind == Passed::Object ? p.object
                                                    : (const void*)&p.bits,
                         sizeof(T));
        return value;
    } else {
        double d;
        __builtin_memcpy(&d, &p.bits, 8);
        return p.kind == Passed::Real ? T(d) : T((int64_t)p.bits);
    }
}

template <unsigned I, class F> struct param;
template <unsigned I, class H, class... R> struct param<I, void(H, R...)> : param<I - 1, void(R...)> {};
template <class H, class... R> struct param<0, void(H, R...)> { using type = H; };
template <class F> struct count;
template <class... P> struct count<void(P...)> { static constexpr unsigned value = sizeof...(P); };
template <unsigned... I> struct list {};
template <unsigned N, unsigned... I> struct upto : upto<N - 1, N - 1, I...> {};
template <unsigned... I> struct upto<0, I...> { using type = list<I...>; };

template <typename F, typename Call, unsigned... I> void call(Call&& go, const Passed* p, list<I...>) {
    go(take<typename param<I, F>::type>(p[I])...);
}
}  // namespace passing

[[noreturn]] void wrong_count(const char* kernel, unsigned given, unsigned wanted, Here);

template <void (*Entry)(uint32_t, void*, const Passed*, unsigned, Here)> struct Named {
    Here here;
    template <typename... A> uint32_t operator()(uint32_t blocks, void* stream, A... a) const {
        Passed p[sizeof...(A) + 1] = {passing::pass(a)...};
        Entry(blocks, stream, p, sizeof...(A), here);
        return 0;
    }
};

}  // namespace twin

#define TWIN_LAUNCHED_BY_NAME(name)                                                                     \
    extern "C" void twin_launch_##name(uint32_t, void*, const ::twin::Passed*, unsigned, ::twin::Here); \
    typedef ::twin::Named<twin_launch_##name> twin_launcher_##name;                                     \
    template <typename... A> uint32_t aclrtlaunch_##name(uint32_t blocks, void* stream, A... a) {       \
        return twin_launcher_##name{::twin::Here(nullptr, 0)}(blocks, stream, a...);                    \
    }
#define ACLRT_LAUNCH_KERNEL(kernel_func) \
    twin_launcher_##kernel_func { ::twin::Here(__FILE__, __LINE__) }

#define TWIN_LAUNCH_ENTRY(name, kernel, aic, aiv)                                                            \
    extern "C" void twin_launch_##name(uint32_t blocks, void* stream, const ::twin::Passed* p, unsigned n,   \
                                       ::twin::Here here) {                                                  \
        using F = decltype(kernel);                                                                          \
        constexpr unsigned wanted = ::twin::passing::count<F>::value;                                        \
        if (n != wanted) ::twin::wrong_count(#name, n, wanted, here);                                        \
        ::twin::passing::call<F>(::twin::bind<aic, aiv>(                                                     \
                                     #name, [](auto... a) { kernel(a...); }, blocks, nullptr, stream, here), \
                                 p, ::twin::passing::upto<wanted>::type{});                                  \
    }
