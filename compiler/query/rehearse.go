package query

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// A RehearsalSide is one state of a cluster.
type RehearsalSide struct {
	Cluster *fleet.Cluster
	Objects []fleet.Object // with the hooks that an apply runs; nil when the cluster did not render
	Hooks   []fleet.Object // the other hooks; nil with Charts when they are not known
	CRDs    []fleet.Object // CRDs that the cluster has without a release
	Charts  map[fleet.ChartRef]compiler.LoadedChart
}

// maxListed is the maximum number of objects, fields or values that a finding lists.
const maxListed = 5

// A Rehearser compares the clusters of a fleet, and memoizes results for charts and CRDs that
// clusters share. The zero value is ready for concurrent use.
type Rehearser struct {
	asked    par.Memo[*fleet.Chart, map[string]bool]
	values   par.Memo[[2]*values.Type, []values.Change]
	narrowed par.Memo[[2]*unstructured.Unstructured, []versionNarrowing]
}

// Cluster returns the findings of one cluster, ungrouped. It compares objects only if both
// sides rendered, and skips incomplete ones.
func (c *Rehearser) Cluster(before, after RehearsalSide) []diff.Finding {
	for _, list := range []*[]fleet.Object{&before.Objects, &before.Hooks, &before.CRDs, &after.Objects, &after.Hooks, &after.CRDs} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(o fleet.Object) bool { return o.Unstructured == nil })
	}
	r := &rehearsal{Rehearser: c, before: before, after: after, old: byID(before.Objects), next: byID(after.Objects)}
	version, known := kube.Minor(after.Cluster.KubeVersion)
	r.charts()
	if before.Objects != nil && after.Objects != nil {
		r.crds()
		if known {
			r.unserved(version)
			r.immutable(version)
		}
		r.hooks()
		r.deleted()
		r.selectors()
		r.images()
	}
	return r.findings
}

// A rehearsal compares two states of a cluster.
type rehearsal struct {
	*Rehearser
	before, after RehearsalSide
	old, next     map[string]fleet.Object // objects by ID
	findings      []diff.Finding

	unusedNarrowings map[string][]string // of CRDs, by release
}

// add adds a finding about a cluster.
func (r *rehearsal) add(f diff.Finding) {
	f.Clusters = []string{r.after.Cluster.ID}
	r.findings = append(r.findings, f)
}

// about returns a finding about an object.
func about(o fleet.Object, reason diff.Reason, severity diff.Severity, text, hint string) diff.Finding {
	return diff.Finding{Reason: reason, Severity: severity, Object: o.ID(), Release: o.ReleaseName(), Text: text, Hint: hint}
}

// NewFaultFindings returns findings for faults that the fleet has only after a change.
func NewFaultFindings(faults error) []diff.Finding {
	var out []diff.Finding
	for _, d := range diag.All(faults) {
		text := d.Msg
		if d.Path != "" {
			text = d.Path + ": " + text
		}
		out = append(out, diff.Finding{Reason: diff.NewFault, Severity: diff.Breaks, Clusters: append([]string{}, d.Clusters...), Text: text, Hint: d.Hint})
	}
	return out
}

// byID returns the objects by ID.
func byID(objs []fleet.Object) map[string]fleet.Object {
	out := make(map[string]fleet.Object, len(objs))
	for _, o := range objs {
		out[o.ID()] = o
	}
	return out
}

// listed joins the first texts and counts the others.
func listed(texts []string) string { return diag.JoinFirst(texts, maxListed) }

// idsOf returns the sorted IDs of objects.
func idsOf(objs []fleet.Object) []string {
	return diag.Distinct(diag.Each(objs, fleet.Object.ID))
}

// kindOf returns the group and kind of an object.
func kindOf(o fleet.Object) schema.GroupKind { return o.GroupVersionKind().GroupKind() }
