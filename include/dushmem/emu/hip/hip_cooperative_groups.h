/* HIP's name of the header. */
#include "../cooperative_groups.h"
