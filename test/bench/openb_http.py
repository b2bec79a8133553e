#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packing over the wire: openb pods come in random order, and nothing leaves.

  openb_http.py TOPOFIT [--trace default] [--seeds 42] [--ratio 1.3] [--given]

Starts `topofit serve --cluster` with the nodes of openb and asks it by HTTP as kube-scheduler does:
filter and prioritize among the nodes whose CPU and memory suffice, a winner at random among equal
scores, bind. It keeps books of its own and ends where a placement is illegal. Prints how many
percent of the GPUs are in use when 100 % of them, and in the end `ratio` times as many, have been
asked for. Everything but the choice among equals follows from the seed; that does, too.
"""

import argparse
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import churn

WHOLE = 1000  # thousandths of a GPU; as MiB, so that every fraction can be asked for
START_S = 30


class Node:
    """What is left of a node, by our own books."""

    def __init__(self, row):
        self.name, self.model = row['sn'], row['model']
        self.cpu_milli, self.memory_mib = int(row['cpu_milli']), int(row['memory_mib'])
        self.gpus = {'%s-%d' % (self.name, i): WHOLE for i in range(int(row['gpu']))}

    def document(self):
        devices = [{'id': gpu, 'index': i, 'class': 'nvidia', 'product': self.model,
                    'memoryMiB': WHOLE, 'slots': 100} for i, gpu in enumerate(self.gpus)]
        return {'apiVersion': 'v1', 'kind': 'Node',
                'metadata': {'name': self.name, 'uid': self.name, 'annotations': {
                    'topofit.io/inventory': json.dumps({'devices': devices})}},
                'status': {'allocatable': {'cpu': '%dm' % self.cpu_milli,
                                           'memory': '%dMi' % self.memory_mib}}}

    def has_room(self, pod):
        return self.cpu_milli >= pod.cpu_milli and self.memory_mib >= pod.memory_mib

    def take(self, pod, gpus):
        """Book it. False where it may not be."""
        if len(set(gpus)) != pod.gpus or (pod.models and self.model not in pod.models):
            return False
        for gpu in gpus:
            if self.gpus.get(gpu, 0) < pod.milli:
                return False
            self.gpus[gpu] -= pod.milli
        self.cpu_milli -= pod.cpu_milli
        self.memory_mib -= pod.memory_mib
        return True


class Pod:
    def __init__(self, number, row):
        cpu, memory, gpus, milli, spec = row[1:]
        self.name = 'p%05d' % number
        self.cpu_milli, self.memory_mib, self.gpus = int(cpu), int(memory), int(gpus)
        self.milli = int(milli or 0) if self.gpus else 0
        self.models = spec.split('|') if spec and self.gpus else []

    def document(self):
        wants = {'cpu': '%dm' % self.cpu_milli, 'memory': '%dMi' % self.memory_mib}
        limits = {'nvidia.com/gpu': str(self.gpus)} if self.gpus else {}
        if self.gpus and self.milli < WHOLE:
            limits['nvidia.com/gpumem'] = str(self.milli)
        annotations = {'topofit.io/use-products': ','.join(self.models)} if self.models else {}
        return {'apiVersion': 'v1', 'kind': 'Pod',
                'metadata': {'name': self.name, 'namespace': 'openb', 'uid': self.name,
                             'annotations': annotations},
                'spec': {'containers': [{'name': 'main', 'resources': {'requests': wants,
                                                                       'limits': limits}}]},
                'status': {'phase': 'Pending'}}


class Daemon:
    """topofit serve on two free ports of its own."""

    def __init__(self, topofit, folder, nodes, config):
        dump = os.path.join(folder, 'nodes.json')
        with open(dump, 'w', encoding='ascii') as file:
            json.dump({'apiVersion': 'v1', 'kind': 'List',
                       'items': [node.document() for node in nodes]}, file)
        ports = [free_port(), free_port()]
        self.log = open(os.path.join(folder, 'log'), 'w+', encoding='utf-8')
        self.process = subprocess.Popen(
            [topofit, 'serve', '--cluster', dump, '--listen', '127.0.0.1:%d' % ports[0],
             '--admin-listen', '127.0.0.1:%d' % ports[1], *config], stderr=self.log)
        self.extender, self.admin = (http.client.HTTPConnection('127.0.0.1', port, timeout=60)
                                     for port in ports)
        for _ in range(START_S * 10):
            if self.process.poll() is not None or self.is_ready():
                break
            time.sleep(0.1)

    def is_ready(self):
        try:
            self.admin.request('GET', '/readyz')
            answer = self.admin.getresponse()
            answer.read()
            return answer.status == 200
        except OSError:
            self.admin.close()
            return False

    def ask(self, verb, question):
        # As bytes: a text would be sent in a packet after that of the head, and wait for its answer.
        self.extender.request('POST', '/' + verb, json.dumps(question).encode(),
                              {'Content-Type': 'application/json'})
        return json.loads(self.extender.getresponse().read())

    def gpus_of(self, pod):
        self.admin.request('GET', '/debug/pods/openb/' + pod.name)
        placement = json.loads(self.admin.getresponse().read()).get('placement') or {}
        return (placement.get('containers') or {}).get('main') or []

    def end(self):
        self.process.terminate()
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def place(daemon, pod, nodes, chance):
    """The pod's milli that are in use now: 0 where it found no node."""
    names = [node.name for node in nodes.values() if node.has_room(pod)]
    document = pod.document()
    kept = daemon.ask('filter', {'Pod': document, 'Nodes': None, 'NodeNames': names})['NodeNames']
    if not kept:
        return 0
    scores = {score['Host']: score['Score'] for score in daemon.ask(
        'prioritize', {'Pod': document, 'Nodes': None, 'NodeNames': kept})}
    best = max(scores[name] for name in kept)
    winner = chance.choice([name for name in kept if scores[name] == best])
    error = daemon.ask('bind', {'PodName': pod.name, 'PodNamespace': 'openb', 'PodUID': pod.name,
                                'Node': winner}).get('Error')
    if error:
        sys.exit('%s was not bound to %s: %s' % (pod.name, winner, error))
    gpus = daemon.gpus_of(pod) if pod.gpus else []
    if not nodes[winner].take(pod, gpus):
        sys.exit('%s must not have %s of %s' % (pod.name, gpus, winner))
    return pod.gpus * pod.milli


