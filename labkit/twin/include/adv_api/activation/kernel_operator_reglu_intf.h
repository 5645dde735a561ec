#pragma once
#include "twin/adv_activation.h"
