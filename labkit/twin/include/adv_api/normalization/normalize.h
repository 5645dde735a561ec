#pragma once
#include "twin/adv_norm.h"
