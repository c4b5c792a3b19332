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
    return model


def operations(package, to_native, wait, direct_names, seeded):
    """The table of an adapter. to_native(array): the array where the package computes. wait(result): blocks until it is
    there. direct_names: its methods for FBP and FDK. seeded(): arguments of recon that fix the random subsets."""

    def method(name, takes_input=True):
        def prepare(geometry, array):
            model = ct_model(package, geometry)
            arguments = [to_native(array)] if takes_input else []
            call = getattr(model, name)
            return lambda: wait(call(*arguments, output_sharded=True)), np.asarray
        return prepare

    def one_iteration(geometry, array):
        model = ct_model(package, geometry)
        sinogram = to_native(array)

        def run():
            result, _ = model.recon(sinogram, max_iterations=1, stop_threshold_change_pct=0, logfile_path=None,
                                    print_logs=False, output_sharded=True, **seeded())
            return wait(result)
        return run, np.asarray

    def median(_, array):
        native = to_native(array)
        return lambda: wait(package.median_filter3d(native)), np.asarray

    table = {"median_filter3d": median}
    for beam, letters, recon in (("parallel", "fbp", direct_names[0]), ("cone", "fdk", direct_names[1])):
        table[f"{beam}_forward_project"] = method("forward_project")
        table[f"{beam}_back_project"] = method("back_project")
        table[f"{beam}_hessian_diagonal"] = method("compute_hessian_diagonal", takes_input=False)
        table[f"{beam}_{letters}_filter"] = method(f"{letters}_filter")
        table[f"{beam}_{letters}_recon"] = method(recon)
        table[f"{beam}_mbir_recon"] = one_iteration
    return table
