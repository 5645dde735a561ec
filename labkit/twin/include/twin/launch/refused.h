// Vector interfaces that CANN documents for other chips only: a call gives one clear message instead of a page of
// template errors. A kernel's own function of the same name takes precedence.
#pragma once
#include "twin/core/tensor.h"

namespace AscendC {

#define TWIN_NOT_ON_A2(name, instead)                                                                                 \
    template <typename T, auto... options> void name(const LocalTensor<T>&, ...) {                                    \
        static_assert(sizeof(T) == 0,                                                                                 \
                      #name " does not exist on Atlas A2 and A3 (CANN documents it for Ascend 950); here: " instead); \
    }
TWIN_NOT_ON_A2(Neg, "Muls(dst, src, T(-1), count)")
TWIN_NOT_ON_A2(Subs, "Adds with the negated scalar; to take a tensor from a scalar, Muls by -1 and then Adds")
TWIN_NOT_ON_A2(Divs, "Muls with the scalar's reciprocal, or Duplicate the scalar and Div")
TWIN_NOT_ON_A2(Ands, "Duplicate the scalar and And")
TWIN_NOT_ON_A2(Ors, "Duplicate the scalar and Or")
TWIN_NOT_ON_A2(Mull, "Cast to float, or two Muls on the halves of the numbers")
TWIN_NOT_ON_A2(Prelu, "CompareScalar, Mul and Select; LeakyRelu where the slope is one number")
TWIN_NOT_ON_A2(AbsSub, "Sub, then Abs")
TWIN_NOT_ON_A2(FusedAbsSub, "Sub, then Abs")
TWIN_NOT_ON_A2(ExpSub, "Sub, then Exp")
TWIN_NOT_ON_A2(FusedExpSub, "Sub, then Exp")
TWIN_NOT_ON_A2(MulsCast, "Muls, then Cast")
TWIN_NOT_ON_A2(FusedMulsCast, "Muls, then Cast")
TWIN_NOT_ON_A2(Truncate, "Cast(dst, src, RoundMode::CAST_TRUNC, count) from float to float")

}  // namespace AscendC
