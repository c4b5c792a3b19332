"""Writes the small files of this folder with the libraries that own their formats. The value of element i (C order) is
(i * i + 3 * i) % 1021 in the file's type, modulo 251 for 8 bits: tests/unit/store/test_store.c computes the same.
Usage: make.py   (pip install numpy h5py hdf5plugin zarr numcodecs tifffile imagecodecs nibabel pylibCZIrw kerchunk mrcfile pynrrd SimpleITK pydicom; tiffcp of libtiff-tools)"""
import gzip
import pathlib
import shutil
import struct
import subprocess
import zlib

import h5py
import hdf5plugin
import nibabel
import numcodecs
import numpy as np
import tifffile
import zarr

from writers import bgzip, cfb, old_lzw, pages

HERE = pathlib.Path(__file__).resolve().parent
SHAPE = (5, 37, 41)
CHUNKS = (3, 20, 24)  # of the Zarr arrays


def values(dtype, shape=SHAPE):
    i = np.arange(np.prod(shape), dtype=np.int64)
    v = (i * i + 3 * i) % 1021
    dtype = np.dtype(dtype)
    return (v % 251 if dtype.itemsize == 1 else v).astype(dtype).reshape(shape)


def npy():
    np.save(HERE / "npy/f4.npy", values("<f4"))
    np.save(HERE / "npy/u2_big.npy", values(">u2"))
    np.save(HERE / "npy/i4_fortran.npy", np.asfortranarray(values("<i4")))


def nifti():
    """nibabel shows (x, y, z) and writes x fastest."""
    for name, kind in (("i2.nii", nibabel.Nifti1Image), ("i2.nii.gz", nibabel.Nifti1Image), ("f4_v2.nii", nibabel.Nifti2Image)):
        image = kind(values("f4" if name[0] == "f" else "i2"), np.diag([0.5, 0.5, 2, 1]))
        nibabel.save(image, HERE / "nifti" / name)
    raw = gzip.decompress((HERE / "nifti/i2.nii.gz").read_bytes())
    bgzip(raw, HERE / "nifti/i2_bgzf.nii.gz")
    half = len(raw) // 2
    (HERE / "nifti/i2_members.nii.gz").write_bytes(gzip.compress(raw[:half], mtime=0) + gzip.compress(raw[half:], mtime=0))


def flat(folder, shape):
    """MRC (also big-endian, with an extended header), NRRD and MetaImage, with their data in the file or beside it, also compressed."""
    import mrcfile
    import nrrd
    import SimpleITK
    x = values("i2", shape)
    for name, dtype in (("u2.mrc", "u2"), ("f4.mrc", "f4")):
        with mrcfile.new(folder / "mrc" / name, overwrite=True) as out:
            out.set_data(values(dtype, shape))
            out.voxel_size = (0.5, 1, 2)
    header = bytearray(1024)
    struct.pack_into(">10i", header, 0, *shape[::-1], 1, 0, 0, 0, *shape[::-1])
    struct.pack_into(">3i", header, 64, 1, 2, 3)
    struct.pack_into(">i", header, 92, 16)
    header[208:216] = b"MAP \x11\x11\0\0"
    (folder / "mrc/i2_big.mrc").write_bytes(header + bytes(16) + x.astype(">i2").tobytes())
    for name, encoding in (("i2.nrrd", "raw"), ("i2_gzip.nrrd", "gzip"), ("i2.nhdr", "raw")):
        nrrd.write(str(folder / "nrrd" / name), x, {"encoding": encoding, "spacings": [2, 1, 0.5]}, detached_header=name.endswith("nhdr"))
    sizes = " ".join(map(str, shape[::-1]))
    (folder / "nrrd/i2_end.nrrd").write_bytes(f"NRRD0004\n# data last\ntype: short\ndimension: 3\nsizes: {sizes}\nencoding: raw\nendian: big\n"
                                              f"byte skip: -1\nspace directions: (0.5,0,0) (0,1,0) (0,0,2)\nkey:=value\n\njunk".encode() + x.astype(">i2").tobytes())
    for name, compress in (("i2.mha", False), ("i2_zlib.mha", True), ("i2.mhd", False)):
        image = SimpleITK.GetImageFromArray(x)
        image.SetSpacing((0.5, 1, 2))
        SimpleITK.WriteImage(image, str(folder / "metaimage" / name), useCompression=compress)
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(np.stack([x, x], -1), isVector=True), str(folder / "metaimage/two.mha"))


