package importer

// Texts for several fields.
const (
	noSync   = "nothing to do: fleetc apply or an export decides when a cluster changes"
	noLabels = "nothing to do: the Application itself does not exist in the fleet"
	noPlugin = "fleetc does not run plugins: write their output as manifests, or write the release as a chart, Jsonnet or CUE"
)

// applicationTable has the fields of an Application.
var applicationTable = Table{
	"apiVersion": "", "kind": "", "metadata.name": "",
	"metadata.namespace":                             noLabels,
	"metadata.labels":                                noLabels,
	"metadata.annotations":                           "Argo CD reads these annotations, such as the sync wave: write the order as depends or as a stage",
	"metadata.finalizers":                            noLabels,
	"operation":                                      noSync,
	"status":                                         "",
	"spec.destination":                               "",
	"spec.project":                                   "nothing to do: an export in the layout argocd uses the project of gitops.argocd",
	"spec.revisionHistoryLimit":                      "cluster.history is the number of bundles that a cluster stores",
	"spec.info":                                      noLabels,
	"spec.ignoreDifferences.*.group":                 "",
	"spec.ignoreDifferences.*.kind":                  "",
	"spec.ignoreDifferences.*.name":                  "",
	"spec.ignoreDifferences.*.namespace":             "",
	"spec.ignoreDifferences.*.jsonPointers":          "", // argorelease.go notes the fields without a counterpart
	"spec.ignoreDifferences.*.jqPathExpressions":     "write the fields under ownership with leave: true",
	"spec.ignoreDifferences.*.managedFieldsManagers": "write the fields of these managers under ownership with leave: true",
	"spec.syncPolicy.automated":                      noSync,
	"spec.syncPolicy.retry":                          noSync,
	"spec.syncPolicy.syncOptions":                    "CreateNamespace: write the Namespace as an object of a release; the other options concern Argo CD",
	"spec.syncPolicy.managedNamespaceMetadata":       "write the Namespace with these labels and annotations as an object of a release",
}.with("spec.source.", applicationSource).with("spec.sources.*.", applicationSource)

// Hints for the versions for which Argo CD renders charts.
const (
	kubeVersionHint = "the proof compares with what Argo CD renders for this version: set cluster.kubernetes if the cluster has it"
	apiVersionsHint = "the proof compares with what Argo CD renders for these versions: add the versions that are missing to cluster.apis"
)

// applicationSource has the fields of a source of an Application.
var applicationSource = map[string]string{
	"repoURL": "", "chart": "", "targetRevision": "", "path": "", "ref": "", "name": "",
	"helm.releaseName": "", "helm.values": "", "helm.valuesObject": "", "helm.valueFiles": "", "helm.ignoreMissingValueFiles": "",
	"helm.parameters": "", "helm.skipCrds": "", "helm.version": "",
	"helm.fileParameters":       "",
	"helm.passCredentials":      "use helm repo add or docker login: credentials are not part of the fleet",
	"helm.skipSchemaValidation": "", // the proof adds waivers
	"helm.skipTests":            "nothing to do: tests: false is the default",
	"helm.namespace":            "fleetc renders the chart for the namespace of the release, and the proof compares with what Argo CD renders for helm.namespace: check releases that differ",
	"helm.kubeVersion":          kubeVersionHint,
	"helm.apiVersions":          apiVersionsHint,
	"kustomize.namePrefix":      "", "kustomize.nameSuffix": "", "kustomize.images": "", "kustomize.namespace": "", "kustomize.replicas": "",
	"kustomize.patches": "", "kustomize.components": "", "kustomize.commonLabels": "", "kustomize.commonAnnotations": "",
	"kustomize.labelWithoutSelector":      "", // argorelease.go reads it
	"kustomize.labelIncludeTemplates":     "", // argorelease.go reads it
	"kustomize.forceCommonLabels":         "nothing to do: the labels replace others",
	"kustomize.forceCommonAnnotations":    "nothing to do: the annotations replace others",
	"kustomize.commonAnnotationsEnvsubst": "",
	"kustomize.ignoreMissingComponents":   "remove components that do not exist",
	"kustomize.version":                   "nothing to do: fleetc builds with its own kustomize",
	"kustomize.kubeVersion":               kubeVersionHint,
	"kustomize.apiVersions":               apiVersionsHint,
	"directory.recurse":                   "", "directory.include": "", "directory.exclude": "",
	"directory.jsonnet.tlas":    "",
	"directory.jsonnet.libs":    "", // argojsonnet.go notes those that it does not read
	"directory.jsonnet.extVars": "write a release with jsonnet, whose values are top-level arguments",
	"plugin":                    noPlugin,
}

// setTable has the fields of an ApplicationSet besides its template and generators.
var setTable = Table{
	"apiVersion": "", "kind": "", "metadata.name": "", "metadata.namespace": "", "status": "",
	"metadata.labels": noLabels, "metadata.annotations": noLabels, "metadata.finalizers": noLabels,
	"spec.generators": "", "spec.template": "", "spec.goTemplate": "", "spec.goTemplateOptions": "", "spec.templatePatch": "",
	"spec.syncPolicy":                   noSync,
	"spec.strategy":                     "nothing to do: each cluster is applied or exported on its own",
	"spec.preservedFields":              noLabels,
	"spec.ignoreApplicationDifferences": noLabels,
	"spec.applyNestedSelectors":         noLabels,
}
