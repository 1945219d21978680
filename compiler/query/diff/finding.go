package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A Finding is something that a person should know or do before a change is merged. Package
// query makes findings.
type Finding struct {
	Reason   Reason   `json:"reason"`
	Severity Severity `json:"severity"`
	Object   string   `json:"object,omitempty"`  // Deployment.apps web/app; empty when it is about no single object
	Release  string   `json:"release,omitempty"` // its name
	Chart    string   `json:"chart,omitempty"`   // its location, when the finding is about the chart
	Clusters []string `json:"clusters"`          // sorted IDs
	Text     string   `json:"text"`              // the effect
	Hint     string   `json:"hint,omitempty"`    // the advice
}

// A Severity says how much a finding matters.
type Severity string

// The severities, most severe first.
const (
	Breaks Severity = "breaks" // the apply is refused, or objects or data are lost
	Check  Severity = "check"  // a person has to decide whether it is intended
	Note   Severity = "note"   // good to know
)

var severities = []Severity{Breaks, Check, Note}

// A Reason is the stable code of a kind of findings.
type Reason string

// The reasons, in the order in which findings are shown.
const (
	NewFault          Reason = "new-fault"          // the fleet has a fault that it did not have
	KubeVersion       Reason = "kube-version"       // the chart does not support the cluster's version of Kubernetes
	APINotServed      Reason = "api-not-served"     // the cluster does not serve the version of an object
	Refused           Reason = "refused"            // the cluster refused the object in a dry run
	FieldConflict     Reason = "conflict"           // another manager has fields of the object
	ImmutableField    Reason = "immutable-field"    // a field changes that cannot change
	CRDRemoved        Reason = "crd-removed"        // a CRD is deleted
	CRDVersion        Reason = "crd-version"        // a CRD no longer serves or lists a version
	CRDNarrowed       Reason = "crd-narrowed"       // a CRD accepts less than before
	CRDStorage        Reason = "crd-storage"        // a CRD stores another version
	ObjectDeleted     Reason = "object-deleted"     // an object is deleted
	ObjectReplaced    Reason = "object-replaced"    // an object is deleted, and another one with another name or kind is created
	ReleaseDeleted    Reason = "release-deleted"    // all objects of a release are deleted
	SelectorLost      Reason = "selector-lost"      // an object selects nothing any more
	HookNew           Reason = "hook-new"           // a Helm hook is new
	HookChanged       Reason = "hook-changed"       // a Helm hook does something else
	HookDeleted       Reason = "hook-deleted"       // a Helm hook is deleted
	ChartMajor        Reason = "chart-major"        // the chart has another major version
	ChartDeprecated   Reason = "chart-deprecated"   // the chart is deprecated
	AppMajor          Reason = "app-major"          // the application has another major version
	ImageMajor        Reason = "image-major"        // a container image has another major version
	ChartDependency   Reason = "chart-dependency"   // a dependency of the chart changes
	CapabilityMissing Reason = "capability-missing" // the chart asks for an API that the cluster does not declare
	DefaultChanged    Reason = "default-changed"    // a default of the chart changes on which the release relies
	NotTried          Reason = "not-tried"          // the cluster was not reachable for dry runs
)

var reasons = []Reason{
	NewFault, KubeVersion, APINotServed, Refused, FieldConflict, ImmutableField, CRDRemoved, CRDVersion, CRDNarrowed, CRDStorage, ObjectDeleted,
	ObjectReplaced, ReleaseDeleted, SelectorLost, HookNew, HookChanged, HookDeleted, ChartMajor, ChartDeprecated, AppMajor, ImageMajor, ChartDependency, CapabilityMissing, DefaultChanged, NotTried,
}

// GroupFindings returns the findings with equal ones of several clusters as one, the most
// severe first.
func GroupFindings(all []Finding) []Finding {
	type identity [7]string
	index := map[identity]int{}
	var out []Finding
	for _, f := range all {
		key := identity{string(f.Reason), string(f.Severity), f.Object, f.Release, f.Chart, f.Text, f.Hint}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			f.Clusters = slices.Clone(f.Clusters)
			out = append(out, f)
			continue
		}
		out[i].Clusters = append(out[i].Clusters, f.Clusters...)
	}
	for i := range out {
		out[i].Clusters = diag.Distinct(out[i].Clusters)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(
			slices.Index(severities, a.Severity)-slices.Index(severities, b.Severity), slices.Index(reasons, a.Reason)-slices.Index(reasons, b.Reason),
			strings.Compare(a.Release, b.Release), strings.Compare(a.Object, b.Object), strings.Compare(a.Text, b.Text),
			slices.Compare(a.Clusters, b.Clusters),
		)
	})
	return out
}