def tiff():
    u2, u1, f4 = values("u2"), values("u1"), values("f4")
    write = tifffile.imwrite
    write(HERE / "tiff/u2_pages.tif", u2, photometric="minisblack")
    write(HERE / "tiff/u2_big.tif", u2.astype(">u2"), bigtiff=True, byteorder=">", photometric="minisblack")
    write(HERE / "tiff/u2_deflate_tiles.tif", u2, compression="zlib", predictor=True, tile=(16, 32), photometric="minisblack")
    write(HERE / "tiff/u1_lzw.tif", u1, compression="lzw", rowsperstrip=10, photometric="minisblack")
    write(HERE / "tiff/u2_lzw_predict.tif", u2, compression="lzw", predictor=True, rowsperstrip=10, photometric="minisblack")
    write(HERE / "tiff/f4_predict3.tif", f4, compression="zlib", predictor=True, photometric="minisblack")
    write(HERE / "tiff/u1_packbits.tif", u1, compression="packbits", photometric="minisblack")
    write(HERE / "tiff/u2_zstd.tif", u2, compression="zstd", photometric="minisblack")
    write(HERE / "tiff/u2_imagej.tif", u2, imagej=True)
    folder = HERE / "tiff/stack"
    folder.mkdir()
    for i, view in enumerate(u2):
        write(folder / f"view_{i + 8}.tif", view, photometric="minisblack")  # 8, 9, 10: by number, not by letters


def hdf5():
    u2 = values("u2")
    with h5py.File(HERE / "hdf5/kinds.h5", "w") as f:
        chunks = CHUNKS
        f.create_dataset("contiguous", data=u2)
        f.create_dataset("gzip", data=u2, chunks=chunks, compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("lzf", data=u2, chunks=chunks, compression="lzf")
        f.create_dataset("big", data=values(">u2"), chunks=chunks, compression="gzip")
        f.create_dataset("blosc", data=u2, chunks=chunks, **hdf5plugin.Blosc())
        f.create_dataset("lz4", data=u2, chunks=chunks, **hdf5plugin.LZ4())
        f.create_dataset("zstd", data=u2, chunks=chunks, **hdf5plugin.Zstd())
        f.create_dataset("f8", data=values("f8"), chunks=(5, 37, 41), compression="gzip")
        part = f.create_dataset("holes", SHAPE, "u2", chunks=chunks, fillvalue=7)
        part[0:3, 0:20, 0:24] = u2[0:3, 0:20, 0:24]
        f.create_dataset("text", data="not numbers")
        f["linked"] = h5py.ExternalLink("elsewhere.h5", "/data")
    with h5py.File(HERE / "hdf5/skipped_filter.h5", "w") as f:  # chunks that the filter pipeline left as they were
        d = f.create_dataset("data", SHAPE, "u2", chunks=(1, 37, 41), compression="gzip")
        for i in range(SHAPE[0]):
            raw = u2[i].tobytes()
            d.id.write_direct_chunk((i, 0, 0), raw if i % 2 else zlib.compress(raw), filter_mask=i % 2)


def filters():
    """HDF5's filters beyond its own: bitshuffle with LZ4, zstd and nothing, the bits of Blosc; SZIP in its two ways and widths."""
    u2 = values("u2")
    with h5py.File(HERE / "hdf5/filters.h5", "w") as f:
        f.create_dataset("bitshuffle_lz4", data=u2, chunks=(3, 20, 23), **hdf5plugin.Bitshuffle(cname="lz4"))
        f.create_dataset("bitshuffle_zstd", data=u2, chunks=(3, 20, 23), **hdf5plugin.Bitshuffle(nelems=136, cname="zstd"))
        f.create_dataset("bitshuffle", data=u2, chunks=CHUNKS, **hdf5plugin.Bitshuffle(cname="none"))
        f.create_dataset("bitshuffle_f8", data=values("f8"), chunks=CHUNKS, **hdf5plugin.Bitshuffle(cname="lz4"))
        f.create_dataset("blosc_bits", data=u2, chunks=CHUNKS, **hdf5plugin.Blosc(cname="lz4", shuffle=2))
        f.create_dataset("szip_nn", data=u2, chunks=CHUNKS, compression="szip", compression_opts=("nn", 16))
        f.create_dataset("szip_f8", data=values("f8"), chunks=CHUNKS, compression="szip", compression_opts=("ec", 32))
        f.create_dataset("szip_big", data=values(">u2"), chunks=CHUNKS, compression="szip", compression_opts=("nn", 8))


def zarr2():
    root = HERE / "zarr/zarr2"
    u2 = values("u2")
    kinds = {"raw": dict(compressors=None), "zlib": dict(compressors=numcodecs.Zlib(5)),
             "gzip": dict(compressors=numcodecs.GZip(5)), "zstd": dict(compressors=numcodecs.Zstd(3)),
             "blosc": dict(compressors=numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE)),
             "lz4": dict(compressors=numcodecs.LZ4()), "fortran": dict(compressors=numcodecs.Zlib(5), order="F"),
             "slash": dict(compressors=None, chunk_key_encoding={"name": "v2", "separator": "/"}),
             "shuffle": dict(compressors=numcodecs.Zlib(5), filters=[numcodecs.Shuffle(2)])}
    group = zarr.create_group(root, zarr_format=2)
    for name, how in kinds.items():
        a = group.create_array(name, shape=SHAPE, chunks=CHUNKS, dtype="u2", fill_value=0, **how)
        a[:] = u2
    a = group.create_array("big", shape=SHAPE, chunks=CHUNKS, dtype=">u2", fill_value=0, compressors=None)
    a[:] = u2
    a = group.create_array("holes", shape=SHAPE, chunks=CHUNKS, dtype="u2", fill_value=7, compressors=None)
    a[0:3, 0:20, 0:24] = u2[0:3, 0:20, 0:24]


