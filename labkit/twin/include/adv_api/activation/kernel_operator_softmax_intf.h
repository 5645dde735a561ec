#pragma once
#include "twin/adv_softmax.h"
