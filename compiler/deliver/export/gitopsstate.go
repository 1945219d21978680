package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver/cluster"
)

// GitOpsState is the last verdict of the GitOps tool on an object.
type GitOpsState string

// The states of objects.
const (
	GitOpsReady     GitOpsState = "ready"   // it has applied a commit, and everything is healthy
	GitOpsFailed    GitOpsState = "failed"  // it has tried a commit, and will not succeed with it
	GitOpsSyncing   GitOpsState = "syncing" // it has no verdict
	GitOpsSuspended GitOpsState = "suspended"
)

// GitOpsObject is the state of a Kustomization or an Application.
type GitOpsObject struct {
	Kind      string      `json:"kind"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Fleet     string      `json:"fleet"` // the CUE module
	State     GitOpsState `json:"state"`

	Commit string `json:"commit,omitempty"` // that it has applied if it is ready, and tried if it has failed; empty for a chart
	Source string `json:"source,omitempty"` // see [GitOpsTarget]

	// Attempted is a commit that Flux has tried after Commit, if it is another one: after
	// Commit was ready, Flux may be applying it.
	Attempted string `json:"attempted,omitempty"`

	Since   time.Time `json:"since,omitzero"`    // since when it is ready
	Message string    `json:"message,omitempty"` // why it is not ready
}

// title names the object.
func (o *GitOpsObject) title() string {
	return o.Kind + " " + diag.Visible(o.Namespace+"/"+o.Name, diag.MaxText)
}

// The kinds whose objects are read.
var (
	kustomizations = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	applications   = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
)

// GitOpsNamespaces are the namespaces of the Kustomizations and Applications; none are read for
// an empty one.
type GitOpsNamespaces struct{ Flux, ArgoCD string }

// ReadGitOps reads the Kustomizations and Applications of each cluster of the fleets, by cluster
// ID. live is the cluster in which Flux or Argo CD runs.
func ReadGitOps(ctx context.Context, live *cluster.Cluster, n GitOpsNamespaces) (map[string][]GitOpsObject, error) {
	out := map[string][]GitOpsObject{}
	var forbidden error
	listed := false
	for _, one := range []struct {
		kind      schema.GroupVersionKind
		namespace string
		object    func(*unstructured.Unstructured) GitOpsObject
	}{{kustomizations, n.Flux, fromFlux}, {applications, n.ArgoCD, fromArgo}} {
		if one.namespace == "" {
			continue
		}
		all, err := live.List(ctx, one.kind, one.namespace, "")
		switch reason := cluster.ReasonOf(err); {
		case reason == cluster.NotFound: // the cluster does not have the kind
		case reason == cluster.Forbidden: // a report may need only one of the kinds
			forbidden = errors.Join(forbidden, fmt.Errorf("list the %ss of namespace %s: %w", one.kind.Kind, one.namespace, err))
			continue
		case err != nil:
			return nil, fmt.Errorf("list the %ss of namespace %s: %w", one.kind.Kind, one.namespace, err)
		}
		listed = listed || err == nil
		for i := range all {
			a := all[i].GetAnnotations()
			if id := a[fleet.ClusterAnnotation]; id != "" && a[fleet.FleetAnnotation] != "" {
				o := one.object(&all[i])
				o.Kind, o.Namespace, o.Name, o.Fleet = one.kind.Kind, all[i].GetNamespace(), all[i].GetName(), a[fleet.FleetAnnotation]
				out[id] = append(out[id], o)
			}
		}
	}
	if !listed && forbidden != nil {
		return nil, forbidden
	}
	return out, nil
}

// maxMessage limits the text of an object, in bytes.
const maxMessage = 1000

// text returns a nested text of an object; empty if there is none.
func text(o map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(o, path...)
	return s
}

// list returns the objects of a nested list.
func list(o map[string]any, path ...string) []map[string]any {
	all, _, _ := unstructured.NestedSlice(o, path...)
	var out []map[string]any
	for _, v := range all {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// moment returns a nested time; zero if there is none.
func moment(o map[string]any, path ...string) time.Time {
	t, _ := time.Parse(time.RFC3339, text(o, path...))
	return t
}

// latest returns the latest of times.
func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}

// message joins a reason and a message, and limits the length.
func message(reason, text string) string {
	if reason != "" && text != "" {
		reason += ": "
	}
	return diag.Line(reason+text, maxMessage)
}

// GitOpsTarget is an object in the directory of a cluster.
type GitOpsTarget struct {
	Kind, Namespace, Name string
	Source                string // digest of the fields that decide what it applies
	IsChart               bool   // it applies a chart, and no commit
}

// GitOpsVerdict is the state of a cluster.
type GitOpsVerdict struct {
	State GitOpsState
	Since time.Time // since when all objects are ready
	Texts []string  // about objects that are not ready
}

// JudgeGitOps compares the objects of a cluster with those of its directory. isCurrent reports
// whether the directory has the same content in a commit as now.
func JudgeGitOps(expected []GitOpsTarget, fleet string, found []GitOpsObject, isCurrent func(commit string) (bool, error)) (GitOpsVerdict, error) {
	v := GitOpsVerdict{State: GitOpsReady}
	for _, w := range expected {
		i := slices.IndexFunc(found, func(o GitOpsObject) bool {
			return o.Fleet == fleet && o.Kind == w.Kind && o.Namespace == w.Namespace && o.Name == w.Name
		})
		state, why := GitOpsSyncing, "does not exist yet"
		o := GitOpsObject{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
		if i >= 0 {
			o = found[i]
			current, err := isCurrent(o.Commit)
			if current && o.Attempted != "" {
				current, err = isCurrent(o.Attempted)
			}
			if err != nil {
				return v, err
			}
			state, why = o.compare(w, current)
		}
		if state == GitOpsReady {
			v.Since = latest(v.Since, o.Since)
			continue
		}
		v.Texts = append(v.Texts, o.title()+" "+why)
		if v.State != GitOpsFailed {
			v.State = GitOpsSyncing
		}
		if state == GitOpsFailed {
			v.State = GitOpsFailed
		}
	}
	return v, nil
}

// compare returns the state of an object for the present content of the directory, and
// why it is not ready. current says whether its commit has this content.
func (o *GitOpsObject) compare(w GitOpsTarget, current bool) (GitOpsState, string) {
	if w.IsChart {
		current = o.Source == w.Source
	}
	about := ""
	if o.Message != "" {
		about = ": " + diag.Line(o.Message, maxMessage)
	}
	commit := commitText(o.Commit)
	switch {
	case o.State == GitOpsSuspended:
		return GitOpsSyncing, "is suspended"
	case o.State == GitOpsReady && w.Source != o.Source:
		return GitOpsSyncing, "does not match the branch yet"
	case o.State == GitOpsReady && current:
		return GitOpsReady, ""
	case o.State == GitOpsReady && o.Attempted != "":
		return GitOpsSyncing, "has applied " + commit + " and tried " + commitText(o.Attempted) + ", and one of them does not have the current files"
	case o.State == GitOpsReady:
		return GitOpsSyncing, "has applied " + commit + ", which does not have the current files"
	case o.State == GitOpsFailed && current:
		return GitOpsFailed, "has failed" + about
	case o.State == GitOpsFailed:
		return GitOpsSyncing, "has failed with " + commit + ", which does not have the current files"
	}
	return GitOpsSyncing, "is not ready yet" + about
}

// commitText names a commit.
func commitText(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return "commit " + diag.Visible(commit[:min(len(commit), 12)], diag.MaxText)
}
