// ShapeInfo values by number: tensors carry the number.
#include <cstring>
#include <deque>
#include <mutex>

#include "twin/base/shape.h"

namespace twin {

static std::mutex g_lock;
static std::deque<KeptShape> g_shapes;  // only grows, and never moves its elements

uint16_t keep_shape(const KeptShape& shape) {
    std::lock_guard<std::mutex> hold(g_lock);
    for (size_t i = 0; i < g_shapes.size(); i++)
        if (!std::memcmp(&g_shapes[i], &shape, sizeof shape)) return uint16_t(i + 1);
    if (g_shapes.size() == 65535) return 0;
    g_shapes.push_back(shape);
    return uint16_t(g_shapes.size());
}

const KeptShape& kept_shape(uint16_t number) {
    std::lock_guard<std::mutex> hold(g_lock);
    return g_shapes[number - 1u];
}

}  // namespace twin
