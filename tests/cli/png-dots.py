"""Prints what a grey PNG shows, one letter for each square of so many dots: @ dark, . white, + between; and its frame.

    png-dots.py FILE DOTS"""
import sys
import zlib

data, step = open(sys.argv[1], "rb").read(), int(sys.argv[2])
width, height = (int.from_bytes(data[at:at + 4], "big") for at in (16, 20))
assert data[24:26] == b"\x08\x00", "not 8 bits of grey"
packed, at = b"", 8
while at < len(data):
    size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
    packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
    at += size + 12
raw, lines = zlib.decompress(packed), [bytearray(width + 1)]


def predicted(kind, left, above, corner):
    guess = left + above - corner
    near = min((left, above, corner), key=lambda one: abs(guess - one))
    return (0, left, above, (left + above) // 2, near)[kind]


for y in range(height):
    row, above = raw[y * (width + 1):(y + 1) * (width + 1)], lines[-1]
    line = bytearray(width + 1)  # a zero before the first dot
    for x in range(1, width + 1):
        line[x] = (row[x] + predicted(row[0], line[x - 1], above[x], above[x - 1])) % 256
    lines.append(line)
dots = [line[1:] for line in lines[1:]]
frame = {*dots[0], *dots[-1], *(line[0] for line in dots), *(line[-1] for line in dots)}
print(f"{width} x {height}, frame {sorted(frame)}")
for y in range(1 + step // 2, height - 1, step):
    print("".join("." if dot == 255 else "@" if dot < 60 else "+" for dot in dots[y][1 + step // 2:width - 1:step]))
