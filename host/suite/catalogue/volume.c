/* The rows of the operations on volumes. */
#include "host/suite/catalogue/inputs.h"
#include "host/suite/catalogue/steps.h"

/* clang-format off */
#define STEP(word, pattern, fill, takes_, text) \
    {.name = "volume_" word, .geometry = "any", .group = "volume", .access_pattern = pattern, .help = text, \
     .input = ARRAY_VOLUME, .output = ARRAY_STEP, .prepare = prepare_noisy_volume, .run = run_volume_step, \
     .check = check_volume, .work = work_declared, .step = fill, .settings = takes_, .apart = 1},
#define FILES(word, text, result, fill, make, run_, check_, work_, takes_) \
    {.name = "volume_" word, .geometry = "any", .group = "volume", .access_pattern = "stream", .help = text, \
     .input = ARRAY_VOLUME, .output = result, .prepare = make, .run = run_, .check = check_, .work = work_, \
     .step = fill, .settings = takes_, .apart = 1, .finish = volume_finish}

static const struct operation rows[] = {
    VOLUME_STEPS(STEP)
    FILES("load_nii", "mapped .nii, nothing read", ARRAY_VIEW, step_same, prepare_nii, run_map, check_loaded, work_map, ""),
    FILES("load_nii_touch", "mapped .nii, every byte read", ARRAY_VIEW, step_same, prepare_nii, run_touch, check_loaded, work_touch, ""),
    FILES("load_nii_crop", "box of a .nii, nothing else read", ARRAY_STEP, step_crop, prepare_nii, run_load, check_loaded, work_file, "start shape"),
    FILES("load_nii_gz", ".nii.gz into memory", ARRAY_STEP, step_same, prepare_nii_gz, run_load, check_loaded, work_file, ""),
    FILES("save_nii", "volume to .nii", ARRAY_FILE, step_same, prepare_save, run_save_nii, check_saved, work_file, ""),
    FILES("save_nii_gz", "volume to .nii.gz", ARRAY_FILE, step_same, prepare_save, run_save_nii_gz, check_saved, work_file, ""),
};
/* clang-format on */
const struct operation_rows volume_operations = {rows, sizeof rows / sizeof *rows};
