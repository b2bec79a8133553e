#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the Helm chart, the manifests and the scheduler configurations with the real programs.
#
# KUBE_BIN_DIR   where etcd, kube-apiserver and kube-scheduler are (default: the cache of
#                test/e2e/build-kube.sh; without them two of the checks are left out)
# TOPOFIT        the program, to be run with the rights that the chart gives it
set -eu
cd "$(dirname "$0")/../.."
here=test/chart
chart=deploy/chart
versions="1.31 1.32 1.33 1.34 1.35 1.36 1.37"

status=0
tools=$(sh $here/tools.sh) || status=$?
[ $status != 77 ] || exit 0
[ $status = 0 ] || exit $status

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for kind in CACHE CONFIG DATA; do
    export "HELM_${kind}_HOME=$scratch/helm"
done
export PYTHONPATH="$tools/python" PYTHONDONTWRITEBYTECODE=1

failures=0
check() { # what, command...
    what=$1
    shift
    if "$@" >"$scratch/answer" 2>&1; then
        echo "ok    $what"
    else
        echo "FAIL  $what"
        sed 's/^/      /' "$scratch/answer"
        failures=$((failures + 1))
    fi
}

# The sets of values: nothing, each file, each boolean turned over. One a line, as arguments.
write_sets() {
    echo "--set global.x=1"
    for file in "$here"/values/*.yaml deploy/examples/values-*.yaml; do
        echo "--values $file"
    done
    python3 $here/values_doc.py $chart --flips | sed 's/^/--set /'
}

render() { # helm, set, version, file
    # shellcheck disable=SC2086 # a set of values is several arguments
    "$tools/$1" template fit $chart --namespace gpu $2 --kube-version "$3" >"$4"
}

# The two helms put kinds that are not Kubernetes' own in different places.
same_documents() { # file, file
    python3 -c 'import sys
one, other = (sorted(open(name).read().strip("-\n").split("\n---\n")) for name in sys.argv[1:])
differ = [text for text in one if text not in other]
print("\n".join(differ))
sys.exit(one != other)' "$1" "$2"
}

# One set of values through both helms, all versions, all rules.
check_set() { # set, number
    for helm in helm3 helm4; do
        # shellcheck disable=SC2086 # as above
        "$tools/$helm" lint --strict $chart $1 || return 1
        for version in $versions; do
            render $helm "$1" "$version" "$scratch/$2-$helm-$version.yaml" || return 1
        done
    done
    for version in $versions; do
        same_documents "$scratch/$2-helm3-$version.yaml" "$scratch/$2-helm4-$version.yaml" ||
            return 1
    done
    python3 $here/validate.py "$versions" "$scratch/$2-helm4-{}.yaml" || return 1
    python3 $here/check_manifests.py "$scratch/$2-helm4-1.31.yaml"
}

# A wrong value is refused, by a text that names it.
check_refused() { # arguments, text
    for helm in helm3 helm4; do
        # shellcheck disable=SC2086 # several arguments
        if "$tools/$helm" template fit $chart $1 >"$scratch/refused" 2>&1; then
            echo "$helm renders it"
            return 1
        fi
        grep -q -- "$2" "$scratch/refused" || {
            cat "$scratch/refused"
            return 1
        }
    done
}

# The scheduler's image is the cluster's own version, whatever a provider appends to it.
check_scheduler_tag() { # version of the cluster, tag
    render helm4 "" "$1" "$scratch/tag.yaml" || return 1
    grep -qx " *image: \"registry.k8s.io/kube-scheduler:$2\"" "$scratch/tag.yaml"
}

check_notes() { # set, text
    # shellcheck disable=SC2086 # several arguments
    "$tools/helm4" install fit $chart --dry-run=client $1 | sed -n '/^NOTES:/,$p' >"$scratch/notes"
    grep -qF -- "$2" "$scratch/notes"
}

# kube-scheduler itself reads the file, and refuses unknown fields.
check_loaded() { # configuration
    "$kube/kube-scheduler" --config "$1" --write-config-to "$scratch/written.yaml" || return 1
    grep -q 'nodeCacheCapable: true' "$scratch/written.yaml" || return 1
    sed 's/nodeCacheCapable/nodeCacheCapabel/' "$1" >"$scratch/misspelt.yaml"
    ! "$kube/kube-scheduler" --config "$scratch/misspelt.yaml" \
        --write-config-to "$scratch/written.yaml"
}

check "values, schema, templates and README agree" python3 $here/values_doc.py $chart

[ -z "${TOPOFIT:-}" ] || check "the schema of config is the program's" \
    python3 $here/config_schema.py "$TOPOFIT" $chart

write_sets >"$scratch/sets"
number=0
while read -r set; do
    number=$((number + 1))
    check "chart with $set" check_set "$set" $number
done <"$scratch/sets"

check "examples" python3 $here/validate.py "$versions" deploy/examples/pods/*.yaml
for pair in 1.34.5-eks-0a1b2c3:v1.34.5 v1.33.4-gke.100:v1.33.4 v1.36.1+k3s1:v1.36.1; do
    check "scheduler image for ${pair%:*}" check_scheduler_tag "${pair%:*}" "${pair#*:}"
done
# Nobody is let in, or nobody but those named.
check_policy() { # set, what the policy says
    render helm4 "$1" 1.37 "$scratch/policy.yaml" || return 1
    grep -A 30 '^kind: NetworkPolicy' "$scratch/policy.yaml" | grep -qE -- "$2"
}
check "a network policy lets nobody in" check_policy "--set networkPolicy.enabled=true" \
    '^  ingress: \[\]$'
check "a network policy names the ports" check_policy "--values $here/values/full.yaml" \
    '^          port: scheduler$'
for registry in localhost:5000 registry.example.com/team 10.0.0.1:5000 '[fd00::1]:5000'; do
    check "registry $registry" render helm4 "--set image.registry=$registry" 1.37 \
        "$scratch/registry.yaml"
done
check "notes name the scheduler" check_notes "" "schedulerName: topofit-scheduler"
check "notes give the extender" check_notes "--set scheduler.enabled=false" \
    "urlPrefix: http://127.0.0.1:9901"

check "notes tell that the webhook names the scheduler" check_notes \
    "--set webhook.enabled=true,webhook.certManager.enabled=true" "Pods that ask for devices need not"
check "notes tell who binds" check_notes "" "get lease fit-topofit"
check "notes warn when nobody is elected" check_notes \
    "--set config.leaderElection.enabled=false" "WARNING: config.leaderElection.enabled"
# Two at a time, or one after the other; on how many nodes.
check_rendered() { # set, a line
    render helm4 "$1" 1.37 "$scratch/rendered.yaml" || return 1
    grep -qE -- "$2" "$scratch/rendered.yaml"
}
check_not_rendered() { # set, a line
    render helm4 "$1" 1.37 "$scratch/rendered.yaml" || return 1
    ! grep -qE -- "$2" "$scratch/rendered.yaml"
}
check "an update starts the new pod first" check_rendered "" "^    type: RollingUpdate$"
check "an update ends the old pod first without election" check_rendered \
    "--set config.leaderElection.enabled=false" "^    type: Recreate$"
check "an update ends the old pod first when schedulers elect none" check_rendered \
    "--set scheduler.leaderElection.enabled=false" "^    type: Recreate$"
check "several replicas are spread" check_rendered "--set replicaCount=2" \
    "topologyKey: kubernetes.io/hostname"
check "one replica is not spread" check_not_rendered "" topologySpreadConstraints
check "topofit finds what is mounted besides" check_rendered "--values $here/values/full.yaml" \
    "mountPath: /etc/topofit-jobs"
check "affinity replaces the spread" check_not_rendered "--values $here/values/full.yaml" \
    topologySpreadConstraints
check "a DaemonSet has no budget" check_not_rendered "--set scheduler.enabled=false" \
    "kind: PodDisruptionBudget"

tls="--values $here/values/tls.yaml"
check "notes give the extender with TLS" check_notes "$tls" "urlPrefix: https://127.0.0.1:9901"
check "notes give the extender's CA" check_notes "$tls" "caFile: /etc/kubernetes/topofit/ca.crt"
check "notes give the client's key" check_notes "$tls" "keyFile: /etc/kubernetes/topofit/client.key"
check "notes show how to read an encrypted admin port" check_notes "$tls" "curl --insecure 'https://"
check "notes tell who can call without TLS" check_notes "--set scheduler.enabled=false" \
    "Every program on a control-plane node can call"
check "notes warn of an open extender port" check_notes \
    "--set config.extender.allowUnauthenticated=true" "WARNING: config.extender.allowUnauthenticated"

# What helm makes differs from call to call; all of it must be good.
check_made_certificates() {
    for helm in helm3 helm4; do
        render $helm "--set webhook.enabled=true" 1.37 "$scratch/made-$helm.yaml" || return 1
        grep -q '^kind: Secret$' "$scratch/made-$helm.yaml" || return 1
    done
    python3 $here/validate.py "$versions" "$scratch/made-helm3.yaml" "$scratch/made-helm4.yaml" &&
        python3 $here/check_manifests.py "$scratch/made-helm3.yaml" "$scratch/made-helm4.yaml"
}
hook="--values $here/values/webhook.yaml"
check "F41: no webhook unless it is asked for" check_not_rendered "" MutatingWebhookConfiguration
check "F41: the webhook with certificates that helm makes" check_made_certificates
check "F41: new pods do not wait for topofit by default" check_rendered \
    "--set webhook.enabled=true,webhook.certManager.enabled=true" "failurePolicy: Ignore"
check "F41: new pods wait for topofit when told so" check_rendered "$hook" "failurePolicy: Fail"
check "F41: further namespaces are left out" check_rendered "$hook" "^ *- gpu-operator$"
check "F41: cert-manager is told where the CA goes" check_rendered \
    "--values $here/values/webhook-cert-manager.yaml" "inject-ca-from: gpu/fit-topofit-webhook$"
check "F41: evictions leave one that answers" check_rendered "$hook" "maxUnavailable: 1"

# topofit itself takes the configuration that the chart makes of the values.
check_daemon_config() { # set, text
    render helm4 "$1" 1.37 "$scratch/config.yaml" || return 1
    python3 -c 'import sys, yaml
for item in yaml.safe_load_all(sys.stdin):
    if item["kind"] == "ConfigMap" and not item["metadata"]["name"].endswith("-scheduler"):
        print(item["data"]["config.yaml"])' <"$scratch/config.yaml" >"$scratch/daemon.yaml"
    grep -qF -- "$2" "$scratch/daemon.yaml" || return 1
    [ -z "${TOPOFIT:-}" ] || "$TOPOFIT" check-config --no-files --quiet "$scratch/daemon.yaml"
}
check "topofit's configuration has a Lease" check_daemon_config "" "name: fit-topofit"
check "topofit's configuration, with a Lease elsewhere" check_daemon_config \
    "--values $here/values/lease-elsewhere.yaml" 'name: "1234"'
check "topofit's configuration with TLS" check_daemon_config "$tls" \
    "clientCaFile: /etc/topofit-tls/clients/ca.crt"
check "topofit's configuration with the webhook" check_daemon_config \
    "--set webhook.enabled=true" "schedulerName: topofit-scheduler"
check "the webhook knows what kube-scheduler asks about" check_daemon_config \
    "--set webhook.enabled=true" "- nvidia.com/gpumem"
check "the webhook knows the resources of all vendors" check_daemon_config \
    "--values deploy/examples/values-all-vendors.yaml --set webhook.enabled=true" "- hygon.com/dcunum"
for name in topofit-scheduler hami-scheduler; do # before the switch and after it
    check "migration: pods are named after HAMi's scheduler while ours is $name" check_daemon_config \
        "--values deploy/examples/values-hami.yaml --set webhook.enabled=true,scheduler.name=$name" \
        "schedulerName: hami-scheduler"
done
check "topofit's configuration with another scheduler in it" check_daemon_config "$hook" \
    "schedulerName: other-scheduler"
check "topofit's configuration leaves the name of a scheduler that is there" check_daemon_config \
    "--values $here/values/webhook-cert-manager.yaml" 'schedulerName: ""'
check "topofit's configuration, filled" check_daemon_config "--values $here/values/full.yaml" \
    "tlsKeyFile: /etc/topofit-tls/admin/tls.key"

# The chart holds terminationGracePeriodSeconds against it.
check_bind_timeout() {
    grep -q '"bindTimeout" "6s"' $chart/templates/_helpers.tpl || return 1
    [ -z "${TOPOFIT:-}" ] || "$TOPOFIT" check-config | grep -qx '  bindTimeout: "6s"'
}
check "the chart knows topofit's bindTimeout" check_bind_timeout

while read -r arguments text; do
    check "refused: $arguments" check_refused "$(echo "$arguments" | tr , ' ')" "$text"
done <<'EOF'
--set,nosuch=1 nosuch
--set,extender.prot=1 prot
--set,replicaCount=-1 replicaCount
--set,replicaCount=2,--set,config.leaderElection.enabled=false one must lead
--set,replicaCount=2,--set,scheduler.leaderElection.enabled=false one must lead
--set-string,config.leaderElection.enabled=false enabled
--set,config.leaderElection.name=Bad_Name name
--set,config.leaderElection.name=topofit-scheduler taken from each other
--set,fullnameOverride=topofit-scheduler taken from each other
--set-string,config.kube.wakePods=false wakePods
--set,config.packing.policy=pak policy
--set,config.packing.polici=pack polici
--set,config.fabric.enabled=true fabric
--set,config.topology.maxTier=4 maxTier
--set,config.extender.requestTimeout=10 requestTimeout
--set,terminationGracePeriodSeconds=15 set at least 16
--set,config.extender.bindTimeout=1m set at least 70
--set,config.extender.bindTimeout=20001ms set at least 31
--set,extender.weight=0 weight
--set,extender.httpTimeout=10 httpTimeout
--set,image.digest=sha256:12 digest
--set,image.registry=https://registry.example.com registry
--set,image.registry=registry.example.com/ registry
--set,scheduler.image.registry=https://registry.example.com registry
--set,image.repository=/topofit repository
--set,image.repository=topofit/ repository
--set,image.tag=a/b tag
--set,serviceAccount.create=false name the account
--set,networkPolicy.enabled=true,--set,scheduler.enabled=false host's network
--set,networkPolicy.form=1 form
--set,extraVolumes=jobs extraVolumes
--set,extraVolumeMounts=jobs extraVolumeMounts
--set,extender.tls.secretName=cert inside one pod
--set,extender.tls.clientCaSecretName=ca,--set,scheduler.enabled=false give both
--set,admin.tls.secretName=Bad_Name secretName
--set,scheduler.name=Bad_Name name
--set,scheduler.name=default-scheduler choose another name
--set,admin.port=9901 two listeners
--set,admin.port=10259 choose another
--set-json,extender.managedResources=[] managedResources
--set,webhook.enabled=true,--set,webhook.port=9901 choose another
--set,webhook.enabled=true,--set,webhook.port=10259 choose another
--set,webhook.failurePolicy=Never failurePolicy
--set,webhook.timeoutSeconds=11 timeoutSeconds
--set,webhook.excludedNamespaces[0]=Bad_Name excludedNamespaces
--set,webhook.caBundle=none caBundle
--set,webhook.enabled=true,--set,webhook.secretName=cert who signed the certificate
--set,webhook.enabled=true,--set,config.webhook.enabled=false nobody answer
--set,webhook.enabled=true,--set,terminationGracePeriodSeconds=18 set at least 19
--kube-version,1.30.9 1.31
EOF

kube=${KUBE_BIN_DIR:-}
for directory in "${XDG_CACHE_HOME:-${HOME:-/root}/.cache}"/topofit/kube-*; do
    [ -n "$kube" ] || kube=$directory
done
if [ -x "$kube/kube-scheduler" ] && [ -x "$kube/kube-apiserver" ]; then
    printf 'apiVersion: v1\nkind: Config\ncurrent-context: none\n%s\n%s\n%s\n' \
        'clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]' \
        'contexts: [{name: none, context: {cluster: none, user: none}}]' \
        'users: [{name: none, user: {}}]' >"$scratch/kubeconfig"
    check "chart and deploy/scheduler-config.yaml agree" python3 $here/scheduler_config.py \
        "$scratch/1-helm4-1.37.yaml" deploy/scheduler-config.yaml "$scratch/kubeconfig" \
        "$scratch/chart-config.yaml" "$scratch/file-config.yaml"
    check "kube-scheduler loads the chart's configuration" check_loaded "$scratch/chart-config.yaml"
    check "kube-scheduler loads scheduler-config.yaml" check_loaded "$scratch/file-config.yaml"
    check "F41: helm keeps the webhook's certificates over upgrades" env KUBE_BIN_DIR="$kube" \
        HELMS="$tools/helm3 $tools/helm4" python3 -B $here/test_upgrade.py
    for values in replicas lease-elsewhere; do
        render helm4 "--values $here/values/$values.yaml" 1.37 "$scratch/$values.yaml"
        check "the chart's rights are enough, in a real cluster: $values" env \
            KUBE_BIN_DIR="$kube" RENDERED="$scratch/$values.yaml" TOPOFIT="${TOPOFIT:-}" \
            python3 -B $here/test_installed.py
    done
else
    echo "skip  checks in a real cluster: no kube-apiserver in $kube"
fi

echo "chart: $failures failed"
[ $failures = 0 ]
