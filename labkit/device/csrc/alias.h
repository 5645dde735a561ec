// The same bytes as npu and as CPU tensors: npu arguments become CPU tensors for the length of one call, and the
// results are converted back.
//
// Device memory is host memory, so an operator of the npu needs no copy to run on the CPU. What it does need is a CPU
// tensor over each npu argument, with the same identity (an argument given twice is one alias, two views of a storage
// share one), so that in-place, out= and overlapping arguments behave.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/clone.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>

#include <unordered_map>

#include "allocators.h"

namespace labdev {

using at::Tensor;
constexpr c10::DispatchKeySet kNpuKeys(c10::DispatchKey::PrivateUse1);
constexpr c10::DispatchKeySet kCpuKeys(c10::DispatchKey::CPU);

inline bool is_npu(const Tensor& t) { return t.device().type() == kNpu; }
inline c10::StorageImpl* storage_of(const Tensor& t) {
    return t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

// Position by address: a linear search while there are few, as nearly always; a table for the long lists of _foreach
// operators.
class AddressIndex {
public:
    void add(const void* key, size_t position) {
        if (position < kScan) keys_.push_back(key);
        else more_.emplace(key, position);
    }
    int find(const void* key) const {
        for (size_t i = 0; i < keys_.size(); ++i)
            if (keys_[i] == key) return int(i);
        if (more_.empty()) return -1;
        auto it = more_.find(key);
        return it == more_.end() ? -1 : int(it->second);
    }

private:
    static constexpr size_t kScan = 16;
    c10::SmallVector<const void*, kScan> keys_;
    std::unordered_map<const void*, size_t> more_;
};

// While it is set operators are charged and their results are made, but nothing is computed: what a program costs, by
// its shapes alone. Nobody may look at a value then.
inline bool& shapes_only() {
    static bool on = false;
    return on;
}

class Aliases {
public:
    struct Pair { Tensor npu, cpu; };

    // The CPU tensor over an npu tensor.
    Tensor to_cpu(const Tensor& npu) {
        const int seen = by_npu_.find(npu.unsafeGetTensorImpl());
        if (seen >= 0) return pairs_[size_t(seen)].cpu;
        const auto* from = npu.unsafeGetTensorImpl();
        Tensor cpu = make(alias_storage(storage_of(npu)), kCpuKeys, npu);
        if (from->is_wrapped_number()) cpu.unsafeGetTensorImpl()->set_wrapped_number(true);
        by_npu_.add(from, pairs_.size());
        by_cpu_.add(cpu.unsafeGetTensorImpl(), pairs_.size());
        pairs_.push_back({npu, cpu});
        return cpu;
    }

    // The npu tensor of a CPU kernel's result: the argument itself, a view of one, or a new tensor on `device`.
    Tensor to_npu(Tensor cpu, int device) {
        if (!cpu.defined() || !cpu.device().is_cpu()) return cpu;
        const int seen = by_cpu_.find(cpu.unsafeGetTensorImpl());
        if (seen >= 0) return pairs_[size_t(seen)].npu;
        TORCH_CHECK(cpu.layout() == c10::kStrided, "npu: the simulated device has strided tensors only, not ",
                    cpu.layout());
        // A CPU kernel may return zeros without memory behind them.
        if (cpu._is_zerotensor()) cpu = cpu.clone();
        return make(npu_storage(cpu, device), kNpuKeys, cpu);
    }

    // Copies changes that a kernel made to the shape or the memory of its arguments (out= that had to grow, squeeze_,
    // ...).
    void carry_back() {
        for (const Shared& s : storages_) {
            auto* cpu = s.cpu.unsafeGetStorageImpl();
            const size_t bytes = cpu->nbytes();
            if (cpu->data() == s.data && bytes == s.npu->nbytes()) continue;
            s.npu->set_data_ptr_noswap(to_arena(cpu, s.npu->device().index()));
            s.npu->set_nbytes(bytes);
        }
        for (const Pair& p : pairs_) {
            if (p.npu.is_conj() != p.cpu.is_conj()) p.npu.unsafeGetTensorImpl()->_set_conj(p.cpu.is_conj());
            if (p.npu.is_neg() != p.cpu.is_neg()) p.npu.unsafeGetTensorImpl()->_set_neg(p.cpu.is_neg());
            if (p.npu.sizes() == p.cpu.sizes() && p.npu.strides() == p.cpu.strides() &&
                p.npu.storage_offset() == p.cpu.storage_offset())
                continue;
            p.npu.unsafeGetTensorImpl()->set_sizes_and_strides(p.cpu.sizes(), p.cpu.strides(), p.cpu.storage_offset());
        }
    }

    const c10::SmallVectorImpl<Pair>& pairs() const { return pairs_; }

private:
    struct Shared {
        c10::StorageImpl* npu;
        c10::Storage cpu;
        const void* data;  // what `cpu` pointed to before the call
    };

    static Tensor make(c10::Storage storage, c10::DispatchKeySet keys, const Tensor& like) {
        Tensor t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
        auto* impl = t.unsafeGetTensorImpl();
        impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
        if (like.is_conj()) impl->_set_conj(true);
        if (like.is_neg()) impl->_set_neg(true);
        return t;
    }

    static c10::Storage new_storage(size_t bytes, c10::DataPtr data, c10::Allocator* allocator) {
        return c10::Storage(c10::Storage::use_byte_size_t(), bytes, std::move(data), allocator, /*resizable=*/true);
    }

    c10::Storage alias_storage(c10::StorageImpl* npu) {
        const int seen = by_npu_storage_.find(npu);
        if (seen >= 0) return storages_[size_t(seen)].cpu;
        void* data = npu->mutable_data();
        c10::raw::intrusive_ptr::incref(npu);  // a Python kernel may keep the alias after the call
        c10::DataPtr pointer(data, npu, &drop_storage, c10::Device(c10::DeviceType::CPU));
        c10::Storage cpu = new_storage(npu->nbytes(), std::move(pointer), c10::GetCPUAllocator());
        share(npu, cpu, data);
        return cpu;
    }

    void share(c10::StorageImpl* npu, c10::Storage cpu, const void* data) {
        by_npu_storage_.add(npu, storages_.size());
        by_cpu_storage_.add(cpu.unsafeGetStorageImpl(), storages_.size());
        storages_.push_back({npu, std::move(cpu), data});
    }

    c10::Storage npu_storage(const Tensor& cpu, int device) {
        auto* impl = storage_of(cpu);
        const int seen = by_cpu_storage_.find(impl);
        if (seen >= 0)
            return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storages_[size_t(seen)].npu));
        const bool ours_alone = cpu.use_count() == 1 && cpu.storage().use_count() == 1;
        c10::DataPtr data = ours_alone ? to_arena(impl, device) : keep(impl, device);
        c10::Storage npu = new_storage(impl->nbytes(), std::move(data), npu_allocator());
        // Kept for a second result over the same memory. The memory then has several owners, so its pointer is still in
        // place.
        if (!ours_alone) share(npu.unsafeGetStorageImpl(), cpu.storage(), impl->data());
        return npu;
    }

