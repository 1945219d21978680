package importer

// Texts for fields that several kinds have.
const (
	noPolling       = "nothing to do: fleetc does not poll; gitops.flux.interval is the interval of an export for Flux"
	noRetry         = "nothing to do: fleetc apply reports a failure and can run again; gitops.flux.retryInterval is for an export for Flux"
	noAccount       = "fleetc apply uses the kubeconfig of its user; gitops.flux.serviceAccountName is for an export for Flux"
	noRemote        = "Flux applies the objects to another cluster, and the import wrote them for this one: move the releases into the layer of that cluster"
	fluxNoLabels    = "nothing to do: the object itself does not exist in the fleet"
	fluxCredentials = "use docker login or helm repo add: credentials are not part of the fleet"
)

// skipRules are the labels and annotations with which Flux does not apply an object.
var skipRules = map[string]string{
	"reconcile: disabled": "Flux does not touch this object; fleetc would apply it: remove it from the fleet until it is wanted",
	"ssa: Ignore":         "Flux does not apply this object; fleetc would apply it: remove it from the fleet",
}

// applyRules are the labels and annotations that change how Flux applies an object.
var applyRules = map[string]string{
	"reconcile: disabled": skipRules["reconcile: disabled"],
	"ssa: Ignore":         skipRules["ssa: Ignore"],
	"ssa: IfNotPresent":   "Flux only creates this object; fleetc would also reset its fields: list those of others under ownership with leave: true",
	"ssa: Merge":          "nothing to do: fleetc keeps fields that others add, unless you pass --strict",
	"force: enabled":      "name the kind of the object under replace",
	"prune: disabled":     "fleetc prunes this object when it leaves the bundle: keep it with the annotation helm.sh/resource-policy: keep",
}

// fluxWithMetadata adds the fields of metadata, which all kinds share, to a table.
func fluxWithMetadata(t Table) Table {
	return t.with("", map[string]string{
		"apiVersion": "", "kind": "", "metadata.name": "", "metadata.namespace": "", "metadata.creationTimestamp": "", "status": "",
		"metadata.labels": fluxNoLabels, "metadata.annotations": fluxNoLabels,
	})
}

// helmReleaseTable has the fields of a HelmRelease.
var helmReleaseTable = fluxWithMetadata(Table{
	"spec.values":                     "",
	"spec.valuesFrom":                 "", // fluxvalues.go notes missing values
	"spec.chartRef":                   "",
	"spec.chart.metadata":             fluxNoLabels,
	"spec.interval":                   noPolling,
	"spec.targetNamespace":            "",
	"spec.releaseName":                "",
	"spec.storageNamespace":           "delivery: \"helm\" stores a release in its own namespace",
	"spec.dependsOn.*.name":           "",
	"spec.dependsOn.*.namespace":      "",
	"spec.dependsOn.*.readyExpr":      "write the expression as a test under health of the other release",
	"spec.timeout":                    "",
	"spec.suspend":                    "Flux does not touch this release; fleetc would apply it: leave it out with clusters, or delete it, until it is wanted",
	"spec.maxHistory":                 "cluster.history is the number of bundles that a cluster keeps",
	"spec.serviceAccountName":         noAccount,
	"spec.kubeConfig":                 noRemote,
	"spec.persistentClient":           "nothing to do: fleetc has no client that persists",
	"spec.commonMetadata.labels":      "",
	"spec.commonMetadata.annotations": "",
	"spec.postRenderers":              "", // fluxpatches.go notes the fields without a counterpart
	"spec.driftDetection.mode":        "fleetc diff --live shows drift, and apply reverts it",
	"spec.driftDetection.ignore":      "", // fluxpatches.go notes the fields without a counterpart
	"spec.install.crds":               "",
	"spec.upgrade.crds":               "Helm does not upgrade the CRDs of a crds directory unless this field requests it; fleetc always applies those of the pinned chart",
	"spec.install.createNamespace":    "write the Namespace as an object of a release",
	"spec.install.replace":            "nothing to do: fleetc apply does not reuse names of deleted releases",
	"spec.install.skipCRDs":           "remove the CRDs with a patch",
	"spec.upgrade.force":              "name the kinds that may be recreated under replace",
	"spec.upgrade.cleanupOnFail":      "nothing to do: fleetc rollback reverts to an earlier bundle",
	"spec.upgrade.preserveValues":     "write the values into the release: fleetc does not reuse those of the last upgrade",
	"spec.rollback":                   "nothing to do: fleetc rollback reverts to an earlier bundle",
	"spec.uninstall":                  "nothing to do: fleetc prunes objects that leave the bundle",
	"spec.test":                       "set tests: true to apply Helm's test hooks",
	"spec.waitStrategy":               "nothing to do: health says when objects are ready",
	"spec.healthCheckExprs":           "write the expressions as rules under health",
}.with("spec.install.", helmAction).with("spec.upgrade.", helmAction).with("spec.chart.spec.", chartTemplate))

