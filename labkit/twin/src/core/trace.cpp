#include "core/trace.h"

#include <mutex>

namespace twin {

// Allocating the trace anew in every launch would cost a short launch a tenth of its time, so the memory is reused, up
// to a limit.
static std::mutex g_lock;
static std::vector<std::pair<std::vector<Entry>, std::vector<Move>>> g_spare;
static size_t g_kept = 0;  // bytes
static constexpr size_t kKept = 32 << 20;

static size_t room(const std::vector<Entry>& n, const std::vector<Move>& m) {
    return n.capacity() * sizeof(Entry) + m.capacity() * sizeof(Move);
}

void Trace::begin(uint32_t block, uint8_t core) {
    block_ = block, core_ = core, before_ = 0, marks_ = 0, lost = 0, lost_line_ = 0;
    std::lock_guard<std::mutex> hold(g_lock);
    if (!entries.capacity() && !g_spare.empty()) {
        std::tie(entries, moves) = std::move(g_spare.back());
        g_spare.pop_back();
        g_kept -= room(entries, moves);
    }
    entries.clear();
    moves.clear();
}

void Trace::end() {
    std::lock_guard<std::mutex> hold(g_lock);
    size_t bytes = room(entries, moves);
    if (bytes && g_kept + bytes <= kKept) {
        g_kept += bytes;
        g_spare.emplace_back(std::move(entries), std::move(moves));
    }
    *this = Trace{};
}

}  // namespace twin
