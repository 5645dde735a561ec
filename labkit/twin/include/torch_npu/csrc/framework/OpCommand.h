// A launch through torch_npu's host queue: it is executed after the operators that were called before it.
//
//   auto stream = c10_npu::getCurrentNPUStream().stream(false);
//   at_npu::native::OpCommand::RunOpApi("my_op", [=]() -> int { kernel<<<blocks, nullptr, stream>>>(...); return 0; });
#pragma once
#include <c10/util/Exception.h>

#include <functional>
#include <string>

#include "torch_npu/adapter.h"

namespace at_npu::native {

using PROC_FUNC = std::function<int()>;

class OpCommand {
public:
    OpCommand& Name(const std::string& name) {
        name_ = name;
        return *this;
    }
    OpCommand& SetCustomHandler(PROC_FUNC function) {
        function_ = std::move(function);
        return *this;
    }
    void Run() {
        TORCH_CHECK(function_,
                    "OpCommand: on the twin an operator of its own needs SetCustomHandler(); CANN's ready operators "
                    "are not there");
        RunOpApi(name_, function_);
    }
    static void RunOpApi(const std::string& name, const PROC_FUNC& function, bool = false) {
        struct Inside {
            bool outer = labkit::queued();
            Inside() { labkit::queued() = true; }
            ~Inside() { labkit::queued() = outer; }
        } inside;
        const int status = function();
        TORCH_CHECK(status == 0, name, ": the handler returned ", status, "; 0 means that all is well");
    }
    static void RunOpApiV2(const std::string& name, const PROC_FUNC& function, bool sync = false) {
        RunOpApi(name, function, sync);
    }

private:
    std::string name_;
    PROC_FUNC function_;
};

}  // namespace at_npu::native
