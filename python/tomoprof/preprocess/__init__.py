"""From the counts of a scanner to a sinogram: names, arguments, defaults and results of mbirjax.preprocess 0.7.3.

    from tomoprof import preprocess
    sinogram = preprocess.scan_to_sino(counts, blank, dark)

Scans and sinograms are (views, detector rows, channels); blank are frames without the object, dark frames without beam. Results are float32
in the library of the input (NumPy, PyTorch on the CPU or JAX), inputs stay as they are. batch_size: so many views are computed at once, which
bounds the memory beside input and result. devices: has no effect."""

from tomoprof._hardening import (apply_beam_hardening_curve, apply_inverse_beam_hardening_curve, fit_beam_hardening_curve,
                                 fit_inverse_beam_hardening_curve)
from tomoprof._segments import apply_cylindrical_mask, compute_scaling_factor, multi_threshold_otsu, segment_plastic_metal
from tomoprof.preprocess._corrections import (BH_correction, correct_background_offset, correct_zinger_pixels, remove_sino_offset)  # noqa: F401
from tomoprof.preprocess._crops import (apply_config_crop, apply_detector_crop, auto_crop_sino, detect_blank_margins, finalize_model, to_alu)  # noqa: F401
from tomoprof.preprocess._files import (load_cone_preprocessing, read_tif_img, read_tif_stack_dir, save_cone_preprocessing)  # noqa: F401
from tomoprof.preprocess._parts import (project_vector_to_vector, put_in_slice, unit_vector)  # noqa: F401
from tomoprof.preprocess._metal import gen_huber_weights  # noqa: F401
from tomoprof.preprocess._plastic_metal import correct_sino_plastic_metal, recon_plastic_metal  # noqa: F401
from tomoprof.preprocess._shifts import align_sino_views, estimate_sino_view_offset, sino_high_pass_filtering  # noqa: F401
from tomoprof.preprocess._stripes import (detect_stripe, generate_column_index_matrix, remove_all_stripe, remove_dead_fluctuating_stripes_interpolation,  # noqa: F401
                                          remove_large_stripes_sorting, remove_small_stripes_sorting, remove_stripe_fw)
from tomoprof.preprocess._scans import (CropError, compute_sino_transmission, correct_det_rotation, crop_view_data, downsample_view_data, interpolate_defective_pixels, scan_to_sino)  # noqa: F401

__all__ = ["BH_correction", "align_sino_views", "apply_beam_hardening_curve", "apply_config_crop", "apply_cylindrical_mask", "apply_detector_crop",
           "apply_inverse_beam_hardening_curve", "auto_crop_sino", "compute_scaling_factor", "compute_sino_transmission", "correct_background_offset",
           "correct_det_rotation", "correct_sino_plastic_metal", "correct_zinger_pixels", "crop_view_data", "detect_blank_margins", "detect_stripe", "downsample_view_data",
           "estimate_sino_view_offset", "finalize_model", "fit_beam_hardening_curve", "fit_inverse_beam_hardening_curve", "gen_huber_weights",
           "generate_column_index_matrix", "interpolate_defective_pixels", "load_cone_preprocessing", "multi_threshold_otsu",
           "project_vector_to_vector", "put_in_slice", "read_tif_img", "read_tif_stack_dir", "recon_plastic_metal",
           "remove_all_stripe",
           "remove_dead_fluctuating_stripes_interpolation", "remove_large_stripes_sorting", "remove_sino_offset", "remove_small_stripes_sorting",
           "remove_stripe_fw", "save_cone_preprocessing", "scan_to_sino", "segment_plastic_metal", "sino_high_pass_filtering", "to_alu",
           "unit_vector"]