    // The memory of a CPU storage, moved out of it. Copied only when it does not lie in the arena.
    static c10::DataPtr to_arena(c10::StorageImpl* cpu, int device) {
        if (elsewhere(cpu)) return copied(cpu, device);
        c10::DataPtr data = cpu->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU)));
        if (data) arena().adopt(data.get());
        auto release = data.get_deleter();
        void* p = data.mutable_get();
        return c10::DataPtr(p, data.release_context(), release, npu_device(device));
    }

    // The memory of a CPU storage that has other owners: kept alive, not moved.
    static c10::DataPtr keep(c10::StorageImpl* cpu, int device) {
        if (elsewhere(cpu)) return copied(cpu, device);
        if (cpu->nbytes()) arena().adopt(cpu->mutable_data());
        c10::raw::intrusive_ptr::incref(cpu);
        return c10::DataPtr(cpu->mutable_data(), cpu, &drop_storage, npu_device(device));
    }

    static bool elsewhere(const c10::StorageImpl* cpu) { return cpu->nbytes() && !arena().contains(cpu->data()); }

    static c10::DataPtr copied(const c10::StorageImpl* cpu, int device) {
        c10::DataPtr block = allocate_block(cpu->nbytes(), device);
        std::memcpy(block.get(), cpu->data(), cpu->nbytes());
        arena().mark_written(block.get());
        return block;
    }

    static void drop_storage(void* p) { c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(p)); }

    c10::SmallVector<Pair, 8> pairs_;
    c10::SmallVector<Shared, 8> storages_;
    AddressIndex by_npu_, by_cpu_, by_npu_storage_, by_cpu_storage_;
};

}  // namespace labdev
