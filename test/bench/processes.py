# SPDX-License-Identifier: Apache-2.0
"""For the benches that start programs: what processes use, tables of figures, a clean end."""

import json
import os
import signal
import statistics
import subprocess

TICKS = os.sysconf("SC_CLK_TCK")
HERE = os.path.dirname(os.path.abspath(__file__))


def kube_bin_dir():
    """Where etcd, kube-apiserver and kube-scheduler are; they are built when there are none."""
    if "KUBE_BIN_DIR" in os.environ:
        return os.environ["KUBE_BIN_DIR"]
    command = ["sh", os.path.join(HERE, "..", "e2e", "build-kube.sh")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def end_orderly():
    """On SIGTERM as on Ctrl-C: what was started is stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def cpu_s(pid):
    """User and system time of a process so far."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def machine_cpu_s():
    """What all processes of the machine have used since it started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def resident_kib(pid, peak=False):
    """VmRSS, or the most it ever was."""
    wanted = "VmHWM:" if peak else "VmRSS:"
    with open("/proc/%d/status" % pid) as file:
        return [int(line.split()[1]) for line in file if line.startswith(wanted)][0]


def median(values):
    return statistics.median(values) if values else float("nan")


def print_table(head, rows):
    """Rows of texts, the first column to the left."""
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        cells = [row[0].ljust(widths[0])] + [text.rjust(width)
                                             for text, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def write_json(path, figures):
    if path:
        with open(path, "w") as file:
            json.dump(figures, file, indent=1)
            file.write("\n")