def rare():
    """HDF5's bzip2 and Blosc2, the latter as frames and as arrays of blocks; TIFF that libtiff alone decodes, LZW as programs wrote it before TIFF 5,
    and 24 bits. CCITT, JBIG and the other order of bits are written by tiffcp."""
    u2, u1 = values("u2"), values("u1")
    with h5py.File(HERE / "hdf5/rare.h5", "w") as f:
        f.create_dataset("bzip2", data=u2, chunks=CHUNKS, **hdf5plugin.BZip2())
        f.create_dataset("bzip2_shuffle", data=values("f8"), chunks=CHUNKS, shuffle=True, **hdf5plugin.BZip2())
        f.create_dataset("blosc2", data=u2, chunks=CHUNKS, **hdf5plugin.Blosc2())
        f.create_dataset("blosc2_f8", data=values("f8"), chunks=CHUNKS, **hdf5plugin.Blosc2(cname="zstd", filters=hdf5plugin.Blosc2.BITSHUFFLE))
    folder = HERE / "tiff_rare"
    write = tifffile.imwrite
    write(folder / "u2_lzma.tif", u2, compression="lzma", rowsperstrip=10, photometric="minisblack")
    write(folder / "u2_lzma_tiles.tif", u2, compression="lzma", tile=(16, 32), byteorder=">", photometric="minisblack")
    write(folder / "f4_lzma_predict.tif", values("f4"), compression="lzma", predictor=True, photometric="minisblack")
    write(folder / "f4_lerc.tif", values("f4"), compression="lerc", photometric="minisblack")
    write(folder / "webp.tif", np.stack([u1[0]] * 3, -1), compression="webp", compressionargs={"level": -1}, photometric="rgb")
    bits = values("u2", (37, 41)) > 500
    write(folder / "bits.tif", bits, photometric="minisblack")
    write(folder / "u2.tif", u2, photometric="minisblack")
    for name, source, options in (("g3", "bits", ["-c", "g3:1d"]), ("g3_2d", "bits", ["-c", "g3:2d"]), ("g4", "bits", ["-c", "g4"]), ("jbig", "bits", ["-c", "jbig"]),
                                  ("g4_reversed", "bits", ["-f", "lsb2msb", "-c", "g4"]), ("u2_reversed", "u2", ["-f", "lsb2msb", "-c", "none"])):
        subprocess.run(["tiffcp", *options, folder / f"{source}.tif", folder / f"{name}.tif"], check=True)
    (folder / "u2.tif").unlink()
    for name, order in (("u4_24bits", "little"), ("u4_24bits_big", "big")):
        pages(folder / f"{name}.tif", SHAPE[1:], [b"".join(int(v).to_bytes(3, order) for v in page.reshape(-1)) for page in values("u4")], 24, 1, ">" if order == "big" else "<")
    pages(folder / "u1_lzw_old.tif", SHAPE[1:], [old_lzw(page.tobytes()) for page in u1], 8, 5, "<")


