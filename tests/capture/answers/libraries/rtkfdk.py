"""RTK: FDK of an ellipsoid from 90 views."""

from truth import phase

with phase("import"):
    import itk  # truth: import
    from itk import RTK as rtk  # truth: import

    image = itk.Image[itk.F, 3]  # truth: import
    types = rtk.ConstantImageSource[image], rtk.RayEllipsoidIntersectionImageFilter[image, image], rtk.FDKConeBeamReconstructionFilter[image]  # truth: import
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
for i in range(90):
    geometry.AddProjection(600, 1200, i * 4)


def constant(size, spacing):
    source = types[0].New()
    source.SetSize(size)
    source.SetSpacing([spacing] * 3)
    source.SetOrigin([-0.5 * (s - 1) * spacing for s in size])
    source.Update()
    made = source.GetOutput()
    made.DisconnectPipeline()
    return made


ellipsoid = types[1].New()
ellipsoid.SetInput(constant([128, 128, 90], 2.0))
ellipsoid.SetGeometry(geometry)
ellipsoid.SetAxis([50, 50, 50])
with phase("project"):
    ellipsoid.Update()  # truth: project
fdk = types[2].New()
fdk.SetInput(0, constant([320, 320, 320], 0.5))
fdk.SetInput(1, ellipsoid.GetOutput())
fdk.SetGeometry(geometry)
with phase("fdk"):
    fdk.Update()  # truth: fdk
