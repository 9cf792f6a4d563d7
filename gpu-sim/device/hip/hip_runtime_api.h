// What MIGraphX's headers of device kernels need of HIP.
#pragma once
struct ihipStream_t;
typedef struct ihipStream_t* hipStream_t;
