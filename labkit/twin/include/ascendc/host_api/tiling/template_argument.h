#include "twin/template_argument.h"
