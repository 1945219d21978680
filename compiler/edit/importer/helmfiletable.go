package importer

import (
	"slices"
	"strings"
)

// Texts for several fields.
const (
	applyWaits    = "nothing to do: fleetc apply waits until objects are ready, see docs/health.md"
	helmOnly      = "nothing to do: it is an option of Helm's own upgrade"
	optionsOfHelm = "write values of --set and other options that change objects into the release; other options need nothing"
	credentials   = "nothing to do: use helm repo add or docker login; credentials are not part of the fleet"
	selectsOnly   = "nothing to do: labels select releases for helmfile; fleetc selects them by name and cluster"
	noValidation  = "nothing to do: fleetc checks objects before it applies them"
	noOutput      = "nothing to do: it concerns the output of helmfile"
	noPrograms    = "fleetc does not run programs on rendered objects: write what it changes as patches, see docs/patches.md"
	noDeletion    = "nothing to do: fleetc prunes objects that are no longer in the bundle"
	fleetVersions = "set cluster.kubernetes, and cluster.apis for kinds without a CRD in the fleet"
)

// helmFields are fields that both a release and helmDefaults have.
var helmFields = map[string]string{
	"timeout": "", "kubeContext": "",
	"args": optionsOfHelm, "diffArgs": helmOnly, "syncArgs": optionsOfHelm,
	"verify": helmOnly, "keyring": helmOnly, "devel": "nothing to do: the pinned version is in the fleet",
	"wait": applyWaits, "waitRetries": applyWaits, "waitForJobs": applyWaits,
	"atomic": "nothing to do: fleetc rollback returns to a revision", "cleanupOnFail": helmOnly, "force": "list the kinds under replace, see docs/apply.md",
	"recreatePods": helmOnly, "historyMax": "cluster.history is the number of bundles that a cluster stores",
	"createNamespace": "write the Namespace as an object of a release",
	"enableDNS":       "the charts of a fleet are rendered without DNS: write the addresses into the values",
	"reuseValues":     "values of earlier upgrades are unknown: write them into the release, or compare with fleetc diff --live",
	"skipDeps":        helmOnly, "skipRefresh": helmOnly,
	"postRenderer": noPrograms, "postRendererArgs": noPrograms,
	"skipSchemaValidation": "", "disableValidation": noValidation, "disableOpenAPIValidation": noValidation,
	"insecureSkipTLSVerify": credentials, "plainHttp": credentials,
	"suppressOutputLineRegex": noOutput, "cascade": noDeletion, "deleteWait": noDeletion, "deleteTimeout": noDeletion,
	"syncReleaseLabels": helmOnly, "takeOwnership": "use fleetc apply --adopt",
}

// releaseFields are the other fields of a release.
var releaseFields = map[string]string{
	"name": "", "namespace": "", "chart": "", "directory": "", "version": "", "values": "", "valuesTemplate": "", "set": "", "setString": "", "setTemplate": "",
	"secrets": "", "needs": "", "installed": "", "installedTemplate": "", "condition": "", "inherit": "", "missingFileHandler": "", "env": "", "valuesPathPrefix": "",
	"strategicMergePatches": "", "jsonPatches": "", "transformers": "", // patches.go notes the fields without a counterpart
	"hooks":                      "", // hooks.go notes the fields without a counterpart
	"labels":                     selectsOnly,
	"missingFileHandlerConfig":   "nothing to do: fleetc import does not fetch values",
	"disableValidationOnInstall": noValidation,
	"apiVersions":                fleetVersions,
	"kubeVersion":                fleetVersions,
	"dependencies":               "write a chart with these dependencies into charts/, and name it as the chart of the release",
	"forceNamespace":             "write the namespace with a patch, see docs/patches.md",
	"adopt":                      "use fleetc apply --adopt",
	"forceGoGetter":              helmOnly,
	"suppressDiff":               noOutput,
	"waitTemplate":               applyWaits,
	"verifyTemplate":             helmOnly,
	"chartPath":                  helmOnly,
}

// stateTable has the fields of a helmfile.
var stateTable = Table{
	"values": "", "bases": "", "helmfiles": "", "kubeContext": "", "namespace": "", "missingFileHandler": "",
	"environments.*.values": "", "environments.*.secrets": "", "environments.*.kubeContext": "", "environments.*.missingFileHandler": "",
	"environments.*.missingFileHandlerConfig": "nothing to do: fleetc import does not fetch values",
	"missingFileHandlerConfig":                "nothing to do: fleetc import does not fetch values",
	"commonLabels":                            selectsOnly,
	"hooks":                                   "write them as actions of a stage, see docs/actions.md",
	"apiVersions":                             fleetVersions,
	"kubeVersion":                             fleetVersions,
	"chart":                                   "write the chart into each release",
	"helmBinary":                              "nothing to do: fleetc renders charts itself",
	"kustomizeBinary":                         "nothing to do: fleetc builds with its own kustomize",
	"lockFilePath":                            "",
}.with("repositories.*.", repositoryFields).with("helmDefaults.", helmFields).
	with("releases.*.", helmFields).with("releases.*.", releaseFields).
	with("templates.*.", helmFields).with("templates.*.", releaseFields)

// repositoryFields are the fields of a repository of charts.
var repositoryFields = map[string]string{
	"name": "", "url": "", "oci": "",
	"caFile": credentials, "certFile": credentials, "keyFile": credentials, "username": credentials, "password": credentials, "registryConfig": credentials,
	"managed": credentials, "verify": credentials, "keyring": credentials, "passCredentials": credentials, "skipTLSVerify": credentials, "plainHttp": credentials,
}

// account adds the fields of a part of a helmfile that are not carried. The field of a note
// has neither indices nor names, so that equal notes are one in the report.
func (e *environmentRun) account(s *Document, content map[string]any) {
	for _, n := range accountFor(content, "helmfile "+s.File, stateTable, s.At) {
		keys := strings.Split(n.Field, ".")
		if len(keys) > 2 && slices.Contains([]string{"releases", "templates", "repositories", "environments"}, keys[0]) { //nolint:mnd // list, element and field
			keys = append(keys[:1:1], keys[2:]...)
		}
		e.note(n.Pos, n.Doc, strings.Join(keys, "."), n.Do)
	}
}
