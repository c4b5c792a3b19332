"""MBIRJAX and MBIRTorch have the same models; names, devices and random streams differ."""

import numpy as np

from adapters.common import angles


def ct_model(package, geometry):
    shape = tuple(geometry["sinogram_shape"])
    if geometry["geometry"] == "parallel":
        model = package.ParallelBeamModel(shape, angles(geometry))
    else:
        model = package.ConeBeamModel(shape, angles(geometry), source_detector_dist=geometry["source_detector_dist"],
                                      source_iso_dist=geometry["source_iso_dist"])
    model.set_params(verbose=0, no_warning=True)
    if "recon_shape" in geometry:
        model.set_params(recon_shape=tuple(geometry["recon_shape"]), no_warning=True)
    return model


def uneven_weights(shape):
    """Those of tests/gpu."""
    return np.random.default_rng(13).random(shape, dtype=np.float32) + np.float32(0.5)


def operations(package, to_native, wait, direct_names, seeded, fetch=np.asarray):
    """The table of an adapter. to_native(array): the array where the package computes. wait(result): blocks until it is
    there. direct_names: its methods for FBP and FDK. seeded(): arguments of recon that fix the random subsets. fetch:
    the result as a NumPy array."""

    def method(name, takes_input=True):
        def prepare(geometry, array):
            model = ct_model(package, geometry)
            arguments = [to_native(array)] if takes_input else []
            call = getattr(model, name)
            return lambda: wait(call(*arguments, output_sharded=True)), fetch
        return prepare

    def iterations(n, weighted):
        def prepare(geometry, array):
            model = ct_model(package, geometry)
            sinogram = to_native(array)
            more = {"weights": to_native(uneven_weights(array.shape))} if weighted else {}

            def run():
                result, _ = model.recon(sinogram, max_iterations=n, stop_threshold_change_pct=0, logfile_path=None,
                                        print_logs=False, output_sharded=True, **more, **seeded())
                return wait(result)
            return run, fetch
        return prepare

    def median(_, array):
        native = to_native(array)
        return lambda: wait(package.median_filter3d(native)), fetch

    table = {"median_filter3d": median}
    for beam, letters, recon in (("parallel", "fbp", direct_names[0]), ("cone", "fdk", direct_names[1])):
        table[f"{beam}_forward_project"] = method("forward_project")
        table[f"{beam}_back_project"] = method("back_project")
        table[f"{beam}_hessian_diagonal"] = method("compute_hessian_diagonal", takes_input=False)
        table[f"{beam}_{letters}_filter"] = method(f"{letters}_filter")
        table[f"{beam}_{letters}_recon"] = method(recon)
        table[f"{beam}_mbir_recon"] = iterations(1, weighted=False)
        table[f"{beam}_mbir_recon/weighted3"] = iterations(3, weighted=True)
    return table
