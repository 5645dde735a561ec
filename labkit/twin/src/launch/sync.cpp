// Flags and barriers.
#include <algorithm>

#include "memory/buffers.h"

namespace twin {

static std::string event_name(Pipe from, Pipe to) { return std::string(name_of(from)) + "_" + name_of(to); }

bool known_pipe(bool there, Pipe p, const char* call, Here here) {
    core->last = here;
    if (there) return true;
    const char* name = p == Pipe::All ? "ALL" : p < Pipe::Count ? name_of(p) : "?";
    core->report("event-pipe", true, here, Numbers().add("call", call).add("pipe", std::string("PIPE_") + name));
    return false;
}

// A kernel of one kind of core names a pipe of the other. In a mixed one each kind may pass by the other's code.
static void want_own_pipe(Pipe p, const char* call, Here here) {
    bool cube = core->id.kind == Kind::AIC,
         other = cube ? p == Pipe::V : p == Pipe::M || p == Pipe::MTE1 || p == Pipe::FIX;
    auto told = [](const Finding& f) { return f.code == "core-wrong"; };
    if (!other || core->id.mixed || std::any_of(core->findings.list().begin(), core->findings.list().end(), told))
        return;
    core->report(
        "event-core", true, here,
        Numbers().add("call", call).add("pipe", std::string("PIPE_") + name_of(p)).add("core", cube ? "AIC" : "AIV"));
}

static Core::Flag& flag(Pipe from, Pipe to, int id, const char* call, Here here) {
    for (Pipe p : {from, to})
        if (!known_pipe(p < Pipe::Count, p, call, here)) throw Stop{};
    for (Pipe p : {from, to}) want_own_pipe(p, call, here);
    if (id < 0 || id > 7)
        core->stop("event-id", here, Numbers().add("call", call).add("event", event_name(from, to)).add("id", id));
    return core->flags[int(from)][int(to)][id];
}

// A queue's EnQue or FreeTensor has set this flag, and its DeQue or AllocTensor has yet to wait for it.
static void report_held(const Core::Flag& f, const char* call, Pipe from, Pipe to, int id, Here here) {
    core->report("event-held", true, here,
                 Numbers()
                     .add("call", call)
                     .add("event", event_name(from, to))
                     .add("id", id)
                     .add("queue_line", f.queue_here.line));
}

void set_flag(Pipe from, Pipe to, int id, Here here) {
    Core::Flag& f = flag(from, to, id, "SetFlag", here);
    if (f.library)
        core->report("event-taken", true, here,
                     Numbers().add("call", "SetFlag").add("id", id).add("pipe_line", f.here.line));
    else if (f.queue && !f.set) report_held(f, "SetFlag", from, to, id, here);
    else if (f.set && f.again < 255 && ++f.again)
        core->report("event-twice", true, here,
                     Numbers().add("event", event_name(from, to)).add("id", id).add("first_line", f.here.line));
    int p = int(from);
    core->trace.spend(chip.scalar_issue);
    core->known[p].hear(core->known[0], from);
    f.set = true;
    f.library = false;
    f.here = here;
    f.clock = core->known[p];
    if (from == Pipe::S) f.clock.seen[Core::kRawPipe] = core->raw_done();
    f.at = core->trace.mark(from);
}

void wait_flag(Pipe from, Pipe to, int id, Here here) {
    Core::Flag& f = flag(from, to, id, "WaitFlag", here);
    if (f.library)
        core->report("event-taken", true, here,
                     Numbers().add("call", "WaitFlag").add("id", id).add("pipe_line", f.here.line));
    if (f.queue && !f.set && !f.library) {  // the queue would wait for ever
        report_held(f, "WaitFlag", from, to, id, here);
        f.queue = false;
        return;
    }
    f.library = false;
    if (!f.set && f.again) f.again--;  // second wait after two sets (the second set was already reported)
    else if (!f.set)
        core->stop("event-unset", here,
                   Numbers().add("event", event_name(from, to)).add("id", id).add("to", name_of(to)));
    int p = int(to);
    core->trace.spend(chip.scalar_issue);
    f.set = false;
    core->known[p].hear(f.clock, to);
    core->trace.await(to, f.at);
}

void barrier(Pipe p, Here here) {
    if (!known_pipe(p < Pipe::Count || p == Pipe::All, p, "PipeBarrier", here)) p = Pipe::All;
    want_own_pipe(p, "PipeBarrier", here);
    core->trace.spend(chip.scalar_issue);
    if (p == Pipe::All) return core->join_all();
    core->known[int(p)].done = core->issued[int(p)];  // its instructions begin in order, but copies may overlap
}

// TPipe counts the reserved ids; an event that was set by hand does not reserve its id.
int event_id(Pipe from, Pipe to, bool reserve, Here here) {
    if (here.file) core->last = here;
    Core::Held h{take_event(from, to), from, to};
    int id = h.id;
    if (id < 0) core->stop("event-exhausted", here, Numbers().add("event", event_name(from, to)));
    if (!reserve) give_event(h);
    return id;
}

void event_release(Pipe from, Pipe to, int id, Here here) {
    flag(from, to, id, "ReleaseEventID", here).reserved = false;
}

}  // namespace twin
