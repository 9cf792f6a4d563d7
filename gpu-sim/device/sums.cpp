// Kernels that add along an axis: logsoftmax, prefix_scan_sum, nonzero.
#include "queue.hpp"
#include <migraphx/gpu/device/logsoftmax.hpp>
#include <migraphx/gpu/device/nonzero.hpp>
#include <migraphx/gpu/device/prefix_scan_sum.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

using gpu_sim::lines;
using gpu_sim::now;
using gpu_sim::on_host;
using gpu_sim::queue;

namespace migraphx {
inline namespace MIGRAPHX_INLINE_NS {
namespace gpu {
namespace device {

void logsoftmax(hipStream_t stream, const argument& result, const argument& arg, int64_t axis)
{
    queue(stream, "logsoftmax", {result}, {arg}, [=, result = now(result), arg = now(arg)] {
        on_host(result).visit([&](auto output) {
            using type  = std::decay_t<decltype(output[0])>;
            auto input  = on_host(arg).get<type>();
            auto starts = lines(arg.get_shape(), axis);
            auto length = arg.get_shape().lens()[axis];
            for(std::size_t i = 0; i < starts.elements(); i++) {
                auto index = starts.multi(i);
                auto at    = [&](std::size_t k) {
                    index[axis] = k;
                    return double(input(index.begin(), index.end()));
                };
                double greatest = -std::numeric_limits<double>::infinity();
                for(std::size_t k = 0; k < length; k++)
                    greatest = std::max(greatest, at(k));
                double sum = 0;
                for(std::size_t k = 0; k < length; k++)
                    sum += std::exp(at(k) - greatest);
                double log_sum = std::log(sum) + greatest;
                for(std::size_t k = 0; k < length; k++) {
                    double value = at(k) - log_sum;
                    output(index.begin(), index.end()) = type(value);
                }
            }
        });
    });
}

void prefix_scan_sum(hipStream_t stream, const argument& result, const argument& arg, int32_t axis, bool exclusive, bool reverse)
{
    queue(stream, "prefix_scan_sum", {result}, {arg}, [=, result = now(result), arg = now(arg)] {
        on_host(result).visit([&](auto output) {
            using type  = std::decay_t<decltype(output[0])>;
            using wide  = std::conditional_t<std::is_integral<type>{}, type, double>;
            auto input  = on_host(arg).get<type>();
            auto starts = lines(arg.get_shape(), axis);
            auto length = arg.get_shape().lens()[axis];
            for(std::size_t i = 0; i < starts.elements(); i++) {
                auto index = starts.multi(i);
                wide sum   = 0;
                for(std::size_t k = 0; k < length; k++) {
                    index[axis] = reverse ? length - 1 - k : k;
                    auto value  = wide(input(index.begin(), index.end()));
                    if(not exclusive)
                        sum += value;
                    output(index.begin(), index.end()) = type(sum);
                    if(exclusive)
                        sum += value;
                }
            }
        });
    });
}

argument nonzero(hipStream_t stream, const argument& result, const argument& arg)
{
    queue(stream, "nonzero", {result}, {arg}, [=, result = now(result), arg = now(arg)] {
        auto output = on_host(result);
        auto* found = reinterpret_cast<int64_t*>(output.data());
        std::fill_n(found, result.get_shape().elements(), 0);
        on_host(arg).visit([&](auto input) {
            // One row an axis; room for every element in each row.
            auto elements     = arg.get_shape().elements();
            std::size_t count = 0;
            shape order{shape::float_type, arg.get_shape().lens()};
            for(std::size_t i = 0; i < elements; i++) {
                auto index = order.multi(i);
                if(double(input(index.begin(), index.end())) == 0.0)
                    continue;
                for(std::size_t axis = 0; axis < index.size(); axis++)
                    found[axis * elements + count] = int64_t(index[axis]);
                count++;
            }
        });
    });
    return result;
}

} // namespace device
} // namespace gpu
} // namespace MIGRAPHX_INLINE_NS
} // namespace migraphx
