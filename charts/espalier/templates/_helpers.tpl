{{/* Labels of every object. */}}
{{- define "espalier.labels" -}}
app.kubernetes.io/name: espalier
{{ include "espalier.helmLabels" . }}
{{- end }}

{{- define "espalier.helmLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") | quote }}
{{- end }}

{{- define "espalier.image" -}}
{{- $name := .Values.image.repository }}
{{- with .Values.image.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end }}
{{- with .Values.image.digest }}
{{- printf "%s@%s" $name . }}
{{- else }}
{{- printf "%s:%s" $name (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* Where images come from: part of every pod. */}}
{{- define "espalier.pulling" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The restricted profile of the Pod Security Standards. */}}
{{- define "espalier.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "espalier.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Whether the chart makes the namespace: Helm needs the release's own before it installs. */}}
{{- define "espalier.makesNamespace" -}}
{{- if and .Values.namespace.create (ne .Values.namespace.name .Release.Namespace) }}true{{ end }}
{{- end }}

{{- define "espalier.subject" -}}
- kind: ServiceAccount
  name: {{ .Values.serviceAccount.name }}
  namespace: {{ .Values.namespace.name }}
{{- end }}

{{/* One variable for each setting that has a value; toJson, since YAML's numbers are floats. */}}
{{- define "espalier.settings" -}}
{{- $structural := .Values.settings.structural }}
{{- if kindIs "invalid" $structural }}{{ $structural = .Values.rbac.structural }}{{ end }}
- name: ESPALIER_STRUCTURAL
  value: {{ ternary "on" "off" $structural | quote }}
{{- range $name, $value := omit .Values.settings "structural" }}
{{- if not (kindIs "invalid" $value) }}
- name: ESPALIER_{{ $name | snakecase | upper }}
  value: {{ $value | toJson | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Has Argo CD, Helm and Flux leave an object. */}}
{{- define "espalier.keep" -}}
argocd.argoproj.io/sync-options: Delete=false,Prune=false
helm.sh/resource-policy: keep
kustomize.toolkit.fluxcd.io/prune: disabled
{{- end }}
