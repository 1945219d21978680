package kube

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A HealthState is the health of an object.
type HealthState string

const (
	HealthReady       HealthState = "ready"
	HealthInProgress  HealthState = "in progress" // its controller works on it or has not started
	HealthFailed      HealthState = "failed"      // it will not become ready without a change
	HealthTerminating HealthState = "terminating" // it is being deleted
	HealthMissing     HealthState = "missing"     // it does not exist

	// HealthUnknown is the state of an object whose status is not conclusive and may
	// never be: a custom resource without conditions, or a volume claim that waits
	// for its first consumer. [HealthWaiting.Step] accepts it as ready after a grace
	// period.
	HealthUnknown HealthState = "unknown"
)

// A HealthVerdict is the state of an object with the reason.
type HealthVerdict struct {
	State  HealthState
	Reason string // a clause about the object or its parts: 2 of 3 pods are ready
}

// HealthRules are the compiled rules of one cluster. A nil *HealthRules has none. They are safe
// for concurrent use after [HealthRules.AddCRDs].
type HealthRules struct {
	fleet      []*rule
	releases   map[string][]*rule
	statusless map[schema.GroupKind]bool // kinds without a status
}

// CompileHealthRules returns the rules of a cluster, or the faults of [CheckHealthRules].
func CompileHealthRules(c *fleet.Cluster) (*HealthRules, error) {
	if err := CheckHealthRules(c); err != nil {
		return nil, err
	}
	r := &HealthRules{fleet: sortRules(c.Health), releases: map[string][]*rule{}, statusless: map[schema.GroupKind]bool{}}
	for _, release := range c.Releases {
		r.releases[release.Name] = sortRules(release.Health)
	}
	return r, nil
}

// sortRules returns rules in the order of their evaluation: first rules that select
// some objects of a kind, then by name.
func sortRules(rules []fleet.HealthRule) []*rule {
	out := diag.Each(rules, newRule)
	narrow := func(r *rule) int {
		m := r.Match
		if len(m.Names)+len(m.Namespaces)+len(m.Releases)+len(m.Labels) > 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b *rule) int {
		return cmp.Or(cmp.Compare(narrow(a), narrow(b)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// AddCRDs adds the CRDs among the objects: objects of a kind without a status are
// ready as soon as they exist.
func (r *HealthRules) AddCRDs(objects ...fleet.Object) {
	for _, o := range objects {
		if gk, ok := statuslessKind(o.Unstructured); ok {
			r.statusless[gk] = true
		}
	}
}

// Judge returns the verdict on a live object, whose Release is that of the declared
// one. An object without content is missing.
func (r *HealthRules) Judge(o fleet.Object) HealthVerdict {
	if o.Unstructured == nil || o.Object == nil {
		return HealthVerdict{HealthMissing, "it does not exist"}
	}
	if text(o.Unstructured, "metadata", "deletionTimestamp") != "" {
		return HealthVerdict{HealthTerminating, terminating(o.Unstructured)}
	}
	rl, waited := r.find(o)
	if !waited {
		return HealthVerdict{HealthReady, "it exists, and its rule says not to wait"}
	}
	// Controllers ignore suspended objects (Jobs, Flux Kustomizations), so their
	// status may describe an earlier generation.
	if suspended, _ := fieldValue(o.Unstructured, "spec", "suspend").(bool); suspended {
		return HealthVerdict{HealthReady, "it is suspended"}
	}
	if v, ok := outdatedStatus(o.Unstructured); ok {
		return v
	}
	if rl != nil {
		return rl.judge(o.Unstructured)
	}
	gk := o.GroupVersionKind().GroupKind()
	if judge := builtin[gk.String()]; judge != nil {
		return judge(o.Unstructured)
	}
	v := customResource(o.Unstructured)
	if v.State == HealthUnknown && (HasKind(gk) || r != nil && r.statusless[gk]) {
		return HealthVerdict{HealthReady, "it exists"}
	}
	return v
}

// ReadyOnceExists reports whether a declared object is ready as soon as it exists:
// its kind has no status, or a rule says not to wait.
func (r *HealthRules) ReadyOnceExists(declared fleet.Object) bool {
	rl, waited := r.find(declared)
	if !waited || rl != nil {
		return !waited
	}
	switch gk := declared.GroupVersionKind().GroupKind(); gk.String() {
	case "ConfigMap", "Secret", "ServiceAccount", "LimitRange", "PriorityClass.scheduling.k8s.io",
		"Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io",
		"ClusterRole.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
		"NetworkPolicy.networking.k8s.io", "IngressClass.networking.k8s.io", "StorageClass.storage.k8s.io",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io", "MutatingWebhookConfiguration.admissionregistration.k8s.io":
		return true
	case "Service":
		return service(declared.Unstructured).State == HealthReady
	default:
		return r != nil && r.statusless[gk]
	}
}

// Timeout returns the timeout of an object, if a rule sets one.
func (r *HealthRules) Timeout(o fleet.Object) (d time.Duration, found bool) {
	for _, rl := range r.matching(o) {
		if rl.Timeout > 0 {
			return rl.Timeout, true
		}
	}
	return 0, false
}

// find returns the rule that judges an object, nil when none does, and whether to
// wait for the object.
func (r *HealthRules) find(o fleet.Object) (judge *rule, waited bool) {
	decided := false
	for _, rl := range r.matching(o) {
		if rl.Wait != nil && !decided {
			if decided = true; !*rl.Wait {
				return nil, false
			}
		}
		if len(rl.Ready) > 0 {
			return rl, true
		}
	}
	return nil, true
}

// matching returns the rules that match an object, in order of priority: rules of
// its release before those of the fleet.
func (r *HealthRules) matching(o fleet.Object) []*rule {
	if r == nil || o.Unstructured == nil {
		return nil
	}
	rules := r.fleet
	if o.Release != nil {
		rules = slices.Concat(r.releases[o.Release.Name], r.fleet)
	}
	return slices.DeleteFunc(slices.Clone(rules), func(rl *rule) bool { return !rl.Match.Matches(o) })
}

// terminating describes what the deletion of an object waits for.
func terminating(u *unstructured.Unstructured) string {
	finalizers, _ := fieldValue(u, "metadata", "finalizers").([]any)
	var names []string
	for _, f := range finalizers {
		if name, ok := f.(string); ok {
			names = append(names, clean(name))
		}
	}
	if len(names) == 0 {
		return "it is being deleted"
	}
	return "it is being deleted, which waits for " + list(names)
}

// list joins the first names of a list.
func list(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and others"
}
