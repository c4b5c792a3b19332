"""Writers of what the libraries of make.py do not write."""
import struct
import zlib


def bgzip(raw, path, block=4096):
    """Members with their length in an extra field, as bgzip (htslib) writes them; smaller, so that there are many."""
    with open(path, "wb") as out:
        for at in list(range(0, len(raw), block)) + [None]:
            part = b"" if at is None else raw[at:at + block]
            deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
            body = deflate.compress(part) + deflate.flush()
            out.write(struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(body) + 25) + body +
                      struct.pack("<II", zlib.crc32(part), len(part)))


def pages(path, shape, parts, bits, compression, end):
    """A TIFF of one strip a page; shape: rows, columns."""
    out = bytearray(struct.pack(end + "2sHI", b"MM" if end == ">" else b"II", 42, 0))
    link = 4
    for part in parts:
        at = len(out)
        out += part + bytes(len(part) % 2)
        struct.pack_into(end + "I", out, link, len(out))
        tags = ((256, shape[1]), (257, shape[0]), (258, bits), (259, compression), (262, 1), (273, at), (277, 1), (278, shape[0]), (279, len(part)))
        out += struct.pack(end + "H", len(tags)) + b"".join(struct.pack(end + "HHII", tag, 4, 1, value) for tag, value in tags)
        link = len(out)
        out += bytes(4)
    path.write_bytes(out)


def old_lzw(data):
    """Lowest bit first; codes widen one later than in TIFF 5."""
    table, bits, filled, out, now = {bytes([i]): i for i in range(256)}, 0, 0, bytearray(), b""
    width = 9

    def put(code):
        nonlocal bits, filled
        bits |= code << filled
        filled += width
        while filled >= 8:
            out.append(bits & 255)
            bits >>= 8
            filled -= 8

    put(256)
    following = 258
    for byte in data:
        longer = now + bytes([byte])
        if longer in table:
            now = longer
            continue
        put(table[now])
        table[longer] = following
        following += 1
        if following > (1 << width):
            width += 1
        if following == 4095:
            put(256)
            table, width, following = {bytes([i]): i for i in range(256)}, 9, 258
        now = bytes([byte])
    put(table[now])
    put(257)
    return bytes(out) + bytes([bits & 255])


def cfb(streams):
    """A compound file of version 3 with these streams, {"Folder/Name": bytes}: its short ones in the root's, as the format wants."""
    none, last, sector = 0xffffffff, 0xfffffffe, 512
    pad = lambda b, n: b + b"\0" * (-len(b) % n)
    folders = sorted({name.split("/")[0] for name in streams})
    entries, small, small_fat, body, chains = [], b"", [], b"", []
    for name, data in streams.items():
        if len(data) < 4096:
            start, count = len(small) // 64, -(-len(data) // 64)
            small += pad(data, 64)
            small_fat += [start + i + 1 for i in range(count - 1)] + [last]
        else:
            start, count = len(body) // sector, -(-len(data) // sector)
            body += pad(data, sector)
            chains.append((start, count))
        entries.append((name, start, len(data)))
    def place(data):
        nonlocal body
        start, count = len(body) // sector, -(-len(data) // sector)
        body += pad(data, sector)
        chains.append((start, count))
        return start
    small_start = place(small) if small else last
    table = place(struct.pack(f"<{len(small_fat)}I", *small_fat) + b"\xff" * (-4 * len(small_fat) % sector)) if small else last
    rows = [("Root Entry", 5, none, 1, small_start, len(small))] + [(f, 1, none, none, 0, 0) for f in folders]
    rows = [(n, t, i + 1 if t == 1 and i < len(folders) else none, c, s, b) for i, (n, t, _, c, s, b) in enumerate(rows)]
    for k, folder in enumerate(folders):
        mine = [e for e in entries if e[0].split("/")[0] == folder]
        n, t, r, _, s, b = rows[1 + k]
        rows[1 + k] = (n, t, r if k + 1 < len(folders) else none, len(rows), s, b)
        for i, (name, start, size) in enumerate(mine):
            rows.append((name.split("/")[1], 2, len(rows) + 1 if i + 1 < len(mine) else none, none, start, size))
    directory = b"".join(pad(n.encode("utf-16le"), 64) + struct.pack("<HBBIII36xIQ", 2 * len(n) + 2, t, 1, none, r, c, s, b) for n, t, r, c, s, b in rows)
    first = place(pad(directory, sector))
    fat_at = len(body) // sector
    fat = [none] * (128 * (-(-(fat_at + 1) // 128)))
    for start, count in chains:
        fat[start:start + count] = [start + i + 1 for i in range(count - 1)] + [last]
    fat[fat_at] = 0xfffffffd
    head = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 16 + struct.pack("<HHHHH6xIIIIIIIIII", 62, 3, 0xfffe, 9, 6, 0, 1, first, 0, 4096,
                                                                       table, -(-len(small_fat) // 128), last, 0, fat_at)
    return head + struct.pack("<108I", *[none] * 108) + body + struct.pack(f"<{len(fat)}I", *fat)
