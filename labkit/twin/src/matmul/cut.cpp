#include "matmul/cut.h"

#include <algorithm>
#include <vector>

namespace twin {

namespace {

int64_t parts(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t up(int64_t a, int64_t b) { return parts(a, b) * b; }

// Relative costs in cycles: a fractal a cycle, L1 to L0A and L0B 256 and 128 bytes a cycle, GM and L2 about 64 a core
// when all cores load, FIXPIPE 64, and what an instruction of each kind costs to start (asc-devkit's cube table,
// mskpp's curves).
constexpr double kToL0A = 256, kToL0B = 128, kGm = 64, kFix = 64, kMmadStart = 23, kLoadStart = 230, kStoreStart = 80;
constexpr int64_t kLeastLoad = 32;
constexpr double kLine = 128, kBrokenLine = 1.2;  // rows that do not fill 128-byte lines load slower
// Kernels that do not handle tails are common, so an even division may cost this much more; less for large products.
constexpr double kUnevenSingle = 0.5, kUnevenBase = 0.2, kMuch = 2e4;
// Kernels that treat a core's part as one block are common as well; so are those that fetch C by blocks along one axis
// instead of two.
constexpr double kSeveral = 1.2, kBothWays = 1.5, kCutInL1 = 2;
double uneven_factor(double most, double cycles) { return 1 + most * std::min(1.0, kMuch / cycles); }

struct Search {
    const CutTask& t;
    int64_t unit[3], c0a, c0b;
    double a_bytes, b_bytes;

    explicit Search(const CutTask& task) : t(task) {
        base_units(t, unit);
        c0a = 256 / t.a_bits;
        c0b = 256 / t.b_bits;
        a_bytes = t.a_bits / 8.0;
        b_bytes = t.b_bits / 8.0;
    }

    // L1 for the given base: as many K steps as fit, double buffered where there is something to overlap with.
    bool cut_l1(Cut& c) const {
        int64_t k_steps = parts(c.single[2], c.base[2]);
        double a1 = t.a_l1 ? 0 : double(c.base[0] * c.base[2]) * a_bytes,
               b1 = t.b_l1 ? 0 : double(c.base[1] * c.base[2]) * b_bytes;
        double room = double(t.l1) - double(c.base[1] * t.bias_bytes);
        if (t.a_l1) room -= double(up(c.single[0], 16) * up(c.single[2], c0a)) * a_bytes;
        if (t.b_l1) room -= double(up(c.single[2], c0b) * up(c.single[1], 16)) * b_bytes;
        if (t.three_buffers) {  // all of A stays in L1, in at most 3 x 3 bases; B comes by columns, double buffered
            int64_t m_steps = parts(c.single[0], c.base[0]);
            if (m_steps > 3 || k_steps > 3 || double(m_steps * k_steps) * a1 + double(2 * k_steps) * b1 > room)
                return false;
            c.step_m = m_steps;
            c.step_n = 1;
            c.step_ka = c.step_kb = k_steps;
            c.depth_a = m_steps * k_steps;
            c.depth_b = 2 * k_steps;
            return true;
        }
        if (room < 0) return false;  // of two operands that lie in L1 already, too
        int64_t fit = a1 + b1 > 0 ? int64_t(room / (2 * (a1 + b1))) : k_steps;
        c.step_m = c.step_n = 1;
        if (fit >= k_steps || (fit >= 1 && (t.a_l1 || t.b_l1))) {
            // Equal rounds over K, so that the last one is not shorter.
            int64_t rounds = parts(k_steps, std::min(fit, k_steps));
            c.step_ka = c.step_kb = parts(k_steps, rounds);
        } else if (fit >= 1) {
            share_l1(c, k_steps, int64_t(room), int64_t(a1), int64_t(b1));
        } else {
            c.step_ka = c.step_kb = c.depth_a = c.depth_b = 1;
            return a1 + b1 <= room;
        }
        c.depth_a = 2 * c.step_ka;
        c.depth_b = 2 * c.step_kb;
        return true;
    }

    // Neither operand's K fits. As CANN's matmul_tiling (asc-devkit, matmul_tiling_algorithm.cpp) shares L1: one
    // operand takes as many steps as fit beside a single step of the other, the other takes of the rest what makes a
    // load of kLeastLoad fractals from L1. Both divide the steps of K.
    void share_l1(Cut& c, int64_t k_steps, int64_t room, int64_t a1, int64_t b1) const {
        bool a_first = t.a_trans == t.b_trans ? !t.a_trans : c.base[0] > c.base[1];
        int64_t high = parts(c.base[0], 16), wide = parts(c.base[1], 16), deep = parts(c.base[2], c0a);
        int64_t first = a_first ? a1 : b1, second = a_first ? b1 : a1, side = a_first ? wide : high;
        auto factor = [&](int64_t most) {
            int64_t f = std::max<int64_t>(1, std::min(most, k_steps));
            while (k_steps % f) f--;
            return f;
        };
        int64_t most = std::max(kLeastLoad / ((wide == 1 ? 1 : deep) + (deep == 1 ? 1 : high)),
                                parts(parts(kLeastLoad, side), deep));
        int64_t longer = factor((room - 2 * second) / (2 * first)),
                shorter = factor(std::min((room - 2 * first * longer) / (2 * second), most));
        int64_t &large = longer >= shorter ? longer : shorter, small = std::min(longer, shorter);
        while (large % small || (large != small && k_steps % large)) large--;
        c.step_ka = a_first ? longer : shorter;
        c.step_kb = a_first ? shorter : longer;
    }

    static bool whole_line(int64_t bits) { return bits % int64_t(8 * kLine) == 0; }

    double cost(const Cut& c) const {
        double sm = double(up(c.single[0], 16)), sn = double(up(c.single[1], 16)), sk = double(up(c.single[2], c0a));
        double m_blocks = double(parts(c.single[0], c.base[0])), n_blocks = double(parts(c.single[1], c.base[1])),
               k_blocks = double(parts(c.single[2], c.base[2]));
        double mmad = sm * sn * sk / (256.0 * double(c0a)) + kMmadStart * m_blocks * n_blocks * k_blocks;
        double l0 = sm * sk * a_bytes * n_blocks / kToL0A + sk * sn * b_bytes * m_blocks / kToL0B;
        // M runs first: with all of K in L1, a block column of B is loaded once, and A once where it is a single block
        // row.
        bool whole_k = std::min(c.step_ka, c.step_kb) >= int64_t(k_blocks);
        double a_rounds = whole_k && m_blocks == 1 ? 1.0 : n_blocks, b_rounds = whole_k ? 1.0 : m_blocks;
        double loads = m_blocks * n_blocks *
                       double(parts(int64_t(k_blocks), c.step_ka) + parts(int64_t(k_blocks), c.step_kb));
        double gm = ((t.a_l1 ? 0 : sm * sk * a_bytes * a_rounds) + (t.b_l1 ? 0 : sk * sn * b_bytes * b_rounds)) / kGm +
                    kLoadStart * std::min(loads, 4.0) + 20 * loads;
        if (!whole_line(c.base[2] * (t.a_trans ? 0 : t.a_bits)) ||
            !whole_line((t.b_trans ? c.base[2] : c.base[1]) * t.b_bits))
            gm *= kBrokenLine;
        double fix = sm * sn * t.c_bytes / kFix * (c.dims[2] > 1 ? 2 : 1) + kStoreStart * m_blocks * n_blocks;
        bool one_block = m_blocks * n_blocks == 1;
        double longest = std::max({mmad, l0, gm, one_block ? 0 : fix}),
               rest = mmad + l0 + gm + (one_block ? 0 : fix) - longest;
        double total = longest + (c.db_l0a == 2 && c.db_l0b == 2 ? 0.1 : 0.6) * rest +
                       (one_block       ? fix
                        : c.db_l0c == 1 ? 0.3 * fix
                                        : 0);
        bool uneven = false;
        for (int i = 0; i < 2; i++) uneven = uneven || (c.single[i] > c.base[i] && c.single[i] % c.base[i]);
        return total * (uneven ? uneven_factor(kUnevenBase, total) : 1) * (one_block ? 1 : kSeveral) *
               (t.c_room && m_blocks > 1 && n_blocks > 1 ? kBothWays : 1);
    }

    bool try_base(const Cut& single, int64_t bm, int64_t bn, Cut& best) const {
        Cut c = single;
        c.base[0] = bm;
        c.base[1] = bn;
        bool free = t.fixed_base[0] <= 0 || t.fixed_base[1] <= 0;
        if (t.c_room && free && bm * bn * t.c_bytes > t.c_room) return false;
        if (bm * bn * 4 > t.l0c || bn * t.bias_bytes > t.bt) return false;
        int64_t k_all = up(c.single[2], unit[2]);
        auto deepest = [&](int share) {
            int64_t k = std::min(int64_t(double(t.l0a) / share / (double(bm) * a_bytes)),
                                 int64_t(double(t.l0b) / share / (double(bn) * b_bytes)));
            if (t.base_max[2] > 0) k = std::min(k, t.base_max[2]);
            return std::min(k / unit[2] * unit[2], k_all);
        };
        int64_t bk = deepest(2);
        c.db_l0a = c.db_l0b = 2;
        int64_t least = std::max(unit[2], std::min(t.base_min[2], k_all));
        if (bk < least) {
            bk = deepest(1);
            c.db_l0a = c.db_l0b = 1;
        }
        c.db_l0c = bm * bn * 8 <= t.l0c ? 2 : 1;
        for (; bk >= unit[2] && bk > 0; bk = bk / 2 / unit[2] * unit[2]) {
            c.base[2] = bk;
            if (bk < least) return false;
            if (!cut_l1(c)) continue;
            c.cost = cost(c);
            if (best.cost == 0 || c.cost < best.cost) best = c;
            return true;
        }
        return false;
    }

    std::vector<int64_t> bases(int axis, int64_t single) const {
        int64_t u = unit[axis], most = up(single, u);
        if (t.fixed_base[axis] > 0) return {t.fixed_base[axis]};
        int64_t lo = t.base_min[axis] > 0 ? std::min(up(t.base_min[axis], u), most) : u,
                hi = t.base_max[axis] > 0 ? t.base_max[axis] / u * u : 512;
        hi = std::max(std::min(hi, most), u);
        std::vector<int64_t> list;
        for (int64_t b : {16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512})
            if (b % u == 0 && b >= lo && b <= hi) list.push_back(b);
        for (int64_t cutting = 1; cutting <= 4; cutting++) {  // equal shares of the core's part
            int64_t b = up(parts(single, cutting), u);
            if (b >= lo && b <= hi) list.push_back(b);
        }
        if (list.empty()) list.push_back(hi);
        return list;
    }

    bool cut_core(const Cut& single, Cut& best) const {
        Cut found;
        for (int64_t bm : bases(0, single.single[0]))
            for (int64_t bn : bases(1, single.single[1])) try_base(single, bm, bn, found);
        if (found.cost == 0) return false;
        double cost = found.cost;
        const int64_t whole[3] = {t.m, t.n, t.k};
        bool uneven = false;
        for (int i = 0; i < 3; i++) uneven = uneven || whole[i] % found.single[i];
        // A kernel that copies an operand into L1 itself is simpler if it takes all of it.
        if ((t.a_l1 && found.dims[0] > 1) || (t.b_l1 && found.dims[1] > 1)) cost *= kCutInL1;
        // of two equal cuts, the one with fewer cores
        found.cost = cost * (uneven ? uneven_factor(kUnevenSingle, cost) : 1) * (1 + 1e-4 * found.cores());
        if (best.cost == 0 || found.cost < best.cost) best = found;
        return true;
    }

    // Lengths that one core may take of an axis, for each number of cores.
    std::vector<int64_t> singles(int axis, int64_t whole, int most) const {
        if (t.fixed_single[axis] > 0) return {t.fixed_single[axis]};
        int64_t step = std::max<int64_t>(t.single_align[axis], 1);
        int64_t grain = t.fixed_base[0] > 0 && axis == 0   ? t.fixed_base[0]
                        : t.fixed_base[1] > 0 && axis == 1 ? t.fixed_base[1]
                                                           : unit[axis];
        grain = std::max<int64_t>(step, grain / step * step);
        std::vector<int64_t> list;
        for (int d = 1; d <= most; d++) {
            for (int64_t g : {grain, step > 1 ? step : unit[axis], int64_t(0)}) {
                int64_t s = g == 0 ? (step == 1 && whole % d == 0 ? whole / d : whole)
                                   : std::min(up(parts(whole, d), g), whole);
                if (s < whole) s = std::min(up(s, step), whole);
                if (t.single_max[axis] > 0 && s > t.single_max[axis]) continue;
                if (t.single_min[axis] > 0 && s < std::min(t.single_min[axis], whole)) continue;
                if (g == 0 && d > 1 && s % unit[axis])
                    continue;  // an even division that is no multiple of a fractal is no use
                if (std::find(list.begin(), list.end(), s) == list.end()) list.push_back(s);
            }
        }
        return list;
    }

    bool run(Cut& best) const {
        best = Cut{};
        for (int64_t sk : singles(2, t.k, t.split_k ? t.cores : 1))
            for (int64_t sm : singles(0, t.m, t.cores))
                for (int64_t sn : singles(1, t.n, t.cores)) {
                    Cut c;
                    c.single[0] = sm;
                    c.single[1] = sn;
                    c.single[2] = sk;
                    int64_t dims[3] = {parts(t.m, sm), parts(t.n, sn), parts(t.k, sk)};
                    // parts of a size that was asked for may be more than the cores: each then takes several
                    bool asked = t.fixed_single[0] > 0 && t.fixed_single[1] > 0;
                    if (dims[0] * dims[1] * dims[2] > t.cores && !asked) continue;
                    for (int i = 0; i < 3; i++) c.dims[i] = int(dims[i]);
                    cut_core(c, best);
                }
        return best.cost > 0;
    }
};

}  // namespace

void base_units(const CutTask& t, int64_t unit[3]) {
    int64_t c0a = 256 / t.a_bits, c0b = 256 / t.b_bits;
    // 8-bit and 4-bit operands are turned in squares of c0; 32-bit ones have c0 = 8 but fractals of 16.
    unit[0] = t.a_trans ? std::max<int64_t>(16, c0a) : 16;
    unit[1] = t.b_trans ? 16 : std::max<int64_t>(16, c0b);
    unit[2] = !t.a_trans && t.b_trans ? std::max(c0a, c0b) : std::max<int64_t>({16, c0a, c0b});
}

bool cut(const CutTask& t, Cut& best) {
    if (t.m <= 0 || t.n <= 0 || t.k <= 0 || t.cores <= 0) return false;
    return Search(t).run(best);
}

}  // namespace twin
