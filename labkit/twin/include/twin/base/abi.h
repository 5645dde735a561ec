// The interface between the headers that a kernel includes and the compiled runtime behind them.
//
// Everything here is plain data and extern functions: this is all that the compiler of a kernel sees, so a kernel
// compiles in a fraction of a second. On-chip addresses are byte offsets into one core's memory; GM addresses are real
// pointers into the device arena.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace twin {

// I4: two a byte, for Cast
enum class Dt : uint8_t { F16, BF16, F32, I8, U8, I16, U16, I32, U32, I64, U64, I4, Count };

constexpr uint32_t size_of(Dt t) {
    return t == Dt::I8 || t == Dt::U8 || t == Dt::I4       ? 1
           : t <= Dt::BF16 || t == Dt::I16 || t == Dt::U16 ? 2
           : t >= Dt::I64                                  ? 8
                                                           : 4;
}

// The place of a call in the learner's file; captured by a default argument, so that the learner need not pass it.
// (The constructor's own defaults matter: g++ takes the line of the call only from there.)
struct Here {
    const char* file;
    int line;
    constexpr Here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) : file(f), line(l) {}
};
#define TWIN_HERE ::twin::Here here = ::twin::Here()

enum class Mem : uint8_t { UB, L1, L0A, L0B, L0C, BT, FB, Count };
enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX, Count, All = 15 };

// Every instruction that the timeline can show. One list gives the enum, the names and the keys of the chip's cost
// table.
// clang-format off
#define TWIN_OPS(X) \
    X(Abs) X(Exp) X(Ln) X(Sqrt) X(Rsqrt) X(Reciprocal) X(Relu) X(Not) \
    X(Add) X(Sub) X(Mul) X(Div) X(Max) X(Min) X(And) X(Or) X(AddRelu) X(SubRelu) X(MulAddDst) X(FusedMulAdd) \
    X(MulAddRelu) \
    X(Adds) X(Muls) X(Maxs) X(Mins) X(LeakyRelu) X(ShiftLeft) X(ShiftRight) X(Axpy) \
    X(AddReluCast) X(SubReluCast) X(MulCast) X(AddDeqRelu) X(CastDequant) \
    X(Compare) X(CompareScalar) X(CmpMask) X(Select) X(Cast) X(Duplicate) X(Copy) \
    X(ReduceSum) X(ReduceMax) X(ReduceMin) X(WholeReduceSum) X(WholeReduceMax) X(WholeReduceMin) \
    X(BlockReduceSum) X(BlockReduceMax) X(BlockReduceMin) X(PairReduceSum) \
    X(Gather) X(Gatherb) X(GatherMask) X(Brcb) X(CreateVecIndex) X(Arange) \
    X(Sort32) X(MrgSort) X(Sort) X(TopK) X(Extract) X(Transpose) X(TransDataTo5HD) X(TransData) \
    X(Broadcast) X(Pad) X(UnPad) X(SelectBytes) X(DropOut) \
    X(CopyIn) X(CopyOut) X(CopyInNz) X(Scalar) \
    X(LoadData) X(LoadDataWithTranspose) X(LoadDataWithSparse) X(Fill) X(Mmad) X(MmadWithSparse) X(Fixpipe) X(Matmul) \
    X(Tanh) X(Sin) X(Cos) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Asinh) X(Acosh) X(Atanh) X(Erf) X(Erfc) \
    X(ExpTaylor) X(Log) X(Log2) X(Log10) X(Lgamma) X(Digamma) X(Power) X(Floor) X(Ceil) X(Round) X(Trunc) X(Frac) \
    X(Fmod) X(Sign) X(Xor) X(ClampMax) X(ClampMin) X(AxpyWide) X(CumSum) \
    X(Gelu) X(FasterGelu) X(FasterGeluV2) X(Silu) X(Swish) X(Sigmoid) X(SwiGLU) X(GeGLU) X(ReGlu) \
    X(SoftMax) X(SimpleSoftMax) X(LogSoftMax) X(SoftmaxFlash) X(SoftmaxFlashV2) X(SoftmaxFlashV3) X(SoftmaxGrad) \
    X(SoftmaxGradFront) \
    X(LayerNorm) X(LayerNormRstd) X(DeepNorm) X(RmsNorm) X(BatchNorm) X(GroupNorm) X(LayerNormGrad) \
    X(LayerNormGradBeta) \
    X(Normalize) X(WelfordUpdate) X(WelfordFinalize) \
    X(ReduceMean) X(ReduceProd) X(ReduceAny) X(ReduceAll) X(Sum) X(Mean) X(ReduceXorSum) \
    X(AscendQuant) X(AscendDequant) X(AscendAntiQuant)
