/* cuFFT's plans of the steps that transform, with their work area in the back end's memory. */
#include "cuda/prepare/prepare.cuh"

enum err prepare_plan_make(struct cuda_backend *be, struct prepare_plan *p, int64_t n, int64_t rows,
                           const char *doing)
{
    int length = (int)n;
    size_t area = 0;
    TRY(fft_load(&p->fft));
    TRY_FFT(p->fft->create(&p->handle), doing);
    p->ready = 1;
    TRY_FFT(p->fft->no_workspace(p->handle, 0), doing);
    TRY_FFT(p->fft->make(p->handle, 1, &length, NULL, 1, length, NULL, 1, length, CUFFT_C2C,
                         (int)rows, &area),
            doing);
    TRY(workspace_hold(be, "cuFFT", area, &p->area));
    TRY_FFT(p->fft->workspace(p->handle, p->area.ptr), doing);
    TRY_FFT(p->fft->stream(p->handle, be->stream), doing);
    return ERR_OK;
}

void prepare_plan_drop(struct cuda_backend *be, struct prepare_plan *p)
{
    if (p->ready)
        p->fft->destroy(p->handle);
    workspace_drop(be, &p->area);
}
