{{/* At most 52 characters: a StatefulSet makes a label of its name and eleven more, and a label has 63. */}}
{{- define "strongroom.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains "strongroom" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-strongroom" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "strongroom.selector" -}}
app.kubernetes.io/name: strongroom
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "strongroom.labels" -}}
{{ include "strongroom.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "strongroom.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default (printf "%s-slim" .Chart.AppVersion)) -}}
{{- end -}}
{{- end -}}

{{/* Whether the server itself speaks TLS: a word or nothing. */}}
{{- define "strongroom.tls" -}}
{{- if hasKey .Values.secretFiles "server.tls_cert" -}}yes{{- end -}}
{{- end -}}

{{/* Seconds from SIGTERM until the server is gone. */}}
{{- define "strongroom.grace" -}}
{{- dig "ops" "shutdown_grace_s" (ternary .Values.cluster.drainSeconds 10 .Values.cluster.enabled) .Values.settings | ceil -}}
{{- end -}}

{{/* Where clients find it, unless the settings say. */}}
{{- define "strongroom.url" -}}
{{- if .Values.ingress.enabled -}}
{{- printf "%s://%s" (ternary "https" "http" (ne .Values.ingress.tlsSecret "")) .Values.ingress.host -}}
{{- else -}}
{{- printf "%s://%s.%s.svc:%v" (ternary "https" "http" (eq (include "strongroom.tls" .) "yes")) (include "strongroom.name" .) .Release.Namespace .Values.service.port -}}
{{- end -}}
{{- end -}}
