#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges rendered manifests (files, or "-") by rules that a schema does not know.

Rights: nothing beyond RIGHTS, and of those what topofit's configuration makes use of, no more and no
less. Pods: what the "restricted" pod security standard asks, and a read-only root, and every file
that topofit's configuration names. Two pods at once only where both containers elect a leader.
Network policies and budgets: the chart's own pod, and nobody let in by omission. The webhook (field
case F41): asked about new pods alone, not about those that the cluster needs to heal itself, and with
a certificate that the API server can verify. Objects: the usual labels, no nulls, no floating image
tags, a namespace.
"""
import base64
import pathlib
import subprocess
import sys
import tempfile

import yaml

READ = {"get", "list", "watch"}
# (kind, API group, resource) -> the verbs that may be given. A new right here is a decision.
RIGHTS = {
    ("ClusterRole", "", "nodes"): READ | {"patch"},
    ("ClusterRole", "", "pods"): READ,
    ("ClusterRole", "", "resourcequotas"): READ,
    ("ClusterRole", "", "pods/binding"): {"create"},
    ("ClusterRole", "events.k8s.io", "events"): {"create", "patch"},
    ("Role", "coordination.k8s.io", "leases"): {"get", "update", "create"},
}
MAY_BIND = {"system:kube-scheduler", "system:volume-scheduler"}
LABELS = {"helm.sh/chart"} | {
    f"app.kubernetes.io/{name}"
    for name in ("name", "instance", "version", "component", "part-of", "managed-by")
}
CLUSTER_WIDE = {"ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration"}
OPT_OUT = [{"key": key, "operator": "NotIn", "values": ["ignore"]}
           for key in ("topofit.io/webhook", "hami.io/webhook")]


def nulls(node, path):
    if node is None:
        yield f"{path} is null"
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from nulls(value, f"{path}.{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nulls(value, f"{path}[{index}]")


def rule_problems(kind, rule):
    if "nonResourceURLs" in rule:
        yield "gives non-resource URLs"
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            extra = set(rule["verbs"]) - RIGHTS.get((kind, group, resource), set())
            if extra:
                yield f"gives {sorted(extra)} on {group}/{resource}"
            # create knows no names, but a Lease that exists is out of its reach.
            if resource == "leases" and not rule.get("resourceNames") and \
                    rule["verbs"] != ["create"]:
                yield "gives every lease of the namespace"


def given_to(items, subject, kind, namespace=None):
    """(API group, resource, verb, name or None) of all that this chart's own roles let it do."""
    roles = {(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): item
             for item in items if item["kind"] == kind}
    for item in items:
        if item["kind"] != kind + "Binding" or item["metadata"].get("namespace") != namespace:
            continue
        role = roles.get((item["roleRef"]["kind"], namespace, item["roleRef"]["name"]))
        if role is None or subject not in [one["name"] for one in item["subjects"]]:
            continue
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [None]):
                            yield group, resource, verb, name


def needed(config):
    """The rights that topofit makes use of with this configuration: (cluster-wide, on leases)."""
    wide = {("", resource, verb, None) for resource in ("nodes", "pods") for verb in READ}
    wide.add(("", "pods/binding", "create", None))
    if config.get("quota", {}).get("enabled", True):
        wide |= {("", "resourcequotas", verb, None) for verb in READ}
    if config.get("kube", {}).get("wakePods", True):
        wide.add(("", "nodes", "patch", None))
    if config.get("events", {}).get("enabled", True):
        wide |= {("events.k8s.io", "events", verb, None) for verb in ("create", "patch")}
    lease = config["leaderElection"]
    leases = {("coordination.k8s.io", "leases", "create", None)} | {
        ("coordination.k8s.io", "leases", verb, lease["name"]) for verb in ("get", "update")}
    return wide, leases if lease.get("enabled", True) else set()


