/* What every PE loads, as one module: each module takes the driver a while, however small it is, and has a state of its own
 * that must be brought there. far.cu stays apart, since most jobs have no use for it. */
#include "combine.cu"
#include "move.cu"
#include "reduce.cu"
#include "sync.cu"
#include "words.cu"
