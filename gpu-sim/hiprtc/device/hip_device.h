// Included before a MIGraphX kernel when it is built for the CPU: the names of HIP's device language
// that MIGraphX's kernels use. What is missing here is a compiler error that names it.
#pragma once
#include "keywords.h"
#include "scheduler.h"
#include "lanes.h"
#include "numbers.h"
#include "atomics.h"