def scheduler_lease(items):
    """(namespace, rights) that kube-scheduler needs for its own Lease."""
    for item in items:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith("-scheduler"):
            election = yaml.safe_load(item["data"]["config.yaml"])["leaderElection"]
            if election["leaderElect"]:
                return election["resourceNamespace"], {
                    ("coordination.k8s.io", "leases", verb, election["resourceName"])
                    for verb in ("get", "update")}
    return None, set()


def rights_problems(items, config):
    """Does the account have what its configuration asks for, where it asks for it, and no more?"""
    if not any(item["kind"] == "ClusterRole" for item in items):
        return  # rbac.create is false
    account = next(workload(items))["spec"]["template"]["spec"]["serviceAccountName"]
    wide, leases = needed(config)
    wanted = {None: wide, config["leaderElection"]["namespace"]: leases}
    namespace, rights = scheduler_lease(items)
    wanted[namespace] = wanted.get(namespace, set()) | rights
    places = {item["metadata"].get("namespace") for item in items if item["kind"] == "Role"}
    for place in places | set(wanted):
        given = set(given_to(items, account, "Role" if place else "ClusterRole", place))
        for what, rights in (("lacks", wanted.get(place, set()) - given),
                             ("needs no", given - wanted.get(place, set()))):
            for right in sorted(rights, key=str):
                yield f"{account} {what} {right} in {place or 'the cluster'}"


def lets_two_run(items, config):
    elects = config["leaderElection"].get("enabled", True)
    return elects and bool(scheduler_lease(items)[1])


