from frame_codec import crc16, decode_stream, encode


def test_crc():
    assert crc16(b"123456789", 9) == 0x906E
    assert crc16(b"123456789xyz", 9) == 0x906E
    assert crc16(b"", 0) == 0


def test_escapes():
    frame = encode(bytes([0x7E, 1, 0x7D]))
    assert frame[:6] == bytes([0x7E, 0x7D, 0x5E, 1, 0x7D, 0x5D])
    assert frame[-1] == 0x7E
    assert decode_stream(frame) == ([bytes([0x7E, 1, 0x7D])], 0)


def test_bad_frames():
    frame = bytearray(encode(b"hello"))
    frame[3] ^= 1
    assert decode_stream(bytes(frame) + b"\x01\x7e") == ([], 2)
    assert decode_stream(b"\x7e\x7e\x7e") == ([], 0)


def test_large_stream():
    payloads = [bytes((i * i + k * 13) % 256 for k in range(40 + i)) for i in range(60)]
    stream = bytearray(b"".join(encode(payload) for payload in payloads))
    stream[500] ^= 0x04
    found, bad = decode_stream(bytes(stream))
    assert bad == 1
    assert len(found) == 59
    assert found[0] == payloads[0]
    assert found[-1] == payloads[-1]
    assert sum(map(len, found)) == 4120
