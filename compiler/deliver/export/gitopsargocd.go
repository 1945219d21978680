package export

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// Paths of the layout below the directory of a cluster. The first has the
// Applications, which apply to the cluster that runs Argo CD.
const (
	argoDir      = "argocd"
	manifestsDir = "manifests"
)

const (
	argoAPI       = "argoproj.io/v1alpha1"
	waveOption    = "argocd.argoproj.io/sync-wave"
	hookOption    = "argocd.argoproj.io/hook"
	deleteOption  = "argocd.argoproj.io/hook-delete-policy"
	syncOption    = "argocd.argoproj.io/sync-options"
	compareOption = "argocd.argoproj.io/compare-options"
	healthOption  = "argocd.argoproj.io/ignore-healthcheck"

	keepOption        = "Prune=false" // of syncOption
	keepDeletedOption = "Delete=false"
)

// Options for the comparisons of an Application. A comparison on the server ignores API
// defaults. It fails for all objects of the Application when an immutable field of one
// changes, so that Argo CD would not get to replace it.
const (
	serverSideDiff = "ServerSideDiff=true"
	clientSideDiff = "ServerSideDiff=false"
)

// argo lays out a bundle for Argo CD: one Application for the cluster, with a sync
// wave per step. Hooks run in the Sync phase, each in its wave. PreSync hooks would
// run before the first stage.
func (l Layouter) argo(b *fleet.Bundle) (*fleet.Bundle, error) {
	c := b.Cluster
	if c.GitOps.ArgoCD.RepoURL == "" {
		return nil, &diag.Diag{
			Code: diag.CodeLayout,
			At:   []diag.Pos{c.Pos}, Path: "gitops.argocd.repoURL", Msg: "the URL of the repository that Argo CD reads is required",
			Hint: `set it: gitops: argocd: repoURL: "https://..."`,
		}
	}
	rules, err := kube.CompileHealthRules(c)
	if err != nil {
		return nil, err
	}
	out := emptyBundle(b, fleet.ArgoLayout)
	var faults diag.List
	compare := serverSideDiff
	for _, s := range steps(b, applied(b), argoHook) {
		for _, o := range s.objects {
			if fleet.IsEncrypted(o.Unstructured) {
				faults.Add(&diag.Diag{
					Code: diag.CodeGitOpsUnsupported,
					At:   o.Places(), Path: o.Title(), Msg: "Argo CD cannot decrypt values encrypted with SOPS",
					Hint: "keep the values with External Secrets or Sealed Secrets",
				})
			}
			o, isReplaced := argoObject(o, s.wave, rules)
			if isReplaced {
				compare = clientSideDiff
			}
			if err := l.add(out, manifestsDir, o); err != nil {
				return nil, err
			}
		}
	}
	if len(out.Objects) > 0 {
		if err := l.application(out, argoName(c.ID), map[string]any{
			"path": placeOf(c.GitOps.ArgoCD.Prefix, c, manifestsDir), "directory": map[string]any{"recurse": true},
		}, leftToOthers(applied(b), argoIgnore), compare, nil); err != nil {
			return nil, err
		}
	}
	for _, r := range c.Releases {
		if r.Delivery != fleet.ByHelm {
			continue
		}
		source, err := l.argoChart(r, pinOf(b, r.Name))
		if err == nil {
			err = l.application(out, ChartApplicationName(c, r), source, nil, serverSideDiff, r)
		}
		faults.Add(err)
		faults.Add(unprotected(b, r))
	}
	faults.Add(unordered(c))
	return out, faults.Err()
}

// argoObject adds the options of Argo CD to an object, and returns whether it is replaced
// when an immutable field changes.
func argoObject(o fleet.Object, wave int, rules *kube.HealthRules) (_ fleet.Object, isReplaced bool) {
	o = annotate(o, waveOption, strconv.Itoa(wave))
	switch {
	case isKept(o):
		o = annotate(o, syncOption, options(o.GetAnnotations()[syncOption], keepOption, keepDeletedOption))
		// Without it, an Application stays OutOfSync when the export loses the object.
		o = annotate(o, compareOption, options(o.GetAnnotations()[compareOption], "IgnoreExtraneous"))
	case o.Release.MayReplace(o):
		o = annotate(o, syncOption, options(o.GetAnnotations()[syncOption], "Force=true", "Replace=true"))
		isReplaced = true
	}
	if _, waits := rules.Expressions(o); !waits {
		o = annotate(o, healthOption, "true")
	}
	return o, isReplaced
}