def run(args, seed, folder):
    """In use of all GPUs: when all of them have been asked for, and at the end."""
    node_list = os.path.join(churn.DATA, 'openb', 'openb_node_list_gpu_node.csv')
    pod_list = os.path.join(churn.DATA, 'openb', 'openb_pod_list_%s.csv' % args.trace)
    nodes = {node.name: node for node in map(Node, churn.read_rows(node_list))}
    total = sum(WHOLE * len(node.gpus) for node in nodes.values())
    chance = random.Random(seed)
    asked = used = 0
    at_full = None
    daemon = Daemon(args.topofit, folder, nodes.values(),
                    churn.mix_options(folder, pod_list) if args.given else [])
    try:
        for number, row in enumerate(churn.arrivals(pod_list, node_list, seed, args.ratio)[1]):
            pod = Pod(number, row)
            asked += pod.gpus * pod.milli
            if at_full is None and asked > total:
                at_full = used
            used += place(daemon, pod, nodes, chance)
    finally:
        daemon.end()
    return 100 * (used if at_full is None else at_full) / total, 100 * used / total


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('topofit')
    parser.add_argument('--trace', choices=churn.OPENB, default='default')
    parser.add_argument('--seeds', default='42')
    parser.add_argument('--ratio', type=float, default=1.3)
    parser.add_argument('--given', action='store_true',
                        help='topofit is told the pods of the trace (packing.workloadFile)')
    args = parser.parse_args()
    figures = []
    for seed in churn.seeds_of(args.seeds):
        with tempfile.TemporaryDirectory() as folder:
            figures.append(run(args, seed, folder))
        print('seed %d: %.2f / %.2f %%' % (seed, *figures[-1]), flush=True)
    if len(figures) > 1:
        print('mean of %d: %.2f / %.2f %%' %
              (len(figures), *(statistics.mean(column) for column in zip(*figures))))


if __name__ == '__main__':
    main()