def update_problems(spec, may_overlap):
    strategy = spec["strategy"]
    if not may_overlap:
        if strategy != {"type": "Recreate"}:
            yield "runs two pods at once during an update, and they elect no leader"
        if spec["replicas"] > 1:
            yield "runs several pods, and they elect no leader"
    elif strategy != {"type": "RollingUpdate",
                      "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}:
        yield "ends the old pod before the new one is ready"
    pod = spec["template"]["spec"]
    if spec["replicas"] > 1 and not {"affinity", "topologySpreadConstraints"} & set(pod):
        yield "may run all its pods on one node"
    for constraint in pod.get("topologySpreadConstraints", []):
        labels = spec["template"]["metadata"]["labels"]
        if not constraint["labelSelector"]["matchLabels"].items() <= labels.items():
            yield "spreads pods that are not its own"


def role_problems(kind, item):
    for rule in item["rules"]:
        yield from rule_problems(kind, rule)


def binding_problems(item, own_roles):
    role = item["roleRef"]["name"]
    if role not in MAY_BIND and (item["roleRef"]["kind"], role) not in own_roles:
        yield f"binds {role}"
    for subject in item["subjects"]:
        if subject["kind"] != "ServiceAccount":
            yield f"binds to a {subject['kind']}"


def container_problems(container):
    name = container["name"]
    security = container.get("securityContext", {})
    if security.get("allowPrivilegeEscalation") is not False:
        yield f"{name} may gain privileges"
    if security.get("readOnlyRootFilesystem") is not True:
        yield f"{name} may write to its root"
    if security.get("capabilities", {}).get("drop") != ["ALL"] or "add" in security["capabilities"]:
        yield f"{name} has capabilities"
    if "requests" not in container.get("resources", {}):
        yield f"{name} requests no resources"
    for probe in ("livenessProbe", "readinessProbe"):
        if probe not in container:
            yield f"{name} has no {probe}"
    image = container["image"].rsplit("/", 1)[-1]
    if ":" not in image or image.endswith(":latest"):
        yield f"{name} has the floating image {image}"


def pod_problems(spec):
    security = spec.get("securityContext", {})
    if security.get("runAsNonRoot") is not True or security.get("runAsUser", 0) == 0:
        yield "runs as root"
    if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "has no seccomp profile"
    for key in ("hostPID", "hostIPC"):
        if spec.get(key):
            yield f"uses {key}"
    for container in spec["containers"]:
        yield from container_problems(container)
        args = container.get("args", [])
        if container["name"] == "topofit":
            if not any(arg.startswith("--listen=127.0.0.1:") for arg in args):
                yield "listens for kube-scheduler beyond the loopback address"
            if spec.get("hostNetwork") and any(arg.startswith("--admin-listen=:") for arg in args):
                yield "shows its admin port on all addresses of the host"


def paths_in(node):
    if isinstance(node, dict):
        for value in node.values():
            yield from paths_in(value)
    elif isinstance(node, str) and node.startswith("/"):
        yield node


def mount_problems(spec, config):
    """Do the files that topofit's configuration names exist in its container, and may they change?"""
    container = next(one for one in spec["containers"] if one["name"] == "topofit")
    mounts = container.get("volumeMounts", [])
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    for mount in mounts:
        if mount["name"] not in volumes:
            yield f"mounts {mount['name']}, which is no volume"
        if "subPath" in mount:
            yield f"mounts {mount['name']} by subPath, which is never renewed"
    places = [mount["mountPath"] + "/" for mount in mounts]
    for path in paths_in(config):
        if not any(path.startswith(place) for place in places):
            yield f"names {path}, which is not mounted"
    scheme = "HTTPS" if config.get("admin", {}).get("tlsCertFile") else "HTTP"
    for probe in ("livenessProbe", "readinessProbe"):
        if container[probe]["httpGet"].get("scheme", "HTTP") != scheme:
            yield f"probes the admin port without {scheme}"


def daemon_config(items):
    for item in items:
        if item["kind"] == "ConfigMap" and not item["metadata"]["name"].endswith("-scheduler"):
            return yaml.safe_load(item["data"]["config.yaml"])
    return {}


def policy_problems(spec, pods):
    wanted = spec["podSelector"].get("matchLabels", {})
    if not wanted or not any(wanted.items() <= pod["labels"].items() for pod in pods):
        yield "does not select the chart's pod"
    if spec["policyTypes"] != ["Ingress"]:
        yield "is not about ingress alone"
    for rule in spec["ingress"]:
        # The API server is no pod, and has no address that a policy could name.
        if not rule.get("from") and rule.get("ports") != [{"protocol": "TCP", "port": "webhook"}]:
            yield "lets everybody in"
        if not rule.get("ports"):
            yield "opens every port"
        named = {port["name"] for pod in pods for port in pod["ports"]}
        for port in rule.get("ports", []):
            if port["port"] not in named:
                yield f"opens {port['port']}, which no container has"


def budget_problems(spec, pods):
    wanted = spec["selector"].get("matchLabels", {})
    if not wanted or not any(wanted.items() <= pod["labels"].items() for pod in pods):
        yield "does not select the chart's pod"
    if any(pod["kind"] == "DaemonSet" for pod in pods):
        yield "is for a DaemonSet, which it cannot count"


def service_of(items, wanted):
    for item in items:
        if item["kind"] == "Service" and item["metadata"]["name"] == wanted["name"] and \
                item["metadata"]["namespace"] == wanted["namespace"]:
            return item["spec"]
    return None


def service_problems(items, wanted, pods):
    """Does the Service of the webhook lead to a port of the chart's pod?"""
    service = service_of(items, wanted)
    if service is None:
        yield f"calls {wanted['name']}, which is no Service"
        return
    for pod in pods:
        if not service["selector"].items() <= pod["labels"].items():
            yield "calls a Service that does not select the chart's pod"
        ports = {port["port"]: port["targetPort"] for port in service["ports"]}
        if ports.get(wanted["port"]) not in {port["name"] for port in pod["ports"]}:
            yield "calls a Service whose port no container has"


def certificate_problems(items, wanted, bundle):
    """Where the chart itself made the certificate: does the CA that is told verify it?"""
    host = f"{wanted['name']}.{wanted['namespace']}.svc"
    for item in items:
        if item["kind"] != "Secret":
            continue
        with tempfile.TemporaryDirectory() as scratch:
            for name, text in {**item["data"], "bundle": bundle}.items():
                (pathlib.Path(scratch) / name).write_bytes(base64.b64decode(text))
            done = subprocess.run(
                ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname",
                 host, "-CAfile", "bundle", "tls.crt"], cwd=scratch, text=True, check=False,
                capture_output=True)
            if done.returncode:
                yield f"has a certificate that is not good: {done.stderr}"


