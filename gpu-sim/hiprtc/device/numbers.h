// Arithmetic of the device language: bits, math, half precision.
#pragma once

// Bits.
constexpr int __popc(unsigned x) { return __builtin_popcount(x); }
constexpr int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
constexpr int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
constexpr int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
constexpr int __ffs(int x) { return __builtin_ffs(x); }
constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }

// Math that C has under other names or for double only.
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline bool isnan(double x) { return x != x; }
inline bool isnan(float x) { return x != x; }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }

// Half precision, through f32.
#define GPUSIM_HALF(name, name2, expression)                                    \
    inline _Float16 name(_Float16 h) { float x = float(h); return _Float16(expression); } \
    inline __half2 name2(__half2 v) { return __half2{name(v.x), name(v.y)}; }
GPUSIM_HALF(__habs, __habs2, fabsf(x))
GPUSIM_HALF(hceil, h2ceil, ceilf(x))
GPUSIM_HALF(hcos, h2cos, cosf(x))
GPUSIM_HALF(hexp, h2exp, expf(x))
GPUSIM_HALF(hexp2, h2exp2, exp2f(x))
GPUSIM_HALF(hexp10, h2exp10, powf(10, x))
GPUSIM_HALF(hfloor, h2floor, floorf(x))
GPUSIM_HALF(hlog, h2log, logf(x))
GPUSIM_HALF(hlog2, h2log2, log2f(x))
GPUSIM_HALF(hlog10, h2log10, log10f(x))
GPUSIM_HALF(hrsqrt, h2rsqrt, 1 / sqrtf(x))
GPUSIM_HALF(hsin, h2sin, sinf(x))
GPUSIM_HALF(hsqrt, h2sqrt, sqrtf(x))
#undef GPUSIM_HALF
inline bool __hisnan(_Float16 x) { return x != x; }
inline bool __hisinf(_Float16 x) { return __builtin_isinf(float(x)); }
inline __half2 __hisnan2(__half2 v) { return __half2{_Float16(__hisnan(v.x)), _Float16(__hisnan(v.y))}; }
inline __half2 __hisinf2(__half2 v) { return __half2{_Float16(__hisinf(v.x)), _Float16(__hisinf(v.y))}; }
inline _Float16 __hmax(_Float16 a, _Float16 b) { return a < b ? b : a; }
inline _Float16 __hmin(_Float16 a, _Float16 b) { return b < a ? b : a; }

// The compiler calls these for bf16; libgcc has them from GCC 13 on only.
namespace gpusim {
inline __bf16 round_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    // To nearest, ties to even; a NaN stays one.
    bits = x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint16_t top = uint16_t(bits);
    __bf16 result;
    memcpy(&result, &top, 2);
    return result;
}
}
extern "C" {
__attribute__((used, visibility("hidden"))) inline __bf16 __truncsfbf2(float x) { return gpusim::round_bf16(x); }
__attribute__((used, visibility("hidden"))) inline __bf16 __truncdfbf2(double x) { return gpusim::round_bf16(float(x)); }
}
