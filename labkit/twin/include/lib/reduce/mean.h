#pragma once
#include "twin/adv_reduce.h"
