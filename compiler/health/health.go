// Package health judges whether live objects do what they are declared to do.
//
// It knows how the controllers of Kubernetes' own kinds write a status, and how
// those of custom kinds do by convention; a fleet's rules come before both. It
// says why an object is not ready, in a clause for people and, with a [Reader],
// by a chain that ends at the pod, container or event that holds it up.
//
// The package judges plain data. It reads no clock and no cluster: how long
// something has been waited for is told to [Waiting.Step], and what belongs to
// an object comes from whoever has a connection. The same input gives the same
// verdict, and no input, however malformed, a panic.
package health

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/kube"
)

// A State is what becomes of an object.
type State string

// The states.
const (
	Ready       State = "ready"
	InProgress  State = "in progress" // its controller is at work, or has not begun
	Failed      State = "failed"      // it does not get ready by itself
	Terminating State = "terminating" // it is being deleted
	Missing     State = "missing"     // it does not exist

	// Unknown is the state of an object whose status says nothing, and perhaps
	// never will: a custom resource without conditions, a volume claim that waits
	// for its first consumer. [Waiting.Step] takes it as ready after a while.
	Unknown State = "unknown"
)

// A Verdict is the state of an object, and why.
type Verdict struct {
	State  State
	Reason string // a clause whose subject is the object or its parts: 2 of 3 pods are ready
}

// Rules are the rules of one cluster, ready to be used. A nil *Rules has none.
// It is safe for concurrent use once it is set up.
type Rules struct {
	fleet      []*rule
	releases   map[string][]*rule
	statusless map[schema.GroupKind]bool // kinds that have no status
}

// Compile returns the rules of a cluster. The error has the faults that [Check]
// reports.
func Compile(c *fleet.Cluster) (*Rules, error) {
	if err := Check(c); err != nil {
		return nil, err
	}
	r := &Rules{fleet: ordered(c.Health), releases: map[string][]*rule{}, statusless: map[schema.GroupKind]bool{}}
	for _, release := range c.Releases {
		r.releases[release.Name] = ordered(release.Health)
	}
	return r, nil
}

// ordered returns rules in the order in which they are asked: those that choose
// among the objects of a kind first, then by name.
func ordered(rules []fleet.HealthRule) []*rule {
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

// AddCRDs tells the rules of the CRDs among objects that a cluster has or gets:
// objects of a kind without any status are ready as soon as they exist.
func (r *Rules) AddCRDs(objects ...fleet.Object) {
	for _, o := range objects {
		if gk, ok := withoutStatus(o.Unstructured); ok {
			r.statusless[gk] = true
		}
	}
}

// Judge returns the verdict on an object as it is in the cluster; its Release is
// that of the declared one. Without content, it is missing.
func (r *Rules) Judge(o fleet.Object) Verdict {
	if o.Unstructured == nil || o.Object == nil {
		return Verdict{Missing, "it does not exist"}
	}
	if text(o.Unstructured, "metadata", "deletionTimestamp") != "" {
		return Verdict{Terminating, terminating(o.Unstructured)}
	}
	rl, waits := r.find(o)
	if !waits {
		return Verdict{Ready, "it exists, and is not waited for"}
	}
	// What is suspended (a Job, a Kustomization of Flux) is not looked at by its
	// controller either, which then tells of an older generation.
	if suspended, _ := at(o.Unstructured, "spec", "suspend").(bool); suspended {
		return Verdict{Ready, "it is suspended, and not waited for"}
	}
	if v, ok := behind(o.Unstructured); ok {
		return v
	}
	if rl != nil {
		return rl.judge(o.Unstructured)
	}
	gk := o.GroupVersionKind().GroupKind()
	if judge := builtin(gk); judge != nil {
		return judge(o.Unstructured)
	}
	v := custom(o.Unstructured)
	if v.State == Unknown && (kube.HasKind(gk) || r != nil && r.statusless[gk]) {
		return Verdict{Ready, "it exists"}
	}
	return v
}

// ReadyOnceExists reports whether an object, as it is declared, is ready as soon as
// it exists: its kind has no status, or no rule looks at it.
func (r *Rules) ReadyOnceExists(declared fleet.Object) bool {
	rl, waits := r.find(declared)
	if !waits || rl != nil {
		return !waits
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

// Timeout returns how long an object is waited for, when a rule says it.
func (r *Rules) Timeout(o fleet.Object) (d time.Duration, found bool) {
	for _, rl := range r.matching(o) {
		if rl.Timeout > 0 {
			return rl.Timeout, true
		}
	}
	return 0, false
}

// find returns the rule that judges an object, nil when none does, and whether
// the object is waited for at all.
func (r *Rules) find(o fleet.Object) (judge *rule, waits bool) {
	said := false
	for _, rl := range r.matching(o) {
		if rl.Wait != nil && !said {
			if said = true; !*rl.Wait {
				return nil, false
			}
		}
		if len(rl.Ready) > 0 {
			return rl, true
		}
	}
	return nil, true
}

// matching returns the rules that are about an object, the one to ask first in
// front: those of its release come before those of the fleet.
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

// terminating says what an object that is being deleted waits for.
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

// list joins the first of some names.
func list(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and others"
}
