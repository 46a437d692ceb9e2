{{/* The settings in effect, as YAML: those of the values, and what the chart knows. */}}
{{- define "strongroom.settings" -}}
{{- $settings := deepCopy .Values.settings -}}
{{- $name := include "strongroom.name" . -}}
{{- $hosts := list -}}
{{- range list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- $hosts = concat $hosts (list . (printf "%s:*" .)) -}}
{{- end -}}
{{- $server := dig "server" dict $settings -}}
{{- $server = set $server "allowed_hosts" (concat (dig "allowed_hosts" list $server) $hosts) -}}
{{- $auth := merge (dig "auth" dict $settings) (dict "public_url" (include "strongroom.url" .)) -}}
{{- $settings = merge (dict "server" $server "auth" $auth) $settings -}}
{{- if .Values.cluster.enabled -}}
{{- $cluster := merge (dict "port" .Values.cluster.port) (dig "cluster" dict $settings) -}}
{{- $ops := merge (dict "shutdown_grace_s" (include "strongroom.grace" . | int)) (dig "ops" dict $settings) -}}
{{- $settings = merge (dict "cluster" $cluster "ops" $ops) $settings -}}
{{- end -}}
{{- range $setting, $file := .Values.secretFiles -}}
{{- $words := splitList "." $setting -}}
{{- $section := dig (first $words) dict $settings -}}
{{- $settings = set $settings (first $words) (set $section (last $words) (printf "/etc/strongroom/secrets/%s" $setting)) -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* One value as TOML. JSON's strings, numbers and truths are TOML's. */}}
{{- define "strongroom.toml" -}}
{{- $parts := list -}}
{{- if kindIs "map" . -}}
{{- range $name, $value := . -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $parts = append $parts (printf "%s = %s" (toJson $name) (include "strongroom.toml" $value)) -}}
{{- end -}}
{{- end -}}
{{- printf "{ %s }" (join ", " $parts) -}}
{{- else if kindIs "slice" . -}}
{{- range . -}}
{{- $parts = append $parts (include "strongroom.toml" .) -}}
{{- end -}}
{{- printf "[%s]" (join ", " $parts) -}}
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}

{{/* A setting by its dotted name, as JSON; null where it is not set. */}}
{{- define "strongroom.setting" -}}
{{- $value := .settings -}}
{{- range splitList "." .name -}}
{{- $value = ternary (dig . nil (ternary $value dict (kindIs "map" $value))) nil (kindIs "map" $value) -}}
{{- end -}}
{{- toJson $value -}}
{{- end -}}

{{/* Ends the rendering where settings would do what nobody wants. */}}
{{- define "strongroom.check" -}}
{{- range tuple "backup.secret_key" "cluster.url" "extraction.api_key" -}}
{{- if ne (include "strongroom.setting" (dict "settings" $.Values.settings "name" .)) "null" -}}
{{- fail (printf "settings.%s would lie in a ConfigMap, which many may read: put it into a Secret, and name that under secretFiles, \"%s_file\"" . .) -}}
{{- end -}}
{{- end -}}
{{- range tuple "server.host" "server.port" "ops.metrics_host" "ops.metrics_port" -}}
{{- if ne (include "strongroom.setting" (dict "settings" $.Values.settings "name" .)) "null" -}}
{{- fail (printf "settings.%s is set by the chart: see listen and service.port" .) -}}
{{- end -}}
{{- end -}}
{{- if eq (dig "auth" "mode" "token" .Values.settings) "none" -}}
{{- fail "settings.auth.mode: none makes everybody the owner, and is for one machine only" -}}
{{- end -}}
{{- if ne (hasKey .Values.secretFiles "server.tls_cert") (hasKey .Values.secretFiles "server.tls_key") -}}
{{- fail "secretFiles: server.tls_cert and server.tls_key belong together" -}}
{{- end -}}
{{- range tuple "cluster.host" "cluster.port" "cluster.name" "cluster.address" -}}
{{- if ne (include "strongroom.setting" (dict "settings" $.Values.settings "name" .)) "null" -}}
{{- fail (printf "settings.%s is set by the chart, for each pod: see cluster" .) -}}
{{- end -}}
{{- end -}}
{{- if ne .Values.cluster.enabled (hasKey .Values.secretFiles "cluster.url_file") -}}
{{- fail "cluster.enabled and secretFiles, \"cluster.url_file\" belong together" -}}
{{- end -}}
{{- if and .Values.cluster.enabled .Values.storage.existingClaim -}}
{{- fail "storage.existingClaim is one disk, and a cluster has one for each server: see cluster.claims" -}}
{{- end -}}
{{- if and .Values.cluster.enabled (gt (dig "server" "workers" 1 .Values.settings | int) 1) -}}
{{- fail "settings.server.workers: a server of a cluster is one process; add replicas" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{- if .Values.cluster.enabled -}}
{{- fail "cluster.enabled: PostgreSQL is outside of the pod, and networkPolicy.egress lets nothing out: add a rule for it there" -}}
{{- end -}}
{{- range tuple "auth.issuers" "auth.providers" "auth.client_hosts" "embedding.endpoint" "expansion.endpoint" "extraction.url" "social.moltbook.url" "ops.otlp_endpoint" "audit.syslog" "audit.webhook" "ingest.hosts" -}}
{{- if not (has (include "strongroom.setting" (dict "settings" $.Values.settings "name" .)) (list "null" "[]")) -}}
{{- fail (printf "settings.%s reaches out of the pod, and networkPolicy.egress lets nothing out: add a rule for it there" .) -}}
{{- end -}}
{{- end -}}
{{- if hasPrefix "s3://" (dig "backup" "to" "" .Values.settings) -}}
{{- fail "settings.backup.to is a bucket, and networkPolicy.egress lets nothing out: add a rule for it there" -}}
{{- end -}}
{{- end -}}
{{- end -}}