// clang-format on
enum class Op : uint16_t {
#define X(name) name,
    TWIN_OPS(X)
#undef X
        Count
};

enum class Cmp : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class Round : uint8_t { None, Rint, Floor, Ceil, Round, Trunc, Odd, Hybrid };

// A range of on-chip memory as an operand. `bytes` is the rest of the tensor from `addr` on. `buf` and `gen` identify
// the allocation and its life, so that use of a tensor after FreeTensor is detected. buf 0: unmanaged.
struct Loc {
    uint32_t addr = 0, bytes = 0;
    uint16_t buf = 0, gen = 0;
    Mem mem = Mem::UB;
    uint8_t pos = 0;  // TPosition
};

// A GM operand: where it starts, and the view that SetGlobalBuffer declared (bytes 0: length not declared).
struct Gm {
    uint8_t* ptr = nullptr;
    const uint8_t* base = nullptr;
    uint64_t bytes = 0;
    bool l2_bypass = false;
};

// blocks x len bytes; strides from start to start, in bytes. pad: DataCopyPad's completion of each block to 32 bytes.
struct Dma {
    uint32_t blocks = 1, len = 0;
    uint64_t src_stride = 0, dst_stride = 0;
    bool pad = false, fill = false;
    uint16_t left = 0, right = 0;  // padded elements
    uint8_t elem = 1;              // bytes of an element
    uint8_t whole = 1;             // documented: len is a multiple of it
    Dt type = Dt::Count;           // of the tensors, where it is known
    uint64_t value = 0;            // bits of the padding value
};
constexpr uint64_t kMostBytes = 0xffffffe0;  // a longer copy is out of bounds all the same

// The mask/repeat form: `times` repeats of 8 blocks of 32 bytes; strides count blocks; mask is one bit a lane.
struct Rep {
    uint64_t mask[2] = {~0ull, ~0ull};
    int32_t times = 1;
    uint32_t asked = 0;  // lanes of a continuous mask
    bool own = true;     // isSetMask: the mask is stored in the register; false: the register's mask is used
    uint16_t dst_blk = 1, src0_blk = 1, src1_blk = 1;
    uint16_t dst_rep = 8, src0_rep = 8, src1_rep = 8;
};

struct Value {  // a scalar operand, in the tensor's own type
    uint64_t bits;
};

