// Kernels that look for the greatest and the least: argmax, argmin, topk.
#include "queue.hpp"
#include <migraphx/gpu/device/argmax.hpp>
#include <migraphx/gpu/device/argmin.hpp>
#include <migraphx/gpu/device/topk.hpp>
#include <algorithm>
#include <numeric>

namespace {

using gpu_sim::lines;
using gpu_sim::now;
using gpu_sim::on_host;
using gpu_sim::queue;
using migraphx::argument;
using migraphx::shape;

// Position along `axis` of the element that no other is `better` than.
template <class Better>
void best_position(hipStream_t stream, const char* name, const argument& result, const argument& arg, int64_t axis, bool last, Better better)
{
    queue(stream, name, {result}, {arg}, [=, result = now(result), arg = now(arg)] {
        auto output = on_host(result);
        on_host(arg).visit([&](auto input) {
            auto starts = lines(arg.get_shape(), axis);
            auto length = arg.get_shape().lens()[axis];
            auto to     = result.get_shape();
            auto* found = reinterpret_cast<int64_t*>(output.data());
            for(std::size_t i = 0; i < starts.elements(); i++) {
                auto index       = starts.multi(i);
                auto place       = to.index(index);
                std::size_t best = 0;
                auto value       = input(index.begin(), index.end());
                for(std::size_t k = 1; k < length; k++) {
                    index[axis] = k;
                    auto x      = input(index.begin(), index.end());
                    if(better(x, value) or (last and not better(value, x))) {
                        best  = k;
                        value = x;
                    }
                }
                found[place] = int64_t(best);
            }
        });
    });
}

template <class Better>
argument top(hipStream_t stream, const char* name, const argument& values, const argument& positions, const argument& arg, int64_t k, int64_t axis, Better better)
{
    queue(stream, name, {values, positions}, {arg}, [=, values = now(values), positions = now(positions), arg = now(arg)] {
        auto host_positions = on_host(positions);
        auto* ranked        = reinterpret_cast<int64_t*>(host_positions.data());
        on_host(values).visit([&](auto output) {
            using type = std::decay_t<decltype(output[0])>;
            auto input = on_host(arg).get<type>();
            auto starts = lines(arg.get_shape(), axis);
            auto to     = values.get_shape();
            std::vector<int64_t> order(arg.get_shape().lens()[axis]);
            for(std::size_t i = 0; i < starts.elements(); i++) {
                auto index = starts.multi(i);
                auto at    = [&](int64_t position) {
                    index[axis] = position;
                    return input(index.begin(), index.end());
                };
                std::iota(order.begin(), order.end(), 0);
                // Equal values: the first one first.
                std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](auto a, auto b) {
                    auto x = at(a);
                    auto y = at(b);
                    return better(x, y) or (not better(y, x) and a < b);
                });
                for(int64_t j = 0; j < k; j++) {
                    auto value  = at(order[j]);
                    index[axis] = j;
                    // Both results have the same strides: MIGraphX's kernel uses one shape for both.
                    ranked[to.index(index)] = order[j];
                    output(index.begin(), index.end()) = value;
                }
            }
        });
    });
    return argument{{values, positions}};
}

} // namespace

namespace migraphx {
inline namespace MIGRAPHX_INLINE_NS {
namespace gpu {
namespace device {

void argmax(hipStream_t stream, const argument& result, const argument& arg, int64_t axis, bool select_last_index)
{
    best_position(stream, "argmax", result, arg, axis, select_last_index, [](auto a, auto b) { return a > b; });
}

void argmin(hipStream_t stream, const argument& result, const argument& arg, int64_t axis, bool select_last_index)
{
    best_position(stream, "argmin", result, arg, axis, select_last_index, [](auto a, auto b) { return a < b; });
}

argument topk_largest(hipStream_t stream, const argument& val_res, const argument& ind_res, const argument& arg, int64_t k, int64_t axis)
{
    return top(stream, "topk_largest", val_res, ind_res, arg, k, axis, [](auto a, auto b) { return a > b; });
}

argument topk_smallest(hipStream_t stream, const argument& val_res, const argument& ind_res, const argument& arg, int64_t k, int64_t axis)
{
    return top(stream, "topk_smallest", val_res, ind_res, arg, k, axis, [](auto a, auto b) { return a < b; });
}

} // namespace device
} // namespace gpu
} // namespace MIGRAPHX_INLINE_NS
} // namespace migraphx