// helmAction has the fields that an install and an upgrade share.
var helmAction = map[string]string{
	"remediation":              noRetry,
	"strategy":                 noRetry,
	"timeout":                  "set a timeout under health of the release",
	"disableWait":              "set wait: false under health of the release",
	"disableWaitForJobs":       "set wait: false for Jobs under health of the release",
	"disableHooks":             "fleetc applies hooks as objects: remove them with a patch",
	"disableOpenAPIValidation": "nothing to do: fleetc checks objects before it applies them",
	"disableSchemaValidation":  "", // the proof adds waivers
	"disableTakeOwnership":     "fleetc apply adopts objects of others only with --adopt",
	"serverSideApply":          "nothing to do: fleetc uses server-side apply",
}

// chartTemplate has the fields of a chart in a HelmRelease or HelmChart.
var chartTemplate = map[string]string{
	"chart":                    "",
	"version":                  "",
	"sourceRef":                "",
	"interval":                 noPolling,
	"valuesFiles":              "write the values of these files of the chart into the release",
	"verify":                   "fleetc pins the digest of the chart instead of verifying its signature",
	"reconcileStrategy":        "nothing to do: the pin of the chart changes in the fleet's files",
	"ignoreMissingValuesFiles": "nothing to do without valuesFiles",
}

// kustomizationTable has the fields of a Kustomization.
var kustomizationTable = fluxWithMetadata(Table{
	"spec.path":                       "",
	"spec.sourceRef":                  "",
	"spec.targetNamespace":            "",
	"spec.namePrefix":                 "",
	"spec.nameSuffix":                 "",
	"spec.patches":                    "",
	"spec.images":                     "",
	"spec.components":                 "",
	"spec.ignoreMissingComponents":    "",
	"spec.commonMetadata.labels":      "",
	"spec.commonMetadata.annotations": "",
	"spec.postBuild.substitute":       "",
	"spec.postBuild.substituteFrom":   "", // fluxsubstitute.go notes missing variables
	"spec.dependsOn.*.name":           "",
	"spec.dependsOn.*.namespace":      "",
	"spec.dependsOn.*.readyExpr":      "write the expression as a test under health of the other releases",
	"spec.interval":                   noPolling,
	"spec.retryInterval":              noRetry,
	"spec.timeout":                    "set a timeout under health of the releases, or gitops.flux.timeout for an export for Flux",
	"spec.prune":                      "",
	"spec.deletionPolicy":             "fleetc destroy deletes a cluster's objects; nothing else does",
	"spec.wait":                       "nothing to do: releases that depend on another wait until it is ready",
	"spec.force":                      "name the kinds that may be recreated under replace",
	"spec.suspend":                    "Flux does not touch these objects; fleetc would apply them: leave the releases out with clusters, or delete them, until they are wanted",
	"spec.serviceAccountName":         noAccount,
	"spec.kubeConfig":                 noRemote,
	"spec.decryption":                 "encrypted Secrets stay encrypted: set gitops.flux.decryptionSecret for an export for Flux",
	"spec.healthChecks":               "nothing to do: fleetc waits for all objects of a release",
	"spec.healthCheckExprs":           "write the expressions as rules under health",
	"spec.buildMetadata":              "nothing to do: fleetc labels objects with their release",
})

// sourceTable has the fields of sources of charts, and of the imported repository.
var sourceTable = fluxWithMetadata(Table{
	"spec.url":                "",
	"spec.ref":                "",
	"spec.type":               "",
	"spec.layerSelector":      "",
	"spec.provider":           "",
	"spec.interval":           noPolling,
	"spec.timeout":            noPolling,
	"spec.secretRef":          fluxCredentials,
	"spec.certSecretRef":      fluxCredentials,
	"spec.proxySecretRef":     fluxCredentials,
	"spec.serviceAccountName": fluxCredentials,
	"spec.passCredentials":    fluxCredentials,
	"spec.insecure":           "fleetc uses plain HTTP only for loopback addresses",
	"spec.verify":             "fleetc pins the digest of the chart instead of verifying its signature",
	"spec.ignore":             "", // fluxignore.go hides the files
	"spec.include":            "charts cannot include other repositories: copy the files",
	"spec.recurseSubmodules":  "fleetc does not read submodules: copy the files",
	"spec.sparseCheckout":     "",
	"spec.suspend":            noPolling,
	"spec.endpoint":           "",
	"spec.bucketName":         "",
	"spec.region":             "",
	"spec.prefix":             "",
})

// helmChartTable has the fields of a HelmChart that a HelmRelease refers to.
var helmChartTable = fluxWithMetadata(Table{"spec.suspend": noPolling}.with("spec.", chartTemplate))

// artifactTable has the fields of an ArtifactGenerator.
var artifactTable = fluxWithMetadata(Table{
	"spec.sources":                    "",
	"spec.artifacts.*.name":           "",
	"spec.artifacts.*.copy":           "",
	"spec.artifacts.*.revision":       "nothing to do: the fleet is one revision",
	"spec.artifacts.*.originRevision": "nothing to do: the fleet is one revision",
})
