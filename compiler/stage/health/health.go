// Package health judges whether live objects are healthy.
//
// It knows the statuses of Kubernetes' own kinds and the conventions of custom
// kinds; the rules of a fleet come before both. It explains why an object is not
// ready, in a clause and, with a [Reader], by a chain that ends at the pod, container
// or event that is the cause.
//
// The package judges plain data and reads no clock and no cluster: the caller passes
// the waiting time to [Waiting.Step], and a Reader for other objects. The same input
// gives the same verdict, and malformed input never panics.
package health

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// A State is the health of an object.
type State string

const (
	Ready       State = "ready"
	InProgress  State = "in progress" // its controller works on it or has not started
	Failed      State = "failed"      // it will not become ready without a change
	Terminating State = "terminating" // it is being deleted
	Missing     State = "missing"     // it does not exist

	// Unknown is the state of an object whose status is not conclusive and may
	// never be: a custom resource without conditions, or a volume claim that waits
	// for its first consumer. [Waiting.Step] accepts it as ready after a grace
	// period.
	Unknown State = "unknown"
)

// A Verdict is the state of an object with the reason.
type Verdict struct {
	State  State
	Reason string // a clause about the object or its parts: 2 of 3 pods are ready
}

// Rules are the compiled rules of one cluster. A nil *Rules has none. They are safe
// for concurrent use after [Rules.AddCRDs].
type Rules struct {
	fleet      []*rule
	releases   map[string][]*rule
	statusless map[schema.GroupKind]bool // kinds without a status
}

// Compile returns the rules of a cluster, or the faults of [Check].
func Compile(c *fleet.Cluster) (*Rules, error) {
	if err := Check(c); err != nil {
		return nil, err
	}
	r := &Rules{fleet: sortRules(c.Health), releases: map[string][]*rule{}, statusless: map[schema.GroupKind]bool{}}
	for _, release := range c.Releases {
		r.releases[release.Name] = sortRules(release.Health)
	}
	return r, nil
}

// sortRules returns rules in the order of their evaluation: first rules that select
// some objects of a kind, then by name.
func sortRules(rules []fleet.HealthRule) []*rule {
	var out []*rule
	for _, h := range rules {
		out = append(out, newRule(h))
	}
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
func (r *Rules) AddCRDs(objects ...fleet.Object) {
	for _, o := range objects {
		if gk, ok := statuslessKind(o.Unstructured); ok {
			r.statusless[gk] = true
		}
	}
}

// Judge returns the verdict on a live object, whose Release is that of the declared
// one. An object without content is missing.
func (r *Rules) Judge(o fleet.Object) Verdict {
	if o.Unstructured == nil || o.Object == nil {
		return Verdict{Missing, "it does not exist"}
	}
	if text(o.Unstructured, "metadata", "deletionTimestamp") != "" {
		return Verdict{Terminating, terminating(o.Unstructured)}
	}
	rl, waited := r.find(o)
	if !waited {
		return Verdict{Ready, "it exists, and its rule says not to wait"}
	}
	// Controllers ignore suspended objects (Jobs, Flux Kustomizations), so their
	// status may describe an earlier generation.
	if suspended, _ := at(o.Unstructured, "spec", "suspend").(bool); suspended {
		return Verdict{Ready, "it is suspended"}
	}
	if v, ok := outdatedStatus(o.Unstructured); ok {
		return v
	}
	if rl != nil {
		return rl.judge(o.Unstructured)
	}
	gk := o.GroupVersionKind().GroupKind()
	if judge := builtin(gk); judge != nil {
		return judge(o.Unstructured)
	}
	v := customResource(o.Unstructured)
	if v.State == Unknown && (kube.HasKind(gk) || r != nil && r.statusless[gk]) {
		return Verdict{Ready, "it exists"}
	}
	return v
}

// ReadyOnceExists reports whether a declared object is ready as soon as it exists:
// its kind has no status, or a rule says not to wait.
func (r *Rules) ReadyOnceExists(declared fleet.Object) bool {
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
		return service(declared.Unstructured).State == Ready
	default:
		return r != nil && r.statusless[gk]
	}
}

// Timeout returns the timeout of an object, if a rule sets one.
func (r *Rules) Timeout(o fleet.Object) (d time.Duration, found bool) {
	for _, rl := range r.matching(o) {
		if rl.Timeout > 0 {
			return rl.Timeout, true
		}
	}
	return 0, false
}

// find returns the rule that judges an object, nil when none does, and whether to
// wait for the object.
func (r *Rules) find(o fleet.Object) (judge *rule, waited bool) {
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
func (r *Rules) matching(o fleet.Object) []*rule {
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
	finalizers, _ := at(u, "metadata", "finalizers").([]any)
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
