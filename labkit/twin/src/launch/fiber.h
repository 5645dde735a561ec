// A function with its own stack that can stop in the middle and continue later. Cores that wait for one another are
// fibers of one host thread: a launch then needs no thread for each core and runs the same way every time.
#pragma once
#include <ucontext.h>

#include <functional>
#include <memory>

namespace twin {

class Fiber {
public:
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    void begin(std::function<void()> body);  // to run at the next resume
    void resume();                           // returns when the body yields or ends
    void yield();                            // called by the body
    bool done() const { return done_; }
private:
    static void enter(unsigned low, unsigned high);
    ucontext_t here_{}, back_{};
    std::function<void()> body_;
    char* stack_ = nullptr;
    bool done_ = true;
};

}  // namespace twin
