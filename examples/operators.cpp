// Operators as C++ values: a class over tomoprof.h that throws, and a few steps of gradient descent on |A x - y|^2.
//
//     find_package(tomoprof REQUIRED)
//     target_link_libraries(operators PRIVATE tomoprof::tomoprof)
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <tomoprof.h>
#include <vector>

class Operators {
public:
    explicit Operators(const std::string &geometry)
    {
        tomoprof_context_options options = TOMOPROF_CONTEXT_OPTIONS;
        tomoprof_context *c = nullptr;
        if (tomoprof_context_create(&options, &c))
            throw std::runtime_error(tomoprof_error(nullptr));
        context.reset(c);
        tomoprof_model *m = nullptr;
        check(tomoprof_model_parse(c, geometry.data(), geometry.size(), &m));
        model.reset(m);
        tomoprof_model_volume_shape(m, volume);
        tomoprof_model_sinogram_shape(m, views);
    }

    std::vector<float> forward(std::vector<float> &x)
    {
        std::vector<float> y(size(views));
        tomoprof_array ax = array(x, volume), ay = array(y, views);
        check(tomoprof_forward_project(context.get(), model.get(), &ax, &ay));
        return y;
    }

    std::vector<float> back(std::vector<float> &y)
    {
        std::vector<float> x(size(volume));
        tomoprof_array ax = array(x, volume), ay = array(y, views);
        check(tomoprof_back_project(context.get(), model.get(), &ay, &ax));
        return x;
    }

    static std::size_t size(const int64_t shape[3])
    {
        return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
    }

    int64_t volume[3], views[3];

private:
    static tomoprof_array array(std::vector<float> &data, const int64_t n[3])
    {
        return TOMOPROF_ARRAY(data.data(), TOMOPROF_FLOAT32, n[0], n[1], n[2]);
    }

    void check(tomoprof_status status) const
    {
        if (status)
            throw std::runtime_error(tomoprof_error(context.get()));
    }

    struct Free {
        void operator()(tomoprof_context *c) const { tomoprof_context_free(c); }
        void operator()(tomoprof_model *m) const { tomoprof_model_free(m); }
    };
    std::unique_ptr<tomoprof_context, Free> context;
    std::unique_ptr<tomoprof_model, Free> model; // freed before its context
};

int main()
{
    try {
        Operators a("{\"geometry\": \"parallel\", \"sinogram_shape\": [4, 3, 16],"
                    " \"angles\": [0, 0.785, 1.571, 2.356]}");
        std::vector<float> x(Operators::size(a.volume), 1.0f), y = a.forward(x);
        x.assign(x.size(), 0.0f);
        for (int step = 0; step < 20; step++) {
            std::vector<float> r = a.forward(x);
            double sum = 0;
            for (std::size_t i = 0; i < r.size(); i++) {
                r[i] = y[i] - r[i];
                sum += double(r[i]) * r[i];
            }
            if (step % 19 == 0)
                std::printf("step %d: %.4g\n", step, sum);
            std::vector<float> gradient = a.back(r);
            for (std::size_t i = 0; i < x.size(); i++)
                x[i] += 0.01f * gradient[i];
        }
        Operators wrong("{\"geometry\": \"spiral\"}");
    } catch (const std::exception &e) {
        std::printf("%s\n", e.what());
    }
    return 0;
}
