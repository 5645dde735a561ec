// Several processes, each with its own devices: the rank of this one, and the duration of their communication.
//
// The devices of a server are joined in pairs, each pair by a link (a full mesh). A rank talks to all others at the
// same time, so with n ranks and B bytes a step that hands every rank its n-th part takes B/n at one link's rate.
#pragma once
#include <string>

#include "clock.h"

namespace labdev {

// In the default process group; size 0: there is none.
struct RankOfProcess { int rank = 0, size = 0; };
RankOfProcess& rank_of_process();

// The parameters of a collective that its ranks have agreed on. Times in ns; bytes: of the largest argument of any
// rank.
struct Collective {
    double begin = 0, bytes = 0, ns = 0;
    int ranks = 0;
};

inline double collective_ns(const std::string& op, const Collective& m, const Rates& r) {
    auto is = [&](const char* name) { return op.rfind(name, 0) == 0; };
    const double part = m.bytes / double(m.ranks > 0 ? m.ranks : 1) / r.peer, whole = m.bytes / r.peer;
    if (m.ranks < 2) return r.launch;
    if (is("c10d::allreduce")) return r.peer_latency + 2 * part;  // each rank adds up one part, then hands it to all
    if (is("c10d::broadcast") || is("c10d::reduce_") || is("c10d::send") || is("c10d::recv"))
        return r.peer_latency + (is("c10d::reduce_scatter") ? part : whole);
    return r.peer_latency + part;  // gather, scatter, all-to-all
}

}  // namespace labdev