// unordered returns a fault for each release that depends on a release delivered by
// Helm. Argo CD syncs the Application of the cluster without waiting for that of a
// chart.
func unordered(c *fleet.Cluster) error {
	byHelm := map[string]bool{}
	for _, r := range c.Releases {
		byHelm[r.Name] = r.Delivery == fleet.ByHelm
	}
	var faults diag.List
	for _, r := range c.Releases {
		for i, name := range r.Depends {
			if byHelm[name] && !byHelm[r.Name] {
				faults.Add(&diag.Diag{
					Code: diag.CodeGitOpsUnsupported,
					At:   []diag.Pos{r.DependsPos[i]}, Path: r.Path("depends"),
					Msg:  fmt.Sprintf("Argo CD would not wait for release %s, which is a separate Application", name),
					Hint: "deliver both releases in the same way, see delivery",
				})
			}
		}
	}
	return faults.Err()
}

// unprotected returns a fault for each object of a release delivered by Helm that a prune by
// fleetc keeps, and that Argo CD would prune. It can neither patch the objects of a chart,
// nor does it obey helm.sh/resource-policy. It never prunes CRDs.
func unprotected(b *fleet.Bundle, r *fleet.Release) error {
	var faults diag.List
	for _, o := range b.Objects {
		isHook := len(fleet.HookEvents(o.Unstructured)) > 0
		if o.Release != r || isHook || !isKept(o) || o.GroupVersionKind().GroupKind() == fleet.CRDKind ||
			slices.Contains(fleet.ListItems(o.GetAnnotations()[syncOption]), keepOption) {
			continue
		}
		faults.Add(&diag.Diag{
			Code: diag.CodeGitOpsUnsupported,
			At:   o.Places(), Path: o.Title(), Msg: "Argo CD would delete it when the chart no longer has it",
			Hint: fmt.Sprintf(`remove delivery: "helm", or have the chart annotate it with %s: %s,%s`, syncOption, keepOption, keepDeletedOption),
		})
	}
	return faults.Err()
}

// application adds an Application with the given source, ignored fields and option for
// comparisons. r is the release that Helm delivers, or nil for the Application of the
// cluster.
func (l Layouter) application(to *fleet.Bundle, name string, source map[string]any, left []any, compare string, r *fleet.Release) error {
	c := to.Cluster
	a := c.GitOps.ArgoCD
	if source["repoURL"] == nil {
		source["repoURL"], source["targetRevision"] = a.RepoURL, a.TargetRevision
	}
	destination := map[string]any{"name": c.Name}
	if a.Server != "" {
		destination = map[string]any{"server": a.Server}
	}
	sync := []any{"ServerSideApply=true"}
	if len(left) > 0 {
		sync = append(sync, "RespectIgnoreDifferences=true")
	}
	if r != nil {
		destination["namespace"] = r.Namespace
		sync = append(sync, "CreateNamespace=true")
	}
	policy := map[string]any{
		"syncOptions": sync,
		"retry": map[string]any{
			"limit": int64(5), "backoff": map[string]any{"duration": "30s", "factor": int64(2), "maxDuration": "5m"},
			"refresh": true, // a retry uses the commit that repairs the failed one
		},
	}
	if a.Automated {
		policy["automated"] = map[string]any{"prune": true, "selfHeal": true}
	}
	spec := map[string]any{"project": a.Project, "source": source, "destination": destination, "syncPolicy": policy}
	if len(left) > 0 {
		spec["ignoreDifferences"] = left
	}
	o := object(argoAPI, "Application", a.Namespace, name, spec)
	annotations := map[string]string{compareOption: compare}
	if r != nil {
		annotations[waveOption] = strconv.Itoa(slices.Index(c.ApplySteps(), r.ApplyStep()) * wavesOfLevel)
		if digest := pinOf(to, r.Name).Digest; digest != "" {
			annotations[digestAnnotation] = digest
		}
	}
	u := &unstructured.Unstructured{Object: o}
	u.SetAnnotations(annotations)
	u.SetLabels(a.Labels)
	return l.own(to, path.Join(argoDir, name+".yaml"), o)
}

