// The host's sizes of temporary space and its tilings for the advanced API. Each tiling function has a form for the
// host's class (optiling) and one for the plain struct.
#pragma once
#include "adv_api/utils/types.h"
#include "kernel_tiling/kernel_tiling.h"
#include "tiling/platform/platform_ascendc.h"
#include "twin/tiling/host_structs.h"

namespace AscendC {

namespace detail {
// A plain tiling whose bytes the host's class takes over at the end.
template <typename Plain, typename Host> struct HandedOver {
    alignas(8) Plain plain;
    uint64_t room = 0;  // the class is a multiple of 8 bytes
    Host& to;
    explicit HandedOver(Host& host) : to(host) {
        std::memset(static_cast<void*>(&plain), 0, sizeof plain);
    }  // its padding too
    ~HandedOver() { to = Host(static_cast<void*>(&plain)); }
};
}  // namespace detail

#define TWIN_HOST_LIST(...) __VA_ARGS__
#define TWIN_HOST_TILING_FORMS(Result, name, Tiling, parameters, pass)           \
    Result name(parameters, ::AscendC::tiling::Tiling& tiling);                  \
    inline Result name(parameters, optiling::Tiling& host) {                     \
        detail::HandedOver<::AscendC::tiling::Tiling, optiling::Tiling> t(host); \
        return name(pass, t.plain);                                              \
    }
#define TWIN_HOST_TILING_FORMS_LAST(Result, name, Tiling, parameters, pass, last)        \
    Result name(parameters, ::AscendC::tiling::Tiling& tiling, const bool last = false); \
    inline Result name(parameters, optiling::Tiling& host, const bool last = false) {    \
        detail::HandedOver<::AscendC::tiling::Tiling, optiling::Tiling> t(host);         \
        return name(pass, t.plain, last);                                                \
    }

}  // namespace AscendC
