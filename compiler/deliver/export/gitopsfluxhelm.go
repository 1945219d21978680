package export

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

const (
	sourceAPI = "source.toolkit.fluxcd.io/v1"
	helmAPI   = "helm.toolkit.fluxcd.io/v2"

	// chartLayer is the media type of chart archives in a registry.
	chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

	// digestAnnotation has the digest of a chart's archive where Flux has no field
	// for it.
	digestAnnotation = "fleetc.dev/chart-digest"

	// retries is the number of retries of Helm after a failure.
	retries = int64(3)
)

// helmReleases returns the Flux objects for the releases that Helm delivers, a
// HelmRelease and a source for each, and the timeouts of these releases.
func (l Layouter) helmReleases(b *fleet.Bundle, rules *kube.HealthRules) ([]fleet.Object, map[*fleet.Release]time.Duration, error) {
	var out []fleet.Object
	var faults diag.List
	timeouts := map[*fleet.Release]time.Duration{}
	for _, r := range b.Cluster.Releases {
		if r.Delivery != fleet.ByHelm {
			continue
		}
		chart := pinOf(b, r.Name)
		source, spec, err := fluxSource(r, chart, b.Cluster.GitOps.Flux)
		if err != nil {
			faults.Add(err)
			continue
		}
		checks, err := helmChecks(rules, b, r)
		faults.Add(err)
		timeouts[r] = max(b.Cluster.GitOps.Flux.Timeout, checks.timeout)
		spec["timeout"] = timeouts[r].String()
		if len(checks.expressions) > 0 {
			spec["healthCheckExprs"] = checks.expressions
		}
		for _, o := range []map[string]any{source, helmRelease(b, r, spec)} {
			out = append(out, fleet.Mark(l.Fleet, b.Cluster, fleet.Object{Unstructured: &unstructured.Unstructured{Object: o}, Release: r, Pos: r.Pos}))
		}
	}
	return out, timeouts, faults.Err()
}

// HelmReleaseName returns the name of Flux's object for a release that Helm delivers.
func HelmReleaseName(r *fleet.Release) string { return fluxPrefix + r.Name }

// helmChecks returns the health checks of a release that Helm delivers. A HelmRelease
// cannot wait for some objects of a kind only.
func helmChecks(rules *kube.HealthRules, b *fleet.Bundle, r *fleet.Release) (checks, error) {
	objs := diag.Filter(b.Objects, func(o fleet.Object) bool { return o.Release == r && len(fleet.HookEvents(o.Unstructured)) == 0 })
	c, err := checksOf(rules, objs)
	if err == nil && c.some != nil {
		err = &diag.Diag{
			Code: diag.CodeGitOpsUnsupported,
			At:   []diag.Pos{r.Pos}, Path: r.Path("health"), Msg: "Flux cannot wait for only some objects of a kind in a Helm release",
			Hint: "write one rule for the kind, or remove delivery: \"helm\"",
		}
	}
	return c, err
}

// helmRelease returns the HelmRelease of a release. It sets the policies for
// failures, CRDs and drift explicitly.
func helmRelease(b *fleet.Bundle, r *fleet.Release, from map[string]any) map[string]any {
	f := b.Cluster.GitOps.Flux
	spec := map[string]any{
		"interval":    f.Interval.String(),
		"releaseName": r.Name, "targetNamespace": r.Namespace, "storageNamespace": r.Namespace,
		"install": map[string]any{
			"crds": "Create", "createNamespace": !hasNamespace(b, r.Namespace), "remediation": map[string]any{"retries": retries},
		},
		"upgrade": map[string]any{
			"crds": "CreateReplace", "cleanupOnFail": true,
			"remediation": map[string]any{"retries": retries, "strategy": "rollback", "remediateLastFailure": true},
		},
		"driftDetection": map[string]any{"mode": "enabled"},
	}
	if len(r.Open) > 0 {
		// fleetc has checked the values; a waiver may accept what the schema rejects.
		for _, action := range []string{"install", "upgrade"} {
			spec[action].(map[string]any)["disableSchemaValidation"] = true
		}
	}
	maps.Copy(spec, from)
	if values, _ := r.Values.Native().(map[string]any); len(values) > 0 {
		spec["values"] = values
	}
	if patches := keepPatches(b, r); len(patches) > 0 {
		spec["postRenderers"] = []any{map[string]any{"kustomize": map[string]any{"patches": patches}}}
	}
	if f.ServiceAccountName != "" {
		spec["serviceAccountName"] = f.ServiceAccountName
	}
	o := object(helmAPI, "HelmRelease", f.Namespace, HelmReleaseName(r), spec)
	if digest := pinOf(b, r.Name).Digest; digest != "" {
		(&unstructured.Unstructured{Object: o}).SetAnnotations(map[string]string{digestAnnotation: digest})
	}
	return o
}

