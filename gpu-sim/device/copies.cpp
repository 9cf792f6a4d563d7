// Kernels that move elements: contiguous, fill, reverse, fixed_pad.
#include "queue.hpp"
#include <migraphx/gpu/device/contiguous.hpp>
#include <migraphx/gpu/device/fill.hpp>
#include <migraphx/gpu/device/fixed_pad.hpp>
#include <migraphx/gpu/device/reverse.hpp>
#include <cstring>

namespace {

using gpu_sim::now;
using gpu_sim::on_host;
using gpu_sim::queue;
using migraphx::argument;
using migraphx::shape;

// Calls f with the offsets of each element of a tensor in two memories, the last dimension fastest.
template <class F>
void for_each_pair(const std::vector<std::size_t>& lens, const std::vector<std::ptrdiff_t>& a, const std::vector<std::ptrdiff_t>& b, F f)
{
    std::size_t rank = lens.size();
    for(auto n : lens)
        if(n == 0)
            return;
    std::vector<std::size_t> index(rank, 0);
    std::ptrdiff_t x = 0, y = 0;
    for(;;) {
        f(x, y);
        std::size_t axis = rank;
        for(; axis-- > 0;) {
            x += a[axis];
            y += b[axis];
            if(++index[axis] < lens[axis])
                break;
            x -= a[axis] * std::ptrdiff_t(lens[axis]);
            y -= b[axis] * std::ptrdiff_t(lens[axis]);
            index[axis] = 0;
        }
        if(axis == std::size_t(-1))
            return;
    }
}

std::vector<std::ptrdiff_t> signed_strides(const shape& s) { return {s.strides().begin(), s.strides().end()}; }

// Copies the elements of `lens` from one memory to another.
template <std::size_t Size>
void copy_elements(const std::vector<std::size_t>& lens, char* to, const std::vector<std::ptrdiff_t>& to_strides, const char* from, const std::vector<std::ptrdiff_t>& from_strides)
{
    for_each_pair(lens, to_strides, from_strides, [&](auto t, auto f) { std::memcpy(to + t * std::ptrdiff_t(Size), from + f * std::ptrdiff_t(Size), Size); });
}

void copy(const std::vector<std::size_t>& lens, std::size_t size, char* to, const std::vector<std::ptrdiff_t>& to_strides, const char* from, const std::vector<std::ptrdiff_t>& from_strides)
{
    switch(size) {
    case 1: return copy_elements<1>(lens, to, to_strides, from, from_strides);
    case 2: return copy_elements<2>(lens, to, to_strides, from, from_strides);
    case 4: return copy_elements<4>(lens, to, to_strides, from, from_strides);
    case 8: return copy_elements<8>(lens, to, to_strides, from, from_strides);
    default: MIGRAPHX_THROW("gpu-sim: elements of " + std::to_string(size) + " bytes");
    }
}

char* bytes(const argument& a) { return static_cast<char*>(hipsim_host(a.data())); }

} // namespace

namespace migraphx {
inline namespace MIGRAPHX_INLINE_NS {
namespace gpu {
namespace device {

void contiguous(hipStream_t stream, const argument& result, const argument& arg)
{
    if(result.get_shape().type() == shape::tuple_type) {
        auto results = result.get_sub_objects();
        auto args    = arg.get_sub_objects();
        for(std::size_t i = 0; i < results.size(); i++)
            contiguous(stream, results[i], args[i]);
        return;
    }
    queue(stream, "contiguous", {result}, {arg}, [=, result = now(result), arg = now(arg)] {
        const auto& to   = result.get_shape();
        const auto& from = arg.get_shape();
        if(to == from and to.packed())
            std::memmove(bytes(result), bytes(arg), to.bytes());
        else
            copy(to.lens(), to.type_size(), bytes(result), signed_strides(to), bytes(arg), signed_strides(from));
    });
}

void fill(hipStream_t stream, const argument& result, unsigned long value)
{
    if(result.get_shape().type() == shape::tuple_type) {
        for(const auto& part : result.get_sub_objects())
            fill(stream, part, value);
        return;
    }
    queue(stream, "fill", {result}, {}, [=, result = now(result)] {
        on_host(result).visit([&](auto output) {
            using type = std::decay_t<decltype(output[0])>;
            for(std::size_t i = 0; i < output.get_shape().elements(); i++)
                output[i] = type(value);
        });
    });
}

argument reverse(hipStream_t stream, argument result, argument arg, const std::vector<int64_t>& axes)
{
    queue(stream, "reverse", {result}, {arg}, [=, result = now(result), arg = now(arg)] {
        const auto& s = arg.get_shape();
        // From the last element backwards along the reversed axes.
        auto strides         = signed_strides(s);
        std::ptrdiff_t start = 0;
        for(auto axis : axes) {
            start += strides[axis] * (std::ptrdiff_t(s.lens()[axis]) - 1);
            strides[axis] = -strides[axis];
        }
        auto size = s.type_size();
        copy(s.lens(), size, bytes(result), signed_strides(result.get_shape()), bytes(arg) + start * std::ptrdiff_t(size), strides);
    });
    return result;
}

argument fixed_pad(hipStream_t stream, const argument& result, const argument& arg)
{
    queue(stream, "fixed_pad", {result}, {arg}, [=, result = now(result), arg = now(arg)] {
        on_host(result).visit([&](auto output) {
            using type = std::decay_t<decltype(output[0])>;
            for(std::size_t i = 0; i < output.get_shape().elements(); i++)
                output[i] = type(0);
        });
        const auto& from = arg.get_shape();
        const auto& to   = result.get_shape();
        copy(from.lens(), from.type_size(), bytes(result), signed_strides(to), bytes(arg), signed_strides(from));
    });
    return result;
}

} // namespace device
} // namespace gpu
} // namespace MIGRAPHX_INLINE_NS
} // namespace migraphx