def dicom():
    """A series of slices, whose files are not in the order of their places; the same as frames of one file, in each compression."""
    import imagecodecs
    import pydicom
    from pydicom import uid
    folder = HERE / "dicom"
    ct, frames = uid.CTImageStorage, uid.MultiFrameGrayscaleWordSecondaryCaptureImageStorage

    def write(path, pixels, syntax=uid.ExplicitVRLittleEndian, body=None, **tags):
        d, several = pydicom.Dataset(), pixels.ndim == 3
        d.file_meta = pydicom.dataset.FileMetaDataset()
        d.file_meta.TransferSyntaxUID = syntax
        d.file_meta.MediaStorageSOPClassUID = d.SOPClassUID = frames if several else ct
        d.file_meta.MediaStorageSOPInstanceUID = d.SOPInstanceUID = f"1.2.{1 + tags.get('InstanceNumber', 0)}"
        d.SeriesInstanceUID, d.StudyInstanceUID, d.Modality = "1.2.3", "1.2", "CT"
        d.Rows, d.Columns = pixels.shape[-2:]
        if several:
            d.NumberOfFrames = len(pixels)
        d.SamplesPerPixel, d.PhotometricInterpretation, d.PixelSpacing = 1, "MONOCHROME2", [0.5, 0.25]
        d.BitsAllocated = d.BitsStored = 8 * pixels.itemsize
        d.HighBit, d.PixelRepresentation = d.BitsStored - 1, int(pixels.dtype.kind == "i")
        for name, value in tags.items():
            setattr(d, name, value)
        d.PixelData = pixels.tobytes() if body is None else pydicom.encaps.encapsulate(body)
        d["PixelData"].VR = "OW" if body is None else "OB"
        pydicom.dcmwrite(path, d, enforce_file_format=True)

    u2, i2 = values("u2"), values("i2")
    for name, scale in (("series", lambda k: (1, -1024)), ("slopes", lambda k: (k + 1, 0))):
        (folder / name).mkdir()
        for k in range(SHAPE[0]):
            slope, intercept = scale(k)
            write(folder / name / f"image{(3 * k + 2) % 5}.dcm", i2[k], InstanceNumber=k + 1, ImagePositionPatient=[1, 2, 3 + 2 * k],
                  ImageOrientationPatient=[1, 0, 0, 0, 1, 0], RescaleSlope=slope, RescaleIntercept=intercept)
    write(folder / "frames.dcm", u2)
    write(folder / "implicit.dcm", u2, uid.ImplicitVRLittleEndian)
    for name, syntax, encode in (("jpeg2000", uid.JPEG2000Lossless, lambda x: imagecodecs.jpeg2k_encode(x, codecformat="j2k", reversible=True, level=0)),
                                 ("jpeg_ls", uid.JPEGLSLossless, imagecodecs.jpegls_encode),
                                 ("jpeg_lossless", uid.JPEGLosslessSV1, lambda x: imagecodecs.ljpeg_encode(x, bitspersample=16))):
        write(folder / f"{name}.dcm", u2, syntax, [encode(x) for x in u2])
    d = pydicom.dcmread(folder / "frames.dcm")
    d.compress(uid.RLELossless)
    d.save_as(folder / "rle.dcm", enforce_file_format=True)


def blosc_parts():
    """Chunks of several blocks, the last one short; elements of 1, 2, 4 and 8 bytes; constant ones, whose matches are long."""
    group = zarr.create_group(HERE / "zarr/blosc_parts.zarr", zarr_format=2)
    on, off, bits = numcodecs.Blosc.SHUFFLE, numcodecs.Blosc.NOSHUFFLE, numcodecs.Blosc.BITSHUFFLE
    kinds = {"u1": ("u1", "lz4", on, 1024), "u2": ("u2", "lz4", on, 1024), "u4": ("u4", "lz4", on, 1024), "f8": ("f8", "lz4hc", on, 512),
             "plain": ("u2", "lz4", off, 1024), "short": ("u2", "lz4", off, 128), "one": ("u2", "lz4", on, 0), "bits": ("u2", "lz4", bits, 2048), "zlib": ("u2", "zlib", on, 2048),
             "whole": ("u4", "lz4", on, 128)}
    for name, (dtype, codec, shuffle, block) in kinds.items():
        data = values(dtype, (3, 30, 33))
        data[1] = 9
        a = group.create_array(name, shape=data.shape, chunks=data.shape, dtype=dtype, fill_value=0, compressors=numcodecs.Blosc(codec, 5, shuffle, block))
        a[:] = data


