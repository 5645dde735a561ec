#include "base/chip.h"

#include <fstream>
#include <stdexcept>

namespace twin {

Chip chip;

static const char* const kOps[] = {
#define X(name) #name,
    TWIN_OPS(X)
#undef X
};
static const char* const kPipeNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
static const char* const kTypes[] = {"half",     "bfloat16_t", "float",    "int8_t",  "uint8_t",  "int16_t",
                                     "uint16_t", "int32_t",    "uint32_t", "int64_t", "uint64_t", "int4b_t"};
static const char* const kTypeKeys[] = {"f16", "bf16", "f32", "i8",  "u8",  "i16",
                                        "u16", "i32",  "u32", "i64", "u64", "i4"};
static const char* const kMemories[] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
static const char* const kMems[] = {"ub", "l1", "l0a", "l0b", "l0c", "bt", "fb"};

const char* name_of(Op op) { return kOps[int(op)]; }
const char* name_of(Pipe p) { return p == Pipe::All ? "ALL" : kPipeNames[int(p)]; }
const char* name_of(Mem m) { return kMemories[int(m)]; }
const char* name_of(Dt t) { return kTypes[int(t)]; }

double Chip::get(const char* key) const {
    auto it = values_.find(key);
    if (it == values_.end()) throw std::runtime_error(std::string("the chip table has no ") + key);
    return it->second;
}

void Chip::load(const char* file) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        size_t eq = line.find('=');
        if (eq != std::string::npos) set(line.substr(0, eq), std::stod(line.substr(eq + 1)));
    }
    ready();
}

void Chip::ready() {
    hz = get("clock.hz");
    cores = uint32_t(get("cores.aiv"));
    cube_cores = uint32_t(get("cores.aic"));
    sync_all = get("sync.all") * hz;
    cross_flag = get("sync.flag") * hz;
    for (int m = 0; m < int(Mem::Count); m++) size[m] = uint32_t(get((std::string("memory.") + kMems[m]).c_str()));
    reserved = uint32_t(get("memory.ub_reserved"));
    static const char* const kWays[] = {"to_ub", "to_l1", "to_l1_nz", "from_ub", "from_l0c"};
    for (int i = 0; i < int(Route::Count); i++) {
        auto part = [&](const char* key) { return get(("dma." + std::string(kWays[i]) + "." + key).c_str()); };
        dma[i] = {part("issue"), part("latency"), part("latency_hit"), part("fast"),  part("slow"),
                  part("hit"),   part("row"),     part("row_missed"),  part("window")};
    }
    hbm_rate = get("gm.hbm") / hz;
    l2 = {get("gm.l2") / hz,
          get("gm.l2_write") / hz,
          get("gm.give_back"),
          get("gm.split"),
          get("gm.split_row"),
          get("gm.same_window"),
          get("gm.same_cost"),
          get("gm.atomic") * hz,
          uint32_t(get("memory.l2") * get("gm.l2_share") / 512),
          uint32_t(get("gm.piece")),
          uint32_t(get("gm.atomic_line"))};
    queue = uint32_t(get("scalar.queue"));
    startup_when_idle = get("vector.startup_when_idle") != 0;
    mmad_idle = get("cube.mmad_idle");
    l1_shared = get("cube.l1_shared");
    next_block = get("launch.next_block") * hz;
    cube = {get("matmul.l0_start"), get("matmul.l0a_rate"), get("matmul.l0b_rate"), get("matmul.scalar_norm"),
            get("matmul.scalar_mdl")};
    auto path = [&](const char* name) {
        auto key = [&](const char* part) { return "cube.path." + std::string(name) + "." + part; };
        return Path{get(key("floor").c_str()), get(key("start").c_str()), get(key("rate").c_str())};
    };
    to_l0a = path("to_l0a");
    to_l0b = path("to_l0b");
    to_bt = path("to_bt");
    to_fb = path("to_fb");
    l0c_to_l1 = path("l0c_to_l1");
    mmad_floor = get("cube.mmad_floor");
    mmad_start = get("cube.mmad_start");
    cube_k_int4 = get("cube.k.int4");
    cube_k_int8 = get("cube.k.int8");
    cube_k_half = get("cube.k.half");
    cube_k_hf32 = get("cube.k.hf32");
    cube_k_float = get("cube.k.float");
    vector_startup = get("vector.startup");
    conflict = get("vector.bank_group_conflict");
    conflict_write = get("vector.bank_write_conflict");
    scalar_issue = get("scalar.issue");
    scalar_get = get("scalar.get");
    scalar_set = get("scalar.set");
    scalar_start = get("scalar.start");
    scalar_tque = get("scalar.tque");
    scalar_gm = get("scalar.gm");
    mask_set = get("scalar.mask");
    launch_head = get("launch.head");
    launch_second = get("launch.second") * hz;
    launch_per_core = get("launch.per_core") * hz;
    launch_uneven = get("launch.uneven");
    launch_mixed = get("launch.mixed");
    double fallback = get("vector.cycles.default");
    for (int op = 0; op < int(Op::Count); op++)
        for (int t = 0; t < int(Dt::Count); t++) {
            std::string base = std::string("vector.cycles.") + kOps[op];
            auto typed = values_.find(base + "." + kTypeKeys[t]);
            auto any = values_.find(base);
            per_repeat[op][t] = float(typed != values_.end() ? typed->second
                                      : any != values_.end() ? any->second
                                                             : fallback);
        }
}

}  // namespace twin
