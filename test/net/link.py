# SPDX-License-Identifier: Apache-2.0
"""
A network namespace with one link to ours, and what can go wrong on that link.

The namespace has no name and lives as long as the process that holds it, which the kernel ends with
us: nothing is left behind. Rules are made inside it, where the daemon is; so a rule for INPUT means
what comes to the daemon, one for OUTPUT what it sends.
"""

import subprocess

import controlplane

BOTH_WAYS = ("INPUT", "OUTPUT")
TO_DAEMON = ("INPUT",)
FROM_DAEMON = ("OUTPUT",)


def run(*command):
    """What it prints. A failure is an error with what it printed about that."""
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout.decode()


class Link:
    """
    our_address    ours, on this side
    their_address  that of the namespace
    enter          the words in front of a command that shall run there
    """

    def __init__(self, number):
        self.our_address = "10.77.%d.1" % number
        self.their_address = "10.77.%d.2" % number
        self.device = "net%d" % number
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
            preexec_fn=controlplane.die_with_parent)
        if self.holder.stdout.readline() != b"up\n":
            raise RuntimeError("no network namespace")
        self.enter = ["nsenter", "--net=/proc/%d/ns/net" % self.holder.pid, "--"]
        run("ip", "link", "add", self.device, "type", "veth",
            "peer", "name", "eth0", "netns", str(self.holder.pid))
        run("ip", "address", "add", self.our_address + "/24", "dev", self.device)
        run("ip", "link", "set", self.device, "up")
        self.inside("ip", "address", "add", self.their_address + "/24", "dev", "eth0")
        self.inside("ip", "link", "set", "eth0", "up")
        self.inside("ip", "route", "add", "default", "via", self.our_address)

    def inside(self, *command):
        return run(*self.enter, *command)

    def add_rule(self, ways, match, verdict):
        """match: for INPUT or OUTPUT, the words of iptables that say which packets."""
        for way in ways:
            self.inside("iptables", "-A", way, *match(way), *verdict)

    @staticmethod
    def peer_port(port):
        """Packets of connections to this port on our side."""
        return lambda way: ("-p", "tcp", "--sport" if way == "INPUT" else "--dport", str(port))

    @staticmethod
    def peer_address(address):
        return lambda way: ("-s" if way == "INPUT" else "-d", address)

    def lose(self, port, probability):
        """Drop this share of the packets, each way, of connections to our port."""
        self.add_rule(BOTH_WAYS, self.peer_port(port), (
            "-m", "statistic", "--mode", "random", "--probability", str(probability), "-j", "DROP"))

    def swallow(self, port, ways=BOTH_WAYS):
        """A black hole: nobody is told that nothing arrives."""
        self.add_rule(ways, self.peer_port(port), ("-j", "DROP"))

    def swallow_peer(self, address):
        """One of our addresses is gone, as a machine that lost its power."""
        self.add_rule(BOTH_WAYS, self.peer_address(address), ("-j", "DROP"))

    def reset(self, port):
        """Whoever sends to our port is told that there is no such connection."""
        self.add_rule(FROM_DAEMON, self.peer_port(port),
                      ("-j", "REJECT", "--reject-with", "tcp-reset"))

    def kill_connections(self, port):
        """End the daemon's connections to our port, all that there are now."""
        self.inside("ss", "--kill", "--no-header", "dport", "=", str(port))

    def orphaned_bytes(self, port):
        """What the kernel still wants to send to our port though its owner has given it up."""
        said = self.inside("ss", "--tcp", "--numeric", "--no-header", "state", "fin-wait-1",
                           "state", "closing", "state", "last-ack", "dport", "=", str(port))
        # The columns: state, received, to be sent, the two ends.
        return sum(int(line.split()[2]) for line in said.splitlines())

    def slow_down(self, kbit):
        """So much, and no more, to the daemon. A short queue, so that answers are not late."""
        run("tc", "qdisc", "replace", "dev", self.device, "root", "tbf",
            "rate", "%dkbit" % kbit, "burst", "4kb", "limit", "16kb")

    def heal(self):
        self.inside("iptables", "--flush")
        subprocess.run(["tc", "qdisc", "del", "dev", self.device, "root"],
                       stderr=subprocess.DEVNULL, check=False)

    def stop(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