def zarr3():
    root = HERE / "zarr/zarr3"
    u2 = values("u2")
    group = zarr.create_group(root, zarr_format=3)
    codecs = zarr.codecs
    kinds = {"raw": dict(compressors=None), "gzip": dict(compressors=codecs.GzipCodec(level=5)),
             "zstd": dict(compressors=codecs.ZstdCodec(level=3)), "zstd_crc": dict(compressors=[codecs.ZstdCodec(level=3), codecs.Crc32cCodec()]),
             "blosc": dict(compressors=codecs.BloscCodec(cname="zstd", shuffle="shuffle", typesize=2)),
             "transpose": dict(compressors=codecs.GzipCodec(level=5), filters=[codecs.TransposeCodec(order=(2, 0, 1))]),
             "big": dict(compressors=None, serializer=codecs.BytesCodec(endian="big")),
             "sharded": dict(compressors=codecs.ZstdCodec(level=3), shards=(6, 40, 24), chunks=CHUNKS),
             "v2keys": dict(compressors=None, chunk_key_encoding={"name": "v2", "separator": "."})}
    for name, how in kinds.items():
        a = group.create_array(name, shape=SHAPE, dtype="u2", fill_value=0, **{"chunks": CHUNKS, **how})
        a[:] = u2
    a = group.create_array("sharded_holes", shape=SHAPE, chunks=CHUNKS, shards=(6, 40, 24), dtype="u2", fill_value=7,
                           compressors=codecs.GzipCodec(level=5))
    a[0:3, 0:20, 0:24] = u2[0:3, 0:20, 0:24]


def ome_zarr():
    """Two levels with axes and scales, as version 0.4 has them."""
    group = zarr.create_group(HERE / "zarr/ome.zarr", zarr_format=2)
    u2 = values("u2")
    for path, data in (("0", u2), ("1", u2[:, ::2, ::2])):
        a = group.create_array(path, shape=data.shape, chunks=(1, 32, 32), dtype="u2", fill_value=0,
                               compressors=numcodecs.Zlib(5), chunk_key_encoding={"name": "v2", "separator": "/"})
        a[:] = data
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": [
        {"path": str(i), "coordinateTransformations": [{"type": "scale", "scale": [2.0, 0.5 * 2 ** i, 0.5 * 2 ** i]}]} for i in (0, 1)]}]


def czi():
    """Two by two tiles of 40 x 48 that overlap by 8; later ones lie above. pylibCZIrw writes zstd1 with split bytes."""
    from pylibCZIrw import czi as lib
    for name, options in (("tiles.czi", "zstd1:ExplicitLevel=2;PreProcess=HiLoByteUnpack"), ("raw.czi", "uncompressed:"), ("zstd0.czi", "zstd0:ExplicitLevel=2")):
        with lib.create_czi(str(HERE / "czi" / name), compression_options=options) as out:
            for i in range(2):
                for j in range(2):
                    tile = (values("u2", (40, 48)) + 1021 * (2 * i + j)).astype(np.uint16)
                    out.write(tile[..., None], location=(j * 40, i * 32), plane={"C": 0, "T": 0, "Z": 0})