def selector_problems(webhook, namespace):
    names = [one for one in webhook["namespaceSelector"]["matchExpressions"]
             if one["key"] == "kubernetes.io/metadata.name"]
    if len(names) != 1 or names[0]["operator"] != "NotIn" or \
            not {namespace, "kube-system"} <= set(names[0]["values"]):
        yield "is asked about the pods that the cluster needs to heal itself"
    for selector in ("namespaceSelector", "objectSelector"):
        for expression in OPT_OUT:
            if expression not in webhook[selector]["matchExpressions"]:
                yield f"{selector} does not know the label {expression['key']}"


def webhook_problems(item, items, pods):
    injected = "cert-manager.io/inject-ca-from" in item["metadata"].get("annotations", {})
    for webhook in item["webhooks"]:
        wanted = webhook["clientConfig"]["service"]
        bundle = webhook["clientConfig"].get("caBundle", "")
        if webhook["rules"] != [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                                 "operations": ["CREATE"], "scope": "Namespaced"}]:
            yield "is asked about more or less than new pods"
        if webhook["sideEffects"] != "None" or webhook["timeoutSeconds"] > 10:
            yield "has side effects, or takes long"
        if webhook["failurePolicy"] not in ("Ignore", "Fail"):
            yield "says nothing of failures"
        yield from selector_problems(webhook, wanted["namespace"])
        if bool(bundle) == injected:
            yield "has no CA, or two"
        if bundle and b"BEGIN CERTIFICATE" not in base64.b64decode(bundle, validate=True):
            yield "has a CA that is no PEM"
        yield from service_problems(items, wanted, pods)
        yield from certificate_problems(items, wanted, bundle)


def workload(items):
    return (item for item in items if item["kind"] in ("Deployment", "DaemonSet"))


def pods_of(items):
    for item in workload(items):
        template = item["spec"]["template"]
        yield {"kind": item["kind"], "labels": template["metadata"]["labels"],
               "ports": [port for container in template["spec"]["containers"]
                         for port in container["ports"]]}


def item_problems(item, items, own_roles, pods, config, may_overlap):
    kind, metadata = item["kind"], item["metadata"]
    missing = LABELS - set(metadata.get("labels", {}))
    if missing:
        yield f"lacks the labels {sorted(missing)}"
    if kind not in CLUSTER_WIDE and not metadata.get("namespace"):
        yield "has no namespace"
    yield from nulls(item, "")
    if kind in ("ClusterRole", "Role"):
        yield from role_problems(kind, item)
    elif kind in ("ClusterRoleBinding", "RoleBinding"):
        yield from binding_problems(item, own_roles)
    elif kind == "NetworkPolicy":
        yield from policy_problems(item["spec"], pods)
    elif kind == "MutatingWebhookConfiguration":
        yield from webhook_problems(item, items, pods)
    elif kind == "PodDisruptionBudget":
        yield from budget_problems(item["spec"], pods)
    elif kind in ("Deployment", "DaemonSet"):
        yield from pod_problems(item["spec"]["template"]["spec"])
        yield from mount_problems(item["spec"]["template"]["spec"], config)
        if kind == "Deployment":
            yield from update_problems(item["spec"], may_overlap)


def main():
    problems = []
    for name in sys.argv[1:]:
        with sys.stdin if name == "-" else open(name, encoding="utf-8") as file:
            items = [item for item in yaml.safe_load_all(file) if item]
        own_roles = {(item["kind"], item["metadata"]["name"]) for item in items
                     if item["kind"].endswith("Role")}
        pods = list(pods_of(items))
        config = daemon_config(items)
        may_overlap = lets_two_run(items, config)
        for item in items:
            for text in item_problems(item, items, own_roles, pods, config, may_overlap):
                problems.append(f"{name}: {item['kind']} {item['metadata']['name']} {text}")
        problems += [f"{name}: {text}" for text in rights_problems(items, config)]
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


sys.exit(main())
