#include "twin/data_type.h"