def others():
    """Files as other programs write them: archives, a block of the user's before HDF5, Analyze, stacks with dimensions, samples of few bits."""
    u2 = values("u2")
    np.savez(HERE / "npy/u2.npz", large=u2, small=np.arange(3))
    np.savez_compressed(HERE / "npy/u2_deflate.npz", u2=np.asfortranarray(u2))
    with zarr.storage.ZipStore(str(HERE / "zarr/u2.zarr.zip"), mode="w") as store:
        zarr.create_array(store, shape=SHAPE, chunks=CHUNKS, dtype="u2", compressors=zarr.codecs.GzipCodec())[:] = u2
    with h5py.File(HERE / "hdf5/user_block.h5", "w", userblock_size=1024) as f:
        f.create_dataset("gzip", data=u2, chunks=CHUNKS, compression="gzip")
        f["contiguous"] = u2
        f["contiguous"].attrs["units"] = "counts"  # a text in a heap
    with h5py.File(HERE / "hdf5/scale_offset.h5", "w") as f:
        for name, digits in (("u2", 0), (">i4", 0), ("f4", 2)):
            f.create_dataset(name.strip(">"), data=values(name), chunks=CHUNKS, scaleoffset=digits)
    with open(HERE / "hdf5/user_block.h5", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(128))
    nibabel.save(nibabel.AnalyzeImage(values("i2"), np.diag([0.5, 0.5, 2, 1])), HERE / "nifti/analyze.hdr")
    stack = np.arange(2 * 3 * 4 * 5 * 6, dtype="u2").reshape(2, 3, 4, 5, 6)
    sizes = {"PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "\u00b5m", "PhysicalSizeY": 0.25, "PhysicalSizeYUnit": "\u00b5m", "PhysicalSizeZ": 2, "PhysicalSizeZUnit": "nm"}
    tifffile.imwrite(HERE / "tiff/stack.ome.tif", stack, metadata={"axes": "TCZYX", "Channel": {"Name": ["DAPI", "GFP", "RFP"]}, **sizes})
    tifffile.imwrite(HERE / "tiff/stack_imagej.tif", stack, imagej=True, resolution=(2, 4), metadata={"axes": "TZCYX", "spacing": 2, "unit": "um", "finterval": 0.1})
    tifffile.imwrite(HERE / "tiff/u2_12bits.tif", u2, bitspersample=12, rowsperstrip=10, photometric="minisblack")
    for bits in (1, 2, 4):
        image = (np.arange(9 * 13).reshape(9, 13) * 7 // 3 % 2 ** bits).astype("u1")
        tifffile.imwrite(HERE / f"tiff/bits{bits}.tif", image.astype(bool) if bits == 1 else image, bitspersample=bits, photometric="minisblack", rowsperstrip=4)


def channels():
    """Two scenes of two tiles in two named channels: element i of channel c in scene s is its value + 1100 c + 2200 s."""
    from pylibCZIrw import czi as lib
    with lib.create_czi(str(HERE / "czi/channels.czi"), compression_options="uncompressed:") as out:
        for s in range(2):
            for c in range(2):
                for j in range(2):
                    tile = (values("u2", (8, 12)) + 1100 * c + 2200 * s).astype(np.uint16)
                    out.write(tile[..., None], location=(100 * s + 12 * j, 0), plane={"C": c, "T": 0, "Z": 0}, scene=s)
        out.write_metadata("channels", channel_names={0: "DAPI", 1: "GFP & more"})


def txrm(shape):
    views, rows, columns = shape
    data = values("u2", shape)
    streams = {"ImageInfo/" + k: struct.pack("<I", v) for k, v in
               (("ImageWidth", columns), ("ImageHeight", rows), ("NoOfImages", views), ("DataType", 5))}
    streams["ImageInfo/Angles"] = np.linspace(-90, 90, views, dtype="<f4").tobytes()
    streams["ImageInfo/PixelSize"] = struct.pack("<f", 1.5)
    for i in range(views):
        streams[f"ImageData{i // 100 + 1}/Image{i + 1}"] = data[i].tobytes()
    return cfb(streams)


def repacked(name, image, code, encode):
    """A CZI of one tile by pylibCZIrw, which writes neither JPEG nor lossless JPEG XR, with its pixels exchanged for what `encode` makes of them."""
    from pylibCZIrw import czi as lib
    path = HERE / "czi" / name
    with lib.create_czi(str(path), compression_options="uncompressed:") as out:
        out.write(image if image.ndim == 3 else image[..., None], location=(0, 0), plane={"C": 0, "T": 0, "Z": 0})
    raw = bytearray(path.read_bytes())
    at = raw.find(b"ZISRAWSUBBLOCK")
    while at >= 0:
        size, = struct.unpack_from("<q", raw, at + 40)
        dims, = struct.unpack_from("<i", raw, at + 48 + 28)
        data = at + 32 + max(256, 48 + 20 * dims) + struct.unpack_from("<i", raw, at + 32)[0]
        shape = {bytes(raw[p:p + 1]): struct.unpack_from("<i", raw, p + 8)[0] for p in range(at + 80, at + 80 + 20 * dims, 20)}
        tile = np.frombuffer(bytes(raw[data:data + size]), image.dtype).reshape((shape[b"Y"], shape[b"X"]) + image.shape[2:])
        packed = encode(tile)
        assert len(packed) < size
        raw[data:data + size] = packed + b"\0" * (size - len(packed))
        struct.pack_into("<q", raw, at + 40, len(packed))
        struct.pack_into("<i", raw, at + 48 + 18, code)
        at = raw.find(b"ZISRAWSUBBLOCK", at + 1)
    at = raw.find(b"ZISRAWDIRECTORY") + 32
    n, entry = struct.unpack_from("<i", raw, at)[0], at + 128
    for _ in range(n):
        struct.pack_into("<i", raw, entry + 18, code)
        entry += 32 + 20 * struct.unpack_from("<i", raw, entry + 28)[0]
    path.write_bytes(raw)


def jxr():
    """A tile whose pixel (y, x) is 1000 + 2 y + 3 x, in lossless JPEG XR of imagecodecs, which pylibCZIrw reads back."""
    from imagecodecs import jpegxr_encode
    from pylibCZIrw import czi as lib
    y, x = np.mgrid[:40, :48]
    ramp = (1000 + 2 * y + 3 * x).astype(np.uint16)
    repacked("jxr.czi", ramp, 4, lambda tile: jpegxr_encode(tile, level=1.0))
    with lib.open_czi(str(HERE / "czi/jxr.czi")) as f:
        assert np.array_equal(f.read()[..., 0], ramp)


def jpeg_czi():
    """JPEG (compression 1), grey and blue-green-red. What czifile reads of it stands beside, blue first as the pixel type says."""
    import czifile
    from imagecodecs import jpeg_encode
    y, x = np.mgrid[:72, :96]
    grey = (128 + 60 * np.sin(x / 9) + 50 * np.cos(y / 7)).astype(np.uint8)
    colour = np.stack([grey, grey[::-1], grey[:, ::-1]], -1)
    for name, image in (("jpeg_grey", grey), ("jpeg_colour", colour)):
        red_first = lambda tile: tile if tile.ndim == 2 else np.ascontiguousarray(tile[..., ::-1])
        repacked(f"{name}.czi", image, 1, lambda tile: jpeg_encode(red_first(tile), level=90))
        np.save(HERE / f"czi/{name}_czi.npy", np.squeeze(czifile.imread(HERE / f"czi/{name}.czi")))


def jpeg():
    """Lossy: what imagecodecs makes of it stands beside."""
    y, x = np.mgrid[:70, :90]
    grey = (128 + 60 * np.sin(x / 9) + 50 * np.cos(y / 7)).astype(np.uint8)
    colour = np.stack([grey, grey[::-1], grey[:, ::-1]], -1)
    for name, image, kind in (("jpeg_grey", grey, "minisblack"), ("jpeg_colour", colour, "rgb")):
        tifffile.imwrite(HERE / f"tiff/{name}.tif", image, compression="jpeg", compressionargs={"level": 90}, tile=(32, 48), photometric=kind)
        np.save(HERE / f"tiff/{name}.npy", tifffile.imread(HERE / f"tiff/{name}.tif"))


def ome5():
    """OME-Zarr 0.5: version 3, its metadata below attributes.ome; level 0 in shards."""
    v = values("u2")
    axes = [{"name": k, "type": "space", "unit": "micrometer"} for k in "zyx"]
    group = zarr.open_group(str(HERE / "zarr/ome5.zarr"), mode="w", zarr_format=3)
    for name, level in (("0", v), ("1", v[:, ::2, ::2])):
        made = group.create_array(name, shape=level.shape, chunks=CHUNKS, shards=(6, 40, 48) if name == "0" else None, dtype="u2",
                                  compressors=zarr.codecs.ZstdCodec(level=3))
        made[...] = level
    scales = [{"path": str(i), "coordinateTransformations": [{"type": "scale", "scale": [2.0, 0.5 * 2**i, 0.5 * 2**i]}]} for i in range(2)]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "x", "axes": axes, "datasets": scales}]}


