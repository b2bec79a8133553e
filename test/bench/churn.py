#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads for `topofit simulate`, and the table of docs/howto/simulate-a-workload.md.

  churn.py generate DIR [--seed N] [--jobs N] [--load X]   jobs.csv and one list of nodes per machine
  churn.py arrivals PODS NODES [--seed N] [--ratio 1.3]    openb pods in random order, as published
  churn.py table TOPOFIT [--seeds 1-100|none] [--loads 0.9,1.2] [--openb-seeds 42|none] [--given]
                         [--options ...]                  runs everything and prints the table

--given: topofit is told the pods of each openb trace (packing.workloadFile) instead of learning them.

Everything follows from the seed. Python's own generator is used, so figures differ a little from
those published for openb, whose seeds are those of Go.
"""

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data')
GPUS = 8
# name, matrix; 12 machines of 8 GPUs each, and one list of all three kinds
MACHINES = [
    ('dgx-1v', '01-dgx1-v100-hybrid-cube-mesh.txt'),
    ('a40', '16-8xa40-nvlink-bridge-pairs.txt'),
    ('hgx-h100', '04-hgx-h100-8-2numa.txt'),
]
MACHINE_COUNT = 12
# GPUs of a job, and its part of all jobs
SIZES = [(1, 0.40), (2, 0.30), (4, 0.20), (8, 0.10)]
MEAN_HOURS = 4.0
OPENB = ['default', 'cpu100', 'gpushare40', 'gpuspec10', 'multigpu20']


def jobs_of(seed, count, load, gpus):
    """Jobs that ask, over the long run, for `load` times the GPUs there are."""
    chance = random.Random(seed)
    mean_gpus = sum(size * part for size, part in SIZES)
    gap_s = mean_gpus * MEAN_HOURS * 3600 / (load * gpus)
    now = 0.0
    for number in range(count):
        now += chance.expovariate(1 / gap_s)
        size = chance.choices([s for s, _ in SIZES], [p for _, p in SIZES])[0]
        # Training jobs: most are short, a few are very long.
        duration = chance.lognormvariate(0, 1.2) * MEAN_HOURS * 3600 / 2.054
        yield ['job-%05d' % number, '%.0f' % now, '%.0f' % max(60, duration), size]


def write_csv(path, header, rows):
    with open(path, 'w', newline='', encoding='ascii') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(header)
        writer.writerows(rows)


def node_lists():
    """Name of each list, and its rows."""
    def row(name, matrix, count):
        return [name, count, os.path.realpath(os.path.join(DATA, 'topologies', matrix))]
    lists = [(name, [row(name, matrix, MACHINE_COUNT)]) for name, matrix in MACHINES]
    third = MACHINE_COUNT // len(MACHINES)
    lists.append(('mixed', [row(name, matrix, third) for name, matrix in MACHINES]))
    return lists


def generate(folder, seed, jobs, load):
    os.makedirs(folder, exist_ok=True)
    write_csv(os.path.join(folder, 'jobs.csv'), ['name', 'arrival_s', 'duration_s', 'gpus'],
              jobs_of(seed, jobs, load, MACHINE_COUNT * GPUS))
    for name, rows in node_lists():
        write_csv(os.path.join(folder, 'nodes-%s.csv' % name), ['name', 'count', 'topology'], rows)


def read_rows(path):
    with open(path, newline='', encoding='ascii') as file:
        return list(csv.DictReader(file))


def arrivals(pods_path, nodes_path, seed, ratio):
    """The protocol of the openb experiments: all pods shuffled, then drawn again up to the ratio."""
    chance = random.Random(seed)
    pods = sorted(read_rows(pods_path), key=lambda pod: pod['name'])
    target = ratio * 1000 * sum(int(node['gpu']) for node in read_rows(nodes_path))

    def milli(pod):
        return int(pod['num_gpu']) * int(pod['gpu_milli'])
    order = pods[:]
    chance.shuffle(order)
    total = sum(milli(pod) for pod in order)
    while total > target:
        total -= milli(order.pop(chance.randrange(len(order))))
    while True:
        pod = chance.choice(pods)
        if total + int(pod['gpu_milli']) > target:
            break
        total += milli(pod)
        order.append(pod)
    columns = ['name', 'cpu_milli', 'memory_mib', 'num_gpu', 'gpu_milli', 'gpu_spec']
    return columns, [[pod.get(column) or '' for column in columns] for pod in order]


# --- the table -----------------------------------------------------------------------------------

COLUMNS = ['workload', 'way', 'allocated', 'quality', 'mean wait', 'never placed']


def simulate(topofit, jobs, nodes, options=()):
    """The report of each way."""
    done = subprocess.run([topofit, 'simulate', '-w', jobs, '-n', nodes, '-o', 'json', *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    ways = json.loads(done.stdout)['ways']
    for way in ways:
        if way['illegal'] or way['refusedBinds']:
            sys.exit('%s: %d illegal placements, %d refused binds' %
                     (way['way'], way['illegal'], way['refusedBinds']))
    return {way['way']: way for way in ways}


def mean_of(reports, way, key):
    values = [report[way][key] for report in reports if report[way][key] is not None]
    return statistics.mean(values) if values else None


def show(value, form):
    return '-' if value is None else form % value


def percent(reports, way, key):
    return show(100 * mean_of(reports, way, key), '%.2f')


def churn_figures(reports, way):
    return [percent(reports, way, 'allocatedMean') + ' %',
            show(mean_of(reports, way, 'qualityMean'), '%.3f'),
            show(mean_of(reports, way, 'waitMeanSeconds') / 60, '%.0f min'),
            show(mean_of(reports, way, 'never'), '%.0f')]


def openb_figures(reports, way):
    return ['%s / %s %%' % (percent(reports, way, 'allocatedAtFullLoad'),
                            percent(reports, way, 'allocatedAtEnd')),
            '-', '-', show(mean_of(reports, way, 'never'), '%.0f')]


def rows_of(title, reports, figures_of):
    """A row per way; ways with the same figures share one."""
    ways = {}
    for way in reports[0]:
        ways.setdefault(tuple(figures_of(reports, way)), []).append(way)
    for figures, names in ways.items():
        yield [title, ', '.join(names), *figures]


def seeds_of(text):
    first, _, last = text.partition('-')
    return range(int(first), int(last or first) + 1)


def table_churn(args, folder):
    for load in (float(load) for load in args.loads.split(',')):
        for name, _ in node_lists():
            reports = []
            for seed in seeds_of(args.seeds):
                generate(folder, seed, args.jobs, load)
                reports.append(simulate(args.topofit, os.path.join(folder, 'jobs.csv'),
                                        os.path.join(folder, 'nodes-%s.csv' % name), args.options))
            yield from rows_of('churn at %.0f %%, %s' % (100 * load, name), reports, churn_figures)


def mix_options(folder, pods):
    """Options with which topofit knows beforehand what comes."""
    config = os.path.join(folder, 'mix.yaml')
    with open(config, 'w', encoding='utf-8') as file:
        json.dump({'packing': {'workloadFile': os.path.realpath(pods)}}, file)
    return ['--config', config]


def table_openb(args, folder):
    nodes = os.path.join(DATA, 'openb', 'openb_node_list_gpu_node.csv')
    jobs = os.path.join(folder, 'arrivals.csv')
    for name in OPENB:
        reports = []
        for seed in seeds_of(args.openb_seeds):
            pods = os.path.join(DATA, 'openb', 'openb_pod_list_%s.csv' % name)
            write_csv(jobs, *arrivals(pods, nodes, seed, 1.3))
            options = mix_options(folder, pods) if args.given else []
            reports.append(simulate(args.topofit, jobs, nodes, options + args.options))
        yield from rows_of('openb, %s' % name, reports, openb_figures)


def print_row(cells):
    print('| %s |' % ' | '.join(cells))
    sys.stdout.flush()


def table(args):
    with tempfile.TemporaryDirectory() as folder:
        print_row(COLUMNS)
        print_row(['---'] * len(COLUMNS))
        for row in table_churn(args, folder) if args.seeds != 'none' else ():
            print_row(row)
        for row in table_openb(args, folder) if args.openb_seeds != 'none' else ():
            print_row(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest='verb', required=True)
    verb = verbs.add_parser('generate')
    verb.add_argument('folder')
    verb.add_argument('--seed', type=int, default=1)
    verb.add_argument('--jobs', type=int, default=2000)
    verb.add_argument('--load', type=float, default=0.9)
    verb = verbs.add_parser('arrivals')
    verb.add_argument('pods')
    verb.add_argument('nodes')
    verb.add_argument('--seed', type=int, default=42)
    verb.add_argument('--ratio', type=float, default=1.3)
    verb = verbs.add_parser('table')
    verb.add_argument('topofit')
    verb.add_argument('--seeds', default='1-100')
    verb.add_argument('--openb-seeds', default='42')
    verb.add_argument('--jobs', type=int, default=2000)
    verb.add_argument('--given', action='store_true')
    verb.add_argument('--loads', default='0.9,1.2')
    verb.add_argument('--options', type=str.split, default=[],
                      help='for topofit simulate, e.g. "--policy topology-first"')
    args = parser.parse_args()
    if args.verb == 'generate':
        generate(args.folder, args.seed, args.jobs, args.load)
    elif args.verb == 'arrivals':
        header, rows = arrivals(args.pods, args.nodes, args.seed, args.ratio)
        writer = csv.writer(sys.stdout, lineterminator='\n')
        writer.writerow(header)
        writer.writerows(rows)
    else:
        table(args)


if __name__ == '__main__':
    main()
