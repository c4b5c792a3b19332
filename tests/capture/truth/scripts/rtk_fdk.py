"""RTK: projections of a sphere, FDK and an iteration of SART on the CPU, on ITK's threads."""

from truth import phase

with phase("import"):
    import itk  # inclusive: import
    from itk import RTK as rtk  # inclusive: import

with phase("load"):
    image_type = itk.Image[itk.F, 3]  # inclusive: load
    geometry = rtk.ThreeDCircularProjectionGeometry.New()  # inclusive: load
    source_type = rtk.ConstantImageSource[image_type]  # inclusive: load
    sphere_type = rtk.RayEllipsoidIntersectionImageFilter[image_type, image_type]  # inclusive: load
    fdk_type = rtk.FDKConeBeamReconstructionFilter[image_type]  # inclusive: load
    sart_type = rtk.SARTConeBeamReconstructionFilter[image_type, image_type]  # inclusive: load
for i in range(60):
    geometry.AddProjection(600, 1200, i * 6)


def constant(size, spacing):
    source = source_type.New()
    source.SetSize(size)
    source.SetSpacing([spacing] * 3)
    source.SetOrigin([-0.5 * (s - 1) * spacing for s in size])
    source.SetConstant(0.0)
    source.Update()
    return result(source)


def result(f):
    image = f.GetOutput()
    image.DisconnectPipeline()  # it outlives its filter
    return image


def sphere():
    f = sphere_type.New()
    f.SetInput(constant([128, 128, 60], 2.0))
    f.SetGeometry(geometry)
    f.SetDensity(1.0)
    f.SetAxis([50, 50, 50])
    f.SetCenter([0, 0, 0])
    f.Update()
    return result(f)


def fdk(projections):
    f = fdk_type.New()
    f.SetInput(0, constant([96, 96, 96], 1.5))
    f.SetInput(1, projections)
    f.SetGeometry(geometry)
    f.Update()
    return result(f)


def sart(projections):
    f = sart_type.New()
    f.SetInput(0, constant([64, 64, 64], 2.25))
    f.SetInput(1, projections)
    f.SetGeometry(geometry)
    f.SetNumberOfIterations(1)
    f.Update()
    return result(f)


with phase("sphere"):
    for i in range(10):
        projections = sphere()  # inclusive: sphere
with phase("fdk"):
    for i in range(3):
        first = fdk(projections)  # inclusive: fdk
with phase("sart"):
    second = sart(projections)  # inclusive: sart
print(round(float(first.GetPixel([48, 48, 48])), 2), round(float(second.GetPixel([32, 32, 32])), 1))
