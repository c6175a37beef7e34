/* Part of hip_runtime.h here. */
#include "hip_runtime.h"