def references():
    """What kerchunk says of the gzip-compressed dataset of kinds.h5."""
    import json
    import kerchunk.hdf
    with open(HERE / "hdf5/kinds.h5", "rb") as f:
        found = kerchunk.hdf.SingleHdf5ToZarr(f, "kinds.h5", inline_threshold=0).translate()
    keep = {k: v for k, v in found["refs"].items() if k == ".zgroup" or k.split("/")[0] in ("contiguous", "f8", "holes", "big")}
    (HERE / "hdf5/refs.json").write_text(json.dumps({"version": 1, "refs": keep}))


def fuzz():
    """Small files from which the fuzzers begin."""
    from pylibCZIrw import czi as lib
    root = HERE.parents[1] / "fuzz" / "corpus" / "store"
    shutil.rmtree(root, ignore_errors=True)
    shape = (2, 5, 7)
    folder = {name: root / name for name in ("npy", "nifti", "tiff", "czi", "txrm", "refs", "hdf5", "mrc", "nrrd", "metaimage", "zip")}
    for path in folder.values():
        path.mkdir(parents=True)
    flat(root, shape)
    for path in root.glob("*/*.raw"):
        path.unlink()
    u2 = values("u2", shape)
    np.save(folder["npy"] / "u2.npy", u2)
    nibabel.save(nibabel.Nifti1Image(values("i2", shape), np.eye(4)), folder["nifti"] / "one.nii.gz")
    bgzip(gzip.decompress((folder["nifti"] / "one.nii.gz").read_bytes()), folder["nifti"] / "bgzf.nii.gz", 128)
    tifffile.imwrite(folder["tiff"] / "strips.tif", u2, photometric="minisblack", metadata=None)
    tifffile.imwrite(folder["tiff"] / "tiles_big.tif", u2, bigtiff=True, tile=(16, 16), compression="zlib", predictor=True, photometric="minisblack", metadata=None)
    tifffile.imwrite(folder["tiff"] / "lzw.tif", u2, compression="lzw", predictor=True, photometric="minisblack", metadata=None)
    with h5py.File(folder["hdf5"] / "chunks.h5", "w", libver="latest") as f:
        f.create_dataset("data", data=u2, chunks=(1, 3, 4), compression="gzip", shuffle=True)
    with h5py.File(folder["hdf5"] / "old.h5", "w") as f:
        f.create_dataset("data", data=u2, chunks=(1, 3, 4), compression="lzf", fletcher32=True)
    (folder["txrm"] / "small.txrm").write_bytes(txrm(shape))
    with lib.create_czi(str(folder["czi"] / "tiles.czi"), compression_options="zstd1:ExplicitLevel=2;PreProcess=HiLoByteUnpack") as out:
        out.write(values("u2", (6, 7))[..., None], location=(0, 0), plane={"C": 0, "T": 0, "Z": 0})
        out.write(values("u2", (6, 7))[..., None], location=(5, 0), plane={"C": 0, "T": 0, "Z": 0})
    shutil.copy(HERE / "czi/jxr.czi", folder["czi"])
    shutil.copy(HERE / "tiff/jpeg_grey.tif", folder["tiff"] / "jpeg.tif")
    np.savez(folder["zip"] / "two.npz", a=u2, b=np.arange(3))
    np.savez_compressed(folder["zip"] / "deflate.npz", a=u2)
    with zarr.storage.ZipStore(str(folder["zip"] / "zarr3.zip"), mode="w") as store:
        zarr.create_array(store, shape=shape, chunks=(1, 3, 4), dtype="u2", compressors=zarr.codecs.GzipCodec())[:] = u2
    with h5py.File(folder["hdf5"] / "scale_offset.h5", "w") as f:
        f.create_dataset("i", data=u2, chunks=(1, 3, 4), scaleoffset=0)
        f.create_dataset("f", data=values("f4", shape), chunks=(1, 3, 4), scaleoffset=2)
    with h5py.File(folder["hdf5"] / "user_block.h5", "w", userblock_size=512) as f:
        f.create_dataset("data", data=u2, chunks=(1, 3, 4), compression="gzip")
    for name in ("bits1", "bits2", "stack.ome", "stack_imagej"):
        shutil.copy(HERE / f"tiff/{name}.tif", folder["tiff"])
    import base64, json
    raw = u2.tobytes()
    two = {"zarr_format": 2, "shape": shape, "chunks": [2, 5, 7], "dtype": "<u2", "compressor": {"id": "zlib"}, "fill_value": 0, "order": "C", "filters": None}
    three = json.loads((HERE / "zarr/zarr3" / "sharded" / "zarr.json").read_text())
    packed = "base64:" + base64.b64encode(zlib.compress(raw)).decode()
    for name, refs in (("two", {".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps(two), "a/0.0.0": packed}),
                       ("three", {"zarr.json": json.dumps(three), "c/0/0/0": "base64:" + base64.b64encode((HERE / "zarr/zarr3/sharded/c/0/0/0").read_bytes()[-68:]).decode()}),
                       ("files", {".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps({**two, "compressor": None}), "a/0.0.0": ["../x", 0, 140]})):
        (folder["refs"] / (name + ".json")).write_text(json.dumps({"version": 1, "refs": refs}))


def main():
    for path in HERE.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix not in (".py", ".md"):
            path.unlink()
    for room in ("npy", "nifti", "tiff", "hdf5", "zarr", "czi", "txrm", "mrc", "nrrd", "metaimage", "tiff_rare", "dicom"):
        (HERE / room).mkdir()
    for make in (npy, nifti, tiff, hdf5, filters, rare, dicom, zarr2, blosc_parts, zarr3, ome_zarr, ome5, others, czi, channels, jxr, jpeg, jpeg_czi, references, fuzz):
        make()
    flat(HERE, SHAPE)
    (HERE / "txrm/u2.txrm").write_bytes(txrm(SHAPE))


if __name__ == "__main__":
    main()