// ---- vector: the count form, then the mask/repeat form
void unary(Op, Dt, Loc d, Loc s, int32_t n, Here);
void unary(Op, Dt, Loc d, Loc s, const Rep&, Here);
void binary(Op, Dt, Loc d, Loc a, Loc b, int32_t n, Here);
void binary(Op, Dt, Loc d, Loc a, Loc b, const Rep&, Here);
void scalar(Op, Dt, Loc d, Loc s, Value v, int32_t n, Here);
void scalar(Op, Dt, Loc d, Loc s, Value v, const Rep&, Here);
void cast(Dt to, Dt from, Loc d, Loc s, Round, int32_t n, Here);
void cast(Dt to, Dt from, Loc d, Loc s, Round, const Rep&, Here);
void compare(Cmp, Dt, Loc d, Loc a, Loc b, int32_t n, Here);
void compare(Cmp, Dt, Loc d, Loc a, Value v, int32_t n, Here);
void compare(Cmp, Dt, Loc d, Loc a, Loc b, const Rep&, Here);
void compare(Cmp, Dt, Loc d, Loc a, Value v, const Rep&, Here);
enum class Sel : uint8_t { Mask, TensorScalar, TensorTensor };
bool select_mode_ok(Sel, bool scalar, Loc d, Here);  // whether this mode is for such a src1
void select(Sel, Dt, Loc d, Loc mask, Loc a, Loc b, Value v, int32_t n, Here);
void select(Sel, Dt, Loc d, Loc mask, Loc a, Loc b, Value v, const Rep&, Here);
void duplicate(Dt, Loc d, Value v, int32_t n, Here);
void duplicate(Dt, Loc d, Value v, const Rep&, Here);
void copy_local(Dt, Loc d, Loc s, const Rep&, Here);
void reduce(Op, Dt, Loc d, Loc s, Loc work, int32_t n, bool index, Here);
// WholeReduce*, BlockReduce*, PairReduceSum; with index, dst_blk is the ReduceOrder
void reduce_rep(Op, Dt, Loc d, Loc s, const Rep&, bool index, Here);
float accumulated(Dt);  // GetAccVal

// ---- data movement
void copy_in(Loc d, Gm s, const Dma&, Here);
void copy_out(Gm d, Loc s, const Dma&, Here);

uint8_t* address(Loc);

// ---- synchronisation
void set_flag(Pipe from, Pipe to, int id, Here);
void wait_flag(Pipe from, Pipe to, int id, Here);
void barrier(Pipe, Here);
bool known_pipe(bool there, Pipe, const char* call, Here);  // not there: no flag has such an end
int event_id(Pipe from, Pipe to, bool reserve, Here);
void event_release(Pipe from, Pipe to, int id, Here);

// ---- synchronisation of cores
void cross_set(int mode, Pipe, int id, Here);
void cross_wait(int id, Here);
void sync_all(bool only_vector, Here);
void sync_all(bool only_vector, Gm, Loc, int32_t used, Here);
void block_set(const Gm&, const Loc&, int32_t block, int32_t event, bool only_vector, Here);
void block_wait(const Gm&, const Loc&, int32_t block, int32_t event, bool only_vector, Here);
void group_arrive(const uint8_t* gm, uint32_t member, uint32_t round, Here);
void group_wait(const uint8_t* gm, uint32_t members, uint32_t round, bool listed, Here);
void turn_begin(const Gm&, const Loc&, Here);
void turn_wait(const Gm&, const Loc&, Here);
void turn_pass(const Gm&, const Loc&, Here);
void let_others_run();  // in a loop that reads GM until another core has written

// ---- scalar access: the address of the `size` bytes at `offset`, after all checks. Never null: a refused access gets
// a dummy location. (A pointer and references, because kernels do this in their innermost loops.)
void* element(const Loc&, uint64_t offset, uint32_t size, bool write, Here);
void* element(const Gm&, uint64_t offset, uint32_t size, bool write, Here, const void* value = nullptr);

// ---- system
int64_t block_idx();  // counts cores of this kind
int64_t core_idx();   // counts blocks
int64_t block_num();
int64_t sub_block_idx();
int64_t sub_block_num();
void*& current_pipe();  // where a core keeps its TPipe
int64_t cycles();
void say(const char* fmt, ...);
void dump(Dt, Loc, uint32_t desc, uint32_t n, Here);
void dump(Dt, Gm, uint32_t desc, uint32_t n, Here);
[[noreturn]] void fail_assert(const char* expr, const char* text, Here);
void run_blocks(const char* name, uint32_t blocks, int aic, int aiv, void* stream, const char* call, void* closure,
                Here);

// ---- scalar conversions that half and bfloat16_t need
float half_to_float(uint16_t);
uint16_t float_to_half(float);

}  // namespace twin
