#pragma once
#include "twin/host_tilings.h"
