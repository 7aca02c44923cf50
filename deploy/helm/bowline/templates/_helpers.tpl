{{/* The objects that the program prints for each provider of a list, such as for its roles: (dict "root" $ "providers" list "folder" "rbac"). */}}
{{- define "bowline.printed" -}}
{{- $objects := list }}
{{- range $provider := .providers }}
{{- range splitList "---\n" ($.root.Files.Get (printf "files/%s/%s.yaml" $.folder $provider)) }}
{{- if trim . }}
{{- $objects = append $objects (fromYaml .) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $objects }}
{{- end }}

{{/* The rules of a role for some providers: (dict "root" $ "providers" list "kind" "ClusterRole" "name" name). */}}
{{- define "bowline.rules" -}}
{{- $rules := list }}
{{- range include "bowline.printed" (dict "root" .root "providers" .providers "folder" "rbac") | fromYamlArray }}
{{- if and (eq .kind $.kind) (eq .metadata.name $.name) }}
{{- $rules = concat $rules .rules }}
{{- end }}
{{- end }}
{{- toYaml (uniq $rules) }}
{{- end }}

{{/* Labels that select the pods: those of `bowline manifests`, so that the chart can replace its Deployment. */}}
{{- define "bowline.selector" -}}
app.kubernetes.io/name: bowline
app.kubernetes.io/component: controllers
{{- end }}

{{- define "bowline.labels" -}}
app.kubernetes.io/name: bowline
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "bowline.image" -}}
{{- $repository := required "set image.repository to where the image is, such as registry.example.org/bowline (make image PUSH=registry.example.org/bowline:v1 builds and pushes it)" .Values.image.repository }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- if and (eq .Chart.AppVersion "devel") (not .Values.image.tag) }}
{{- fail "set image.tag to the tag that you pushed, such as v1, or image.digest" }}
{{- end }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Of pods and containers: the Pod Security Standard "restricted". */}}
{{- define "bowline.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "bowline.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
