"""Frames of a serial line: 0x7E, escaped payload, CRC-16, 0x7E. Ported from the firmware."""

FLAG = 0x7E
ESC = 0x7D


def crc16(buf, length):
    """CRC-16/X-25 over the first length bytes."""
    crc = 0xFFFF
    i = 0
    while i < length:
        crc ^= buf[i]
        bit = 0
        while bit < 8:
            if crc & 1:
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            bit += 1
        i += 1
    return crc ^ 0xFFFF


def encode(payload):
    """Make a frame of a payload."""
    crc = crc16(payload, len(payload))
    out = bytes([FLAG])
    for b in bytes(payload) + bytes([crc & 0xFF, crc >> 8]):
        if b == FLAG or b == ESC:
            out += bytes([ESC, b ^ 0x20])
        else:
            out += bytes([b])
    return out + bytes([FLAG])


def decode_stream(data):
    """Return (payloads, number of bad frames) of a stream; what stands between frames is dropped."""
    payloads = []
    bad = 0
    buf = [0] * 4096
    n = 0
    escaped = False
    i = 0
    while i < len(data):
        c = data[i]
        i += 1
        if c == FLAG:
            if n >= 2:
                crc = buf[n - 2] | (buf[n - 1] << 8)
                if crc16(buf, n - 2) == crc:
                    payloads.append(bytes(buf[0 : n - 2]))
                else:
                    bad += 1
            elif n > 0:
                bad += 1
            n = 0
            escaped = False
            continue
        if c == ESC:
            escaped = True
            continue
        if escaped:
            c ^= 0x20
            escaped = False
        if n < 4096:
            buf[n] = c
            n += 1
    return payloads, bad
