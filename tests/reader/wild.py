"""What readers are asked in tests: functions that behave as hostile bytes make a parser behave."""

import ctypes
import json
import os
import socket
import time


def size(data, *more):
    return [len(data), *more]


def echo(data):
    return data.decode()


def forever(data):
    while True:
        pass


def sleep(data):
    time.sleep(3600)


def raised(data):
    raise ValueError("é" * 5000)


def silent(data):
    raise KeyError


def deep(data):
    return json.loads(data)


def hungry(data):
    return len(bytearray(8 << 30))


def crash(data):
    ctypes.string_at(0)


def number(data):
    return os.getpid()


def much(data):
    return "x" * (40 << 20)


def write(data):
    with open(data, "w") as file:
        file.write("x")
    return "written"


def look(data):
    with open(data) as file:
        return file.read()


def connect(data):
    socket.socket()
