{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "topofit.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "topofit.fullname" -}}
{{- $name := include "topofit.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "topofit.selectorLabels" -}}
app.kubernetes.io/name: {{ include "topofit.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: scheduler
{{- end }}

{{- define "topofit.labels" -}}
{{- /* Ours come last in the merge, so that commonLabels cannot replace them. */ -}}
{{- $own := dict "helm.sh/chart" (printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_"))
      "app.kubernetes.io/version" .Chart.AppVersion
      "app.kubernetes.io/managed-by" .Release.Service
      "app.kubernetes.io/part-of" "topofit" }}
{{- $selector := include "topofit.selectorLabels" . | fromYaml }}
{{- mergeOverwrite (dict) .Values.commonLabels $own $selector | toYaml }}
{{- end }}

{{- define "topofit.serviceAccountName" -}}
{{- default (include "topofit.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "topofit.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "topofit.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* The whole reference of an image: (dict "image" {registry, repository, digest} "tag" TAG). */ -}}
{{- define "topofit.image" -}}
{{- $place := ternary .image.repository (printf "%s/%s" .image.registry .image.repository) (empty .image.registry) }}
{{- if .image.digest }}
{{- printf "%s@%s" $place .image.digest }}
{{- else }}
{{- printf "%s:%s" $place .tag }}
{{- end }}
{{- end }}

{{- /* v1.34.5-eks-0a1b2c is no tag of the upstream image; v1.34.5 is. */ -}}
{{- define "topofit.schedulerTag" -}}
{{- $version := .Capabilities.KubeVersion }}
{{- /* Rendered without a cluster, the version may lack its last part. */ -}}
{{- $tag := default (printf "v%s.%s.0" $version.Major (trimSuffix "+" $version.Minor)) (regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" $version.Version) }}
{{- default $tag .Values.scheduler.image.tag }}
{{- end }}

{{- define "topofit.schedulerConfig" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: {{ .Values.scheduler.leaderElection.enabled }}
  {{- if .Values.scheduler.leaderElection.enabled }}
  resourceName: {{ .Values.scheduler.name }}
  resourceNamespace: {{ .Release.Namespace }}
  {{- end }}
percentageOfNodesToScore: {{ .Values.scheduler.percentageOfNodesToScore }}
profiles:
  - schedulerName: {{ .Values.scheduler.name }}
{{ include "topofit.extenders" . }}
{{- end }}

{{- /*
The Lease of the topofit that binds: {enabled, name, namespace}. The configuration file names it and
a Role allows it; both have it from here.
*/ -}}
{{- define "topofit.lease" -}}
enabled: {{ dig "leaderElection" "enabled" true .Values.config }}
name: {{ default (include "topofit.fullname" .) (dig "leaderElection" "name" "" .Values.config) | quote }}
namespace: {{ default .Release.Namespace (dig "leaderElection" "namespace" "" .Values.config) | quote }}
{{- end }}

{{- /* Not empty when two pods may run at once: one topofit binds, and one kube-scheduler schedules. */ -}}
{{- define "topofit.takesTurns" -}}
{{- if and (dig "leaderElection" "enabled" true .Values.config) .Values.scheduler.leaderElection.enabled }}yes{{ end }}
{{- end }}

{{- /* How long the Service of the webhook may still lead to a pod that is ending. */ -}}
{{- define "topofit.webhookDrainSeconds" -}}
3
{{- end }}

{{- /* How long a Binding may take, in whole seconds; a text that is no duration counts as 0. */ -}}
{{- define "topofit.bindTimeoutSeconds" -}}
{{- $text := dig "extender" "bindTimeout" "6s" .Values.config | toString }}
{{- $number := regexFind "^[0-9]+" $text | int }}
{{- if hasSuffix "ms" $text }}{{ div (add $number 999) 1000 }}
{{- else if hasSuffix "m" $text }}{{ mul $number 60 }}
{{- else }}{{ $number }}
{{- end }}
{{- end }}

{{- /* The configuration file: config, the Lease, and where the certificates are mounted. */ -}}
{{- define "topofit.config" -}}
{{- $extender := dict }}
{{- with .Values.extender.tls.secretName }}
{{- $extender = dict "tlsCertFile" "/etc/topofit-tls/extender/tls.crt" "tlsKeyFile" "/etc/topofit-tls/extender/tls.key" }}
{{- end }}
{{- with .Values.extender.tls.clientCaSecretName }}
{{- $_ := set $extender "clientCaFile" "/etc/topofit-tls/clients/ca.crt" }}
{{- end }}
{{- $own := dict "leaderElection" (omit (include "topofit.lease" . | fromYaml) "enabled") }}
{{- with $extender }}
{{- $_ := set $own "extender" . }}
{{- end }}
{{- with .Values.admin.tls.secretName }}
{{- $_ := set $own "admin" (dict "tlsCertFile" "/etc/topofit-tls/admin/tls.crt" "tlsKeyFile" "/etc/topofit-tls/admin/tls.key") }}
{{- end }}
{{- if .Values.webhook.enabled }}
{{- /* The scheduler that is there already has a name of its own, the default one as a rule. */}}
{{- $scheduler := ternary .Values.scheduler.name "" .Values.scheduler.enabled }}
{{- $managed := list }}
{{- range .Values.extender.managedResources }}
{{- $managed = append $managed .name }}
{{- end }}
{{- $_ := set $own "webhook" (dict "schedulerName" (dig "webhook" "schedulerName" $scheduler .Values.config)
      "resources" (dig "webhook" "resources" $managed .Values.config)
      "listen" (printf ":%d" (int .Values.webhook.port))
      "tlsCertFile" "/etc/topofit-tls/webhook/tls.crt" "tlsKeyFile" "/etc/topofit-tls/webhook/tls.key") }}
{{- end }}
{{- mergeOverwrite (deepCopy .Values.config) $own | toYaml }}
{{- end }}

{{- define "topofit.webhookSecret" -}}
{{- default (printf "%s-webhook" (include "topofit.fullname" .)) .Values.webhook.secretName }}
{{- end }}

{{- /* Labels with which pods and namespaces keep us away; the second is HAMi's. */ -}}
{{- define "topofit.optOut" -}}
- key: topofit.io/webhook
  operator: NotIn
  values: [ignore]
- key: hami.io/webhook
  operator: NotIn
  values: [ignore]
{{- end }}

{{- /* What is mounted below /etc/topofit-tls: name -> Secret. */ -}}
{{- define "topofit.secrets" -}}
{{- $webhook := ternary (include "topofit.webhookSecret" .) "" .Values.webhook.enabled }}
{{- range $name, $secret := dict "extender" .Values.extender.tls.secretName "clients" .Values.extender.tls.clientCaSecretName "admin" .Values.admin.tls.secretName "webhook" $webhook }}
{{- with $secret }}
{{ $name }}: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "topofit.extenders" -}}
extenders:
  - urlPrefix: {{ ternary "https" "http" (not (empty .Values.extender.tls.secretName)) }}://127.0.0.1:{{ .Values.extender.port }}
    {{- if .Values.extender.tls.secretName }}
    enableHTTPS: true
    # Files on the node of kube-scheduler. Without caFile it would verify nothing.
    tlsConfig:
      caFile: /etc/kubernetes/topofit/ca.crt
      {{- if .Values.extender.tls.clientCaSecretName }}
      certFile: /etc/kubernetes/topofit/client.crt
      keyFile: /etc/kubernetes/topofit/client.key
      {{- end }}
    {{- end }}
    filterVerb: filter
    prioritizeVerb: prioritize
    preemptVerb: preempt
    bindVerb: bind
    weight: {{ .Values.extender.weight }}
    httpTimeout: {{ .Values.extender.httpTimeout }}
    nodeCacheCapable: true
    # Ignored, a topofit that does not answer would let pods start with GPUs that others hold.
    ignorable: false
    managedResources:
      {{- toYaml .Values.extender.managedResources | nindent 6 }}
{{- end }}

{{- /* The pod of the Deployment and of the DaemonSet. */ -}}
{{- define "topofit.podTemplate" -}}
{{- $host := not .Values.scheduler.enabled -}}
{{- $secrets := include "topofit.secrets" . | fromYaml -}}
metadata:
  labels:
    {{- mergeOverwrite (dict) .Values.podLabels (include "topofit.labels" . | fromYaml) | toYaml | nindent 4 }}
  annotations:
    {{- /*
    New configuration, new pod; for the keys, too, that a running topofit takes over by itself. So
    what runs is what was installed, whichever key it is; a configuration that is not right stops
    the update at a pod that does not start, while the old one goes on; and an update costs about a
    second without bindings.
    */}}
    checksum/config: {{ print (include "topofit.config" .) (include "topofit.schedulerConfig" .) | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "topofit.serviceAccountName" . }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $host }}
  hostNetwork: true
  # Names of cluster services resolve only so for a pod on the host's network.
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- /*
  At SIGTERM topofit takes no more calls, answers those it has, and gives the lease up last. The
  kube-scheduler beside it is told to stop at the same moment, so there is nothing to wait for before;
  but for the webhook, whose Service leads to the pod a little longer.
  */}}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.affinity }}
  affinity:
    {{- toYaml .Values.affinity | nindent 4 }}
  {{- else if $host }}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              # Its value differs between distributions.
              - key: node-role.kubernetes.io/control-plane
                operator: Exists
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if and (not $host) (not .Values.affinity) (gt (int .Values.replicaCount) 1) }}
  topologySpreadConstraints:
    - topologyKey: kubernetes.io/hostname
      maxSkew: 1
      # Rather two on one node than one that waits for a node.
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "topofit.selectorLabels" . | nindent 10 }}
      # During an update the new pods are spread by themselves.
      matchLabelKeys: [pod-template-hash]
  {{- end }}
  containers:
    - name: topofit
      image: {{ include "topofit.image" (dict "image" .Values.image "tag" (default .Chart.AppVersion .Values.image.tag)) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - serve
        - --listen=127.0.0.1:{{ .Values.extender.port }}
        {{- /* On the host's network nobody outside the node is to see it. */}}
        - --admin-listen={{ ternary "127.0.0.1" "" $host }}:{{ .Values.admin.port }}
        - --config=/etc/topofit/config.yaml
        {{- with .Values.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.extraEnv }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: admin
          containerPort: {{ .Values.admin.port }}
        {{- if .Values.webhook.enabled }}
        - name: webhook
          containerPort: {{ .Values.webhook.port }}
        {{- end }}
      {{- if .Values.webhook.enabled }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ include "topofit.webhookDrainSeconds" . }}
      {{- end }}
      livenessProbe:
        httpGet:
          path: /livez
          port: admin
          {{- if .Values.admin.tls.secretName }}
          scheme: HTTPS
          {{- end }}
          {{- if $host }}
          host: 127.0.0.1
          {{- end }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      {{- /*
      Ready means: nodes and pods are known. Not: this one leads. One that follows answers filter,
      and an update starts the new pod while the old one leads.
      */}}
      readinessProbe:
        httpGet:
          path: /readyz
          port: admin
          {{- if .Values.admin.tls.secretName }}
          scheme: HTTPS
          {{- end }}
          {{- if $host }}
          host: 127.0.0.1
          {{- end }}
        periodSeconds: 5
        timeoutSeconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        {{- /* Whole volumes: a file mounted by subPath would never change. */}}
        - name: config
          mountPath: /etc/topofit
          readOnly: true
        {{- range $name, $secret := $secrets }}
        - name: tls-{{ $name }}
          mountPath: /etc/topofit-tls/{{ $name }}
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- if .Values.scheduler.enabled }}
    - name: kube-scheduler
      image: {{ include "topofit.image" (dict "image" .Values.scheduler.image "tag" (include "topofit.schedulerTag" .)) | quote }}
      imagePullPolicy: {{ .Values.scheduler.image.pullPolicy }}
      command:
        - kube-scheduler
        - --config=/etc/kube-scheduler/config.yaml
        # Metrics are for holders of tokens. Client certificates too would need one more right, to
        # read extension-apiserver-authentication in kube-system.
        - --authentication-skip-lookup=true
        {{- with .Values.scheduler.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: scheduler
          containerPort: 10259
      livenessProbe:
        httpGet:
          path: /livez
          port: scheduler
          scheme: HTTPS
        initialDelaySeconds: 10
        periodSeconds: 10
        timeoutSeconds: 15
        failureThreshold: 8
      readinessProbe:
        httpGet:
          path: /readyz
          port: scheduler
          scheme: HTTPS
        periodSeconds: 5
        timeoutSeconds: 15
      resources:
        {{- toYaml .Values.scheduler.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        - name: scheduler-config
          mountPath: /etc/kube-scheduler
          readOnly: true
    {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "topofit.fullname" . }}
    {{- range $name, $secret := $secrets }}
    - name: tls-{{ $name }}
      secret:
        secretName: {{ $secret }}
    {{- end }}
    {{- if .Values.scheduler.enabled }}
    - name: scheduler-config
      configMap:
        name: {{ include "topofit.fullname" . }}-scheduler
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
