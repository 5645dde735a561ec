// What `kernel<<<blocks, dynamic UB, stream>>>(args)` is lowered to: bind(...)(args) runs the body once a block.
#pragma once
#include "twin/abi.h"

namespace twin {

template <typename F> struct Bound {
    const char* name;
    F body;
    uint32_t blocks;
    void* stream;
    Here here;
    template <typename... Args> void operator()(Args... args) const {
        auto once = [&] { body(args...); };
        using Once = decltype(once);
        run_blocks(name, blocks, stream, [](void* c) { (*static_cast<Once*>(c))(); }, &once, here);
    }
};
template <typename F, typename D> Bound<F> bind(const char* name, F body, uint32_t blocks, D, void* stream, TWIN_HERE) {
    return Bound<F>{name, body, blocks, stream, here};
}

}  // namespace twin
