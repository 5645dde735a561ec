// The instructions by which cores synchronise with each other.
#include <algorithm>

#include "launch/core_group.h"
#include "launch/soft_sync.h"

namespace twin {

namespace {

// From here on this core's accesses to GM may be ordered after other cores' accesses by what it has waited for.
void go_on(Stamp at, double after) { core->trace.await(Pipe::S, at, after); }

Stamp everything_done() {
    core->publish();
    core->join_all();
    return core->trace.mark(Pipe::S);
}

void meet(const char* call, int barrier, uint32_t cores, Here here) {
    core->last = here;
    Stamp at = everything_done();
    auto mine = core->group->arrive(*core, barrier, cores, {at, core->gm_clock(Pipe::S)});
    wait_until(call, here, [=, group = core->group] { return group->met(mine); });
    auto all = core->group->met_at(*core, mine);
    go_on(all.at, chip.sync_all);
    core->learn(all.told);
    core->phase++;
}

uint64_t key(uint32_t block, uint32_t event) { return uint64_t(event) << 32 | block; }

}  // namespace

void cross_set(int mode, Pipe pipe, int id, Here here) {
    if (!known_pipe(pipe < Pipe::Count && pipe != Pipe::S, pipe, "CrossCoreSetFlag", here)) {
        if (pipe == Pipe::All) core->join_all();
        pipe = Pipe::S;
    }
    if (!core->id.mixed && mode != 0 && !(mode == 1 && core->id.subs > 1)) {
        core->report("cross-mode", true, here,
                     Numbers().add("mode", mode).add("core", core->id.kind == Kind::AIC ? "AIC" : "AIV"));
        throw Stop{};
    }
    core->publish();
    int p = int(pipe);
    if (core->delayed.on) core->delayed.settle(core->known[p]);
    core->trace.spend(chip.scalar_issue);
    core->sent.join(core->known[p]);
    CoreGroup::Signal signal{core->trace.mark(pipe), core->gm_clock(pipe), here, mode == 0 || core->far};
    size_t waiting = core->group->set(*core, mode, id & 15, std::move(signal));
    if (waiting > 15) core->report("cross-many", true, here, Numbers().add("id", id & 15).add("times", waiting));
    if (core->delayed.waits_after_signals()) give_way();
}

void cross_wait(int id, Here here) {
    core->last = here;
    id &= 15;
    wait_until("CrossCoreWaitFlag", here, [=, c = core] { return c->group->received(*c, id); });
    auto signal = core->group->take(*core, id);
    go_on(signal.at, chip.cross_flag);
    core->learn(signal.told);
    // the core that sent the flag had received this core's own flag, so everything before that flag is done
    core->known[int(Pipe::S)].join(core->sent);
    core->ordered = true;
    core->far = core->far || signal.far;
}

void sync_all(bool only_vector, Here here) {
    const CoreGroup& t = *core->group;
    bool cube = core->id.kind == Kind::AIC;
    if (only_vector && cube) {
        if (core->id.mixed) return;  // the cube core takes no part in it
        core->stop("sync-kind", here, Numbers().add("core", "AIC"));
    }
    if (!only_vector && !core->id.mixed && !cube) core->stop("sync-kind", here, Numbers().add("core", "AIV"));
    core->group->note_meeting();
    uint32_t cores = t.blocks * (only_vector ? t.aiv : t.aic + t.aiv);
    meet("SyncAll", only_vector ? 0 : 1, cores, here);
}

void sync_all(bool only_vector, Gm gm, Loc ub, int32_t used, Here here) {
    const CoreGroup& t = *core->group;
    if (core->id.kind == Kind::AIC) return;  // only vector cores have the form in GM
    uint64_t marks = used > 0 ? uint64_t(used) : t.blocks;
    SoftSync call{"SyncAll", here};
    if (call.room(gm, marks * kMark, ub, marks * kMark)) call.zeroed(gm, 0, marks * kMark);
    core->group->note_workspace(uint64_t(gm.ptr), uint64_t(gm.ptr) + marks * kMark);
    meet("SyncAll", 2, used > 0 ? uint32_t(used) : t.blocks * t.aiv, here);
    (void)only_vector;
}

// Where the mark of an event stands in the workspace, as documented: a row of all cores for each event.
static uint64_t mark_of(int32_t block, int32_t event, bool only_vector) {
    return (uint64_t(core->group->blocks) * (only_vector ? 1 : 2) * uint64_t(event) + uint64_t(block)) * kMark;
}

// A negative block or event has no place there; computed without a sign it would lie in front of the workspace, or wrap
// to one that looks right.
static bool has_mark(const SoftSync& call, const Gm& gm, const Loc& ub, int32_t block, int32_t event) {
    if (block >= 0 && event >= 0) return true;
    const std::string said = std::string(call.call) + "(blockIdx=" + std::to_string(block) +
                             ", eventID=" + std::to_string(event) + ")";
    const SoftSync negative{said.c_str(), call.here};
    negative.room(gm, uint64_t(int64_t(std::min(block, event)) * int64_t(kMark)), ub, kMark);
    return false;
}

void block_set(const Gm& gm, const Loc& ub, int32_t block, int32_t event, bool only_vector, Here here) {
    core->last = here;
    if (core->id.kind == Kind::AIC) return;
    SoftSync call{"IBSet", here};
    if (!has_mark(call, gm, ub, block, event)) return;
    uint64_t mark = mark_of(block, event, only_vector);
    if (call.room(gm, mark + kMark, ub, kMark)) call.zeroed(gm, mark, kMark);
    Stamp at = everything_done();
    uint64_t k = key(uint32_t(block), uint32_t(event));
    wait_until("IBSet", here, [=, group = core->group] { return !group->posted(k); });
    core->group->post(k, at);
    core->ordered = core->far = true;
}

void block_wait(const Gm& gm, const Loc& ub, int32_t block, int32_t event, bool only_vector, Here here) {
    core->last = here;
    if (core->id.kind == Kind::AIC) return;
    SoftSync call{"IBWait", here};
    if (!has_mark(call, gm, ub, block, event)) return;
    call.room(gm, mark_of(block, event, only_vector) + kMark, ub, kMark);
    everything_done();
    uint64_t k = key(uint32_t(block), uint32_t(event));
    wait_until("IBWait", here, [=, group = core->group] { return group->posted(k); });
    go_on(core->group->collect(k), chip.cross_flag);
    core->ordered = core->far = core->ordered_unseen = true;
}

// The members' posts are kept for the round: any number of cores may wait for them.
static uint64_t group_key(const uint8_t* gm, uint32_t member, uint32_t round) {
    uint64_t place = uint64_t(gm) * 0x9e3779b97f4a7c15ull >> 32;
    return 1ull << 63 | (place & 0x7fffffff) << 32 | (round & 0xffffff) << 8 | member;
}

void group_arrive(const uint8_t* gm, uint32_t member, uint32_t round, Here here) {
    core->last = here;
    if (core->id.kind == Kind::AIC) return;
    core->group->post(group_key(gm, member, round), everything_done());
    core->ordered = core->far = true;
}

void group_wait(const uint8_t* gm, uint32_t members, uint32_t round, bool listed, Here here) {
    core->last = here;
    if (core->id.kind == Kind::AIC || !listed) return;
    everything_done();
    wait_until("GroupBarrier::Wait", here, [=, group = core->group] {
        for (uint32_t m = 0; m < members; m++)
            if (!group->posted(group_key(gm, m, round))) return false;
        return true;
    });
    for (uint32_t m = 0; m < members; m++) go_on(core->group->posted_at(group_key(gm, m, round)), chip.cross_flag);
    core->ordered = core->far = core->ordered_unseen = true;
}

// Runs the blocks one after the other: block 0 may proceed at once, and each block passes the turn to the next.
constexpr uint32_t kTurn = 0xffff;

static void want_turns(const char* call, const Gm& gm, const Loc& ub, Here here) {
    core->last = here;
    uint64_t marks = core->group->blocks * kMark;
    if (core->id.kind == Kind::AIV) SoftSync{call, here}.room(gm, marks, ub, marks + kMark);
}

void turn_begin(const Gm& gm, const Loc& ub, Here here) { want_turns("InitDetermineComputeWorkspace", gm, ub, here); }

void turn_wait(const Gm& gm, const Loc& ub, Here here) {
    want_turns("WaitPreBlock", gm, ub, here);
    if (core->id.kind == Kind::AIC) return;
    core->ordered = core->far = core->ordered_unseen = true;
    everything_done();  // the device reads its flag by MTE2 and waits for that, so earlier work on that pipe is done as
                        // well
    uint64_t k = key(uint32_t(block_idx()), kTurn);
    if (core->turns++ == 0 && block_idx() == 0) return;
    wait_until("WaitPreBlock", here, [=, group = core->group] { return group->posted(k); });
    go_on(core->group->collect(k), chip.cross_flag);
}

void turn_pass(const Gm& gm, const Loc& ub, Here here) {
    want_turns("NotifyNextBlock", gm, ub, here);
    if (core->id.kind == Kind::AIC) return;
    core->ordered = core->far = true;
    Stamp at = everything_done();
    uint32_t next = uint32_t(block_idx()) + 1;
    if (next < core->group->blocks * core->group->aiv) core->group->post(key(next, kTurn), at);
    else core->group->post(key(0, kTurn), at);
}

}  // namespace twin
