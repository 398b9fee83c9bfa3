"""Run inside a sandbox: tries to get out, and prints as JSON which tries succeeded. argv: JSON with what to aim at."""

import ctypes
import errno
import json
import os
import signal
import socket
import stat
import sys

aim = json.loads(sys.argv[1])
aim["word"] = aim["drow"][::-1]  # so that it stands on no command line of ours
libc = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"
breaches = []
notes = {}


def attack(function):
    """Any way to return something true is a breach."""
    try:
        found = function()
    except (OSError, ValueError, AttributeError, OverflowError) as failure:
        notes[function.__name__] = str(failure)
        return
    notes[function.__name__] = repr(found)
    if found:
        breaches.append(f"{function.__name__}: {found!r}")


def call(x86, arm, *arguments):
    """A system call that should be refused; true when it was not, and not only for want of sense."""
    status = libc.syscall(ctypes.c_long(arm if ARM else x86), *arguments)
    number = ctypes.get_errno()
    if status >= 0 or number not in (errno.EPERM, errno.ENOSYS, errno.EACCES, errno.EAFNOSUPPORT):
        return f"status {status}, {errno.errorcode.get(number, number)}"
    return None


@attack
def read_secret():
    return open(aim["secret"]).read()


@attack
def read_other_slot():
    return open(aim["other"]).read()


@attack
def read_through_link_in_temp():
    link = os.path.join(os.environ["TMPDIR"], "link")
    os.symlink(aim["secret"], link)
    return open(link).read()


@attack
def read_through_process_1():
    return open(f"/proc/1/root{aim['secret']}").read() or open("/proc/1/environ").read()


@attack
def list_home():
    return [name for name in os.listdir(aim["home"]) if name == ".ssh"]


@attack
def write_outside():
    open(aim["outside"], "w").write("x")
    return aim["outside"]


@attack
def write_over_dependency():
    open(os.__file__, "a").write("#")
    return os.__file__


@attack
def write_through_link_in_temp():
    link = os.path.join(os.environ["TMPDIR"], "folder")
    os.symlink(os.path.dirname(aim["outside"]), link)
    open(os.path.join(link, "through"), "w").write("x")
    return os.path.exists(aim["outside"] + "through") or os.listdir(os.path.dirname(aim["outside"]))


@attack
def hard_link_out():
    os.link(aim["secret"], os.path.join(os.environ["TMPDIR"], "hard"))
    return True


@attack
def change_mode():
    os.chmod(aim["secret"], 0o777)
    return True


@attack
def write_kernel_settings():
    with open("/proc/sys/kernel/core_pattern", "w") as file:
        return file.write("|/bin/false")


@attack
def raw_device():
    return [
        path
        for path in os.listdir("/dev")
        if stat.S_ISBLK(os.stat(f"/dev/{path}").st_mode) and open(f"/dev/{path}", "rb")
    ]


@attack
def make_device():
    path = os.path.join(os.environ["TMPDIR"], "device")
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(254, 0))
    return open(path, "rb").read(1)


@attack
def change_the_machines_device():
    found = os.stat("/dev/full")  # as it is: a machine that lets it happen is left as it was
    os.chmod("/dev/full", stat.S_IMODE(found.st_mode))
    return True


@attack
def touch_the_machines_device():
    os.utime("/dev/full", ns=(os.stat("/dev/full").st_atime_ns, os.stat("/dev/full").st_mtime_ns))
    return True


@attack
def tcp_out():
    return socket.create_connection(("127.0.0.1", aim["tcp"]), 1)


@attack
def udp_out():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.sendto(b"x", ("192.0.2.1", 53))
    return True


@attack
def raw_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)


@attack
def netlink():
    return socket.socket(16, socket.SOCK_RAW, 0)


@attack
def packet_socket():
    return socket.socket(17, socket.SOCK_RAW, 0)


@attack
def abstract_socket():
    sock = socket.socket(socket.AF_UNIX)
    sock.connect("\0" + aim["abstract"])
    return True


@attack
def path_socket():
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(aim["socket"])
    return True


@attack
def kill_victim():
    os.kill(aim["victim"], signal.SIGKILL)
    return aim["apart"] is False


@attack
def kill_coordinator():
    os.kill(aim["coordinator"], 0)
    return aim["apart"] is False


@attack
def environment_of_others():
    pids = [name for name in os.listdir("/proc") if name.isdigit()] if os.access("/proc", os.R_OK) else []
    found = []
    for pid in [*pids, str(aim["coordinator"]), str(aim["victim"]), str(os.getppid())]:
        for name in ("environ", "cmdline", "mem", "maps"):
            try:
                if aim["word"].encode() in open(f"/proc/{pid}/{name}", "rb").read(1 << 16):
                    found.append(f"{pid}/{name}")
            except OSError:
                pass
    return found


@attack
def own_environment():
    return [name for name, value in os.environ.items() if aim["word"] in value]


@attack
def ptrace():
    return call(101, 117, 16, ctypes.c_long(aim["coordinator"]), None, None) or call(
        101, 117, 16, ctypes.c_long(os.getppid()), None, None
    )


@attack
def read_memory():
    return call(310, 270, ctypes.c_long(os.getppid()), None, 0, None, 0, 0)


@attack
def mount():
    return call(165, 40, b"none", b"/", None, ctypes.c_long(1 << 18), None) or call(166, 39, b"/tmp", 2)


@attack
def new_mount_calls():
    return call(430, 430, b"tmpfs", 0) or call(428, 428, -100, b"/", 1) or call(442, 442, -100, b"/", 0, None, 0)


@attack
def unshare():
    return call(272, 97, 0x10000000) or call(308, 268, 0, 0) or call(161, 51, b"/tmp") or call(155, 41, b".", b".")


@attack
def clone_with_namespace():
    status = libc.syscall(ctypes.c_long(220 if ARM else 56), ctypes.c_long(0x10000000 | 17), None, None, None, None)
    if status == 0:
        os._exit(0)
    return status > 0


@attack
def clone3():
    return call(435, 435, None, 0)


@attack
def keyring():
    return call(250, 219, 0, -3, 0) or call(248, 217, b"user", b"x", b"y", 1, -3)


@attack
def bpf_and_perf():
    return call(321, 280, 0, None, 0) or call(298, 241, None, 0, -1, -1, 0) or call(323, 282, 0)


@attack
def io_uring():
    return call(425, 425, 8, None)


@attack
def push_into_terminal():
    status = libc.ioctl(0, ctypes.c_ulong(0x5412), b"x")
    return status == 0 or (ctypes.get_errno() != errno.EPERM and ctypes.get_errno())


@attack
def become_root():
    os.setuid(0 if os.getuid() else 1)
    return True


@attack
def capabilities():
    status = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    return [name for name in ("CapEff", "CapPrm", "CapBnd", "CapInh") if aim["apart"] and int(status[name], 16)]


@attack
def process_1():
    return os.getpid() == 1 and "it is process 1"


@attack
def descriptors():
    return [
        name
        for name in os.listdir("/proc/self/fd")
        if int(name) > 2 and not os.readlink(f"/proc/self/fd/{name}").startswith("/proc/")
    ]


print(json.dumps({"breaches": breaches, "notes": notes}))