// keepPatches returns patches for the objects of a release that pruning must keep:
// otherwise Helm would delete them with the release.
func keepPatches(b *fleet.Bundle, r *fleet.Release) []any {
	var patches []any
	for _, o := range b.Objects {
		isHook := len(fleet.HookEvents(o.Unstructured)) > 0
		if o.Release != r || o.CRD || isHook || !isKept(o) || o.GetAnnotations()[fleet.HelmKeep] == "keep" {
			continue
		}
		patches = append(patches, map[string]any{
			"target": fluxTarget(o), // templates may leave out the namespace
			"patch":  "apiVersion: v1\nkind: Any\nmetadata: {name: any, annotations: {" + fleet.HelmKeep + ": keep}}\n",
		})
	}
	return patches
}

// hasNamespace reports whether the bundle contains the namespace. If Helm creates a
// namespace, it adds a label, even to an existing one.
func hasNamespace(b *fleet.Bundle, name string) bool {
	return slices.ContainsFunc(applied(b), func(o fleet.Object) bool {
		return o.GetKind() == "Namespace" && o.GroupVersionKind().Group == "" && o.GetName() == name
	})
}

// commit matches the hash of a commit.
var commit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// fluxSource returns the source object of a chart and the fields of the HelmRelease
// that refer to it.
func fluxSource(r *fleet.Release, chart fleet.ChartRef, f fleet.Flux) (source, spec map[string]any, err error) {
	name, interval := fluxPrefix+r.Name, f.Interval.String()
	byChart := func(kind string, fields map[string]any) map[string]any {
		fields["interval"], fields["sourceRef"] = interval, map[string]any{"kind": kind, "name": name}
		return map[string]any{"chart": map[string]any{"spec": fields}}
	}
	switch {
	case chart.Dependencies != "":
		return nil, nil, notDelivered(r, chart, "Flux")
	case strings.HasPrefix(chart.Repo, "oci://"):
		return object(sourceAPI, "OCIRepository", f.Namespace, name, map[string]any{
			"interval": interval, "url": strings.TrimSuffix(chart.Repo, "/") + "/" + chart.Name,
			"ref":           map[string]any{"tag": strings.ReplaceAll(chart.Version, "+", "_")}, // Helm's tag of the version
			"layerSelector": map[string]any{"mediaType": chartLayer, "operation": "copy"},
		}), map[string]any{"chartRef": map[string]any{"kind": "OCIRepository", "name": name}}, nil
	case chart.Repo != "":
		return object(sourceAPI, "HelmRepository", f.Namespace, name, map[string]any{"interval": interval, "url": chart.Repo}),
			byChart("HelmRepository", map[string]any{"chart": chart.Name, "version": chart.Version, "reconcileStrategy": "ChartVersion"}), nil
	case chart.Git.URL != "" && commit.MatchString(chart.Git.Ref):
		return object(sourceAPI, "GitRepository", f.Namespace, name, map[string]any{
			"interval": interval, "url": chart.Git.URL, "ref": map[string]any{"commit": chart.Git.Ref},
		}), byChart("GitRepository", map[string]any{"chart": "./" + path.Clean(chart.Git.Path), "reconcileStrategy": "Revision"}), nil
	}
	return nil, nil, notDelivered(r, chart, "Flux")
}

// notDelivered returns the fault for a chart that the GitOps tool cannot fetch, or
// would fetch with other content.
func notDelivered(r *fleet.Release, chart fleet.ChartRef, who string) error {
	d := &diag.Diag{
		Code: diag.CodeGitOpsUnsupported,
		At:   []diag.Pos{r.SourcePos}, Path: r.Path("chart"), Msg: who + " cannot fetch a chart that is stored in the repository of the fleet",
		Hint: `publish the chart, or remove delivery: "helm"`,
	}
	switch {
	case chart.Dependencies != "" && chart.Path == "":
		d.Msg = who + " fetches the dependencies of the chart by itself, without checking their pinned digests"
		d.Hint = `publish the chart with its dependencies, or remove delivery: "helm"`
	case chart.Git.URL != "":
		d.Code = diag.CodePin
		d.Msg, d.Hint = chart.Git.Ref+" is not a commit, and "+who+" would fetch whatever it names at that time", "pin a commit"
	}
	return d
}
