// `kernel<<<blocks, dynamic UB, stream>>>(args)` is lowered to bind<cores>(...)(args), which runs the body on each
// core.
//
// A kernel with work for cube cores is compiled a second time, for them. Both compilations contain the same call; it is
// identified by the type of its closure, so that the launcher finds the cube cores' body for a call made by the host.
#pragma once
#include <typeinfo>

#include "twin/base/abi.h"

namespace twin {

bool know_call(const char* type, void (*body)(void*));

template <typename Once> struct Call {
    static void body(void* c) { (*static_cast<Once*>(c))(); }
    static const bool known;
};
template <typename Once> const bool Call<Once>::known = know_call(typeid(Once).name(), &Call<Once>::body);

// A launch takes a void* for a parameter of any pointer type.
struct Untyped {
    void* at;
    template <typename T> operator T*() const { return static_cast<T*>(at); }
};
inline Untyped passed(void* at) { return {at}; }
template <typename T> T passed(T value) { return value; }

template <int aic, int aiv, typename F> struct Bound {  // aic, aiv: the cores of a block
    const char* name;
    F body;
    uint32_t blocks;
    void* stream;
    Here here;
    template <typename... Args> void operator()(Args... args) const {
        auto once = [&] { body(passed(args)...); };
        using Once = decltype(once);
        (void)Call<Once>::known;
        run_blocks(name, blocks, aic, aiv, stream, typeid(Once).name(), &once, here);
    }
};
// Of a launch in a macro: the cores of the kernel that `name` says, "ns::add<half>", by a table "add:0:1;mul:1:2;".
constexpr int cores_of(const char* table, const char* name, int which) {
    const char* from = name;
    for (const char* c = name; *c && *c != '<'; c++)
        if (*c == ':' || *c == ' ') from = c + 1;
    for (const char* row = table; *row; row++) {
        const char *a = row, *b = from;
        while (*a != ':' && *a == *b) a++, b++;
        if (*a == ':' && (!*b || *b == '<')) return a[1 + 2 * which] - '0';
        while (*row != ';') row++;
    }
    return which;  // launched by way of a variable
}

template <int aic, int aiv, typename F, typename D = int>
Bound<aic, aiv, F> bind(const char* name, F body, uint32_t blocks, D = {}, void* stream = nullptr, TWIN_HERE) {
    return Bound<aic, aiv, F>{name, body, blocks, stream, here};
}

}  // namespace twin

#define TWIN_TEXT(...) TWIN_TEXT_AS_IT_IS(__VA_ARGS__)
#define TWIN_TEXT_AS_IT_IS(...) #__VA_ARGS__
