#pragma once
#include "securec.h"
