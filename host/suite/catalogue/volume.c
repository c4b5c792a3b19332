/* The rows of the operations on volumes. */
#include "host/suite/catalogue/volume.h"
#include "host/suite/catalogue/inputs.h"

static enum err run_volume_step(struct run_state *s)
{
    return s->be->ops->volume_step(s->be, &s->step, &s->in.buffer, &s->out.buffer);
}

/* clang-format off */
#define STEP(word, pattern, fill, takes_, text) \
    {.name = "volume_" word, .geometry = "any", .group = "volume", .access_pattern = pattern, .help = text, \
     .input = ARRAY_VOLUME, .output = ARRAY_STEP, .prepare = prepare_noisy_volume, .run = run_volume_step, \
     .check = check_volume, .work = work_declared, .step = fill, .settings = takes_, .apart = 1}
#define FILES(word, text, result, fill, make, run_, check_, work_, takes_) \
    {.name = "volume_" word, .geometry = "any", .group = "volume", .access_pattern = "stream", .help = text, \
     .input = ARRAY_VOLUME, .output = result, .prepare = make, .run = run_, .check = check_, .work = work_, \
     .step = fill, .settings = takes_, .apart = 1, .finish = volume_finish}

static const struct operation rows[] = {
    STEP("z_norm", "stream", step_z_norm, "", "(x - mean) / std, NaN left out"),
    STEP("rescale", "stream", step_rescale, "min max", "least and largest value to min..max [0 1]"),
    STEP("crop", "stream", step_crop, "start shape", "box of a volume [3/4, centred]"),
    STEP("crop_or_pad", "stream", step_crop_or_pad, "shape", "centred, padded with 0 [5/4 3/4 1]"),
    STEP("flip", "stream", step_flip, "axes", "along axes [0]"),
    STEP("flip_all", "stream", step_flip_all, "", "along all three axes"),
    STEP("rot90", "stream", step_rot90, "axes k", "k quarter turns from axis to axis [0,1 1]"),
    STEP("resample_nearest", "gather", step_nearest, "shape", "nearest voxel, half-pixel centres [5/4]"),
    STEP("resample_linear", "gather", step_linear, "shape", "trilinear, half-pixel centres [5/4]"),
    STEP("downsample2", "stream", step_halve, "", "mean of 2x2x2 voxels"),
    STEP("cast", "stream", step_cast, "dtype", "to f16, bf16, i16 or u8, saturating [f16]"),
    STEP("crop_z_norm_cast", "stream", step_fused, "start shape dtype", "the three in one step, no array between"),
    FILES("load_nii", "mapped .nii, nothing read", ARRAY_VIEW, step_same, prepare_nii, run_map, check_loaded, work_map, ""),
    FILES("load_nii_touch", "mapped .nii, every byte read", ARRAY_VIEW, step_same, prepare_nii, run_touch, check_loaded, work_touch, ""),
    FILES("load_nii_crop", "box of a .nii, nothing else read", ARRAY_STEP, step_crop, prepare_nii, run_load, check_loaded, work_file, "start shape"),
    FILES("load_nii_gz", ".nii.gz into memory", ARRAY_STEP, step_same, prepare_nii_gz, run_load, check_loaded, work_file, ""),
    FILES("save_nii", "volume to .nii", ARRAY_FILE, step_same, prepare_save, run_save_nii, check_saved, work_file, ""),
    FILES("save_nii_gz", "volume to .nii.gz", ARRAY_FILE, step_same, prepare_save, run_save_nii_gz, check_saved, work_file, ""),
};
/* clang-format on */
const struct operation_rows volume_operations = {rows, sizeof rows / sizeof *rows};
