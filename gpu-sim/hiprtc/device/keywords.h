// Keywords and types of the device language.
#pragma once
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#undef isnan
#undef isinf

#define __device__
#define __host__
#define __global__ __attribute__((visibility("default")))
#define __constant__ static const
// One workgroup runs on one thread at a time, so its shared memory is that thread's.
#define __shared__ static thread_local
#define __launch_bounds__(...)
// An attribute for GPU targets only: `__attribute__(())` is one without content.
#define amdgpu_flat_work_group_size(...)

typedef int8_t __hip_int8_t;
typedef uint8_t __hip_uint8_t;
typedef int16_t __hip_int16_t;
typedef uint16_t __hip_uint16_t;
typedef int32_t __hip_int32_t;
typedef uint32_t __hip_uint32_t;
typedef int64_t __hip_int64_t;
typedef uint64_t __hip_uint64_t;
typedef unsigned int uint;
typedef _Float16 __half;
typedef _Float16 __half2 __attribute__((ext_vector_type(2)));

#ifndef MIGRAPHX_WAVEFRONTSIZE
#define MIGRAPHX_WAVEFRONTSIZE 64
#endif