// argoChart returns the source of an Application for a release that Helm delivers.
func (l Layouter) argoChart(r *fleet.Release, chart fleet.ChartRef) (map[string]any, error) {
	helm := map[string]any{"releaseName": r.Name}
	if len(r.Open) > 0 {
		helm["skipSchemaValidation"] = true // a waiver may accept what the schema rejects
	}
	switch values, _ := r.Values.Native().(map[string]any); {
	case len(values) > 0 && hasNull(r.Values):
		text, err := l.Encode(values)
		if err != nil {
			return nil, err
		}
		helm["values"] = string(text)
	case len(values) > 0:
		helm["valuesObject"] = values
	}
	switch {
	case chart.Dependencies != "":
		return nil, notDelivered(r, chart, "Argo CD")
	case chart.Repo != "":
		return map[string]any{
			// Argo CD expects registries without a scheme.
			"repoURL": strings.TrimPrefix(chart.Repo, "oci://"), "chart": chart.Name, "targetRevision": chart.Version, "helm": helm,
		}, nil
	case chart.Git.URL != "" && commit.MatchString(chart.Git.Ref):
		return map[string]any{
			"repoURL": chart.Git.URL, "path": path.Clean(chart.Git.Path), "targetRevision": chart.Git.Ref, "helm": helm,
		}, nil
	}
	return nil, notDelivered(r, chart, "Argo CD")
}

// hasNull reports whether values contain a null, which deletes a default of the chart. An
// apply of an Application drops nulls of valuesObject.
func hasNull(values *fleet.Tree) (found bool) {
	values.EachScalar(func(_ []string, scalar *fleet.Tree) { found = found || scalar.Scalar == nil })
	return found
}

// argoHook converts a hook to an Argo CD hook, which runs at every sync. A hook that
// does not run becomes an ordinary object.
func argoHook(o fleet.Object, p part) fleet.Object {
	policies := map[string]string{"hook-succeeded": "HookSucceeded", "hook-failed": "HookFailed"}
	deletions := []string{"BeforeHookCreation"} // an existing Job would block the new one
	for _, w := range fleet.HookDeletions(o.Unstructured) {
		if policy := policies[w]; policy != "" {
			deletions = append(deletions, policy)
		}
	}
	o = hook(o, p)
	if !fleet.HookRuns(o.Unstructured) {
		return o
	}
	return annotate(annotate(o, hookOption, "Sync"), deleteOption, strings.Join(deletions, ","))
}

// options appends options to a comma-separated list.
func options(list string, more ...string) string {
	all := fleet.ListItems(list)
	for _, o := range more {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return strings.Join(all, ",")
}

// ChartApplicationName returns the name of the Application of a release that Helm delivers.
func ChartApplicationName(c *fleet.Cluster, r *fleet.Release) string {
	return argoName(c.ID) + "--" + r.Name
}

// ApplicationRelease returns the release whose [ChartApplicationName] a file of a bundle has;
// empty for other files.
func ApplicationRelease(cluster, file string) string {
	name, _ := strings.CutPrefix(file, path.Join(argoDir, argoName(cluster)+"--"))
	if name == file {
		return ""
	}
	return strings.TrimSuffix(name, extension)
}

// argoName returns the name of the Application of a cluster. An ID has a digest at the end if
// another one, or [ChartApplicationName], could give the same name.
func argoName(id string) string {
	name := strings.ReplaceAll(id, "/", ".")
	isUnique := !strings.Contains(id, ".") && !strings.Contains(id, "--")
	if isUnique && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	legal := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(strings.ReplaceAll(legal, "..", "."), "-.") + "-" + short(id)
}
