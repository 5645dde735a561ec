#include "launch/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace twin {

// Physical pages are used only as far as the stack grows. What lies below is kept out of use, so that an overflow is a
// fault and reported as one, also where a function steps over megabytes at once.
static constexpr size_t kGuard = 64 << 20, kStack = 1 << 20;

Fiber::Fiber() {
    void* p = mmap(nullptr, kGuard + kStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<char*>(p);
    if (mprotect(stack_ + kGuard, kStack, PROT_READ | PROT_WRITE)) {
        munmap(stack_, kGuard + kStack);
        throw std::bad_alloc();
    }
}

Fiber::~Fiber() { munmap(stack_, kGuard + kStack); }

void Fiber::enter(unsigned low, unsigned high) {
    auto* self = reinterpret_cast<Fiber*>(uintptr_t(low) | uintptr_t(high) << 32);
    self->body_();
    self->done_ = true;
    swapcontext(&self->here_, &self->back_);
}

void Fiber::begin(std::function<void()> body) {
    body_ = std::move(body);
    done_ = false;
    getcontext(&here_);
    here_.uc_stack.ss_sp = stack_ + kGuard;
    here_.uc_stack.ss_size = kStack;
    here_.uc_link = nullptr;
    uintptr_t self = reinterpret_cast<uintptr_t>(this);
    makecontext(&here_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, unsigned(self), unsigned(uint64_t(self) >> 32));
}

void Fiber::resume() { swapcontext(&back_, &here_); }
void Fiber::yield() { swapcontext(&here_, &back_); }

}  // namespace twin
