package gitops

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/health"
)

// checks say for what a Kustomization waits, and how that is judged.
type checks struct {
	some        []any // objects to wait for, as healthChecks has them; nil when it waits for all
	expressions []any // as healthCheckExprs has them
	timeout     time.Duration
}

// A judged kind is what the rules say of the objects of a kind.
type judgedKind struct {
	first        fleet.Object // that is waited for, if any
	expressions  health.Expressions
	waits, skips bool // whether one is waited for, and whether one is not
}

// checksOf returns the checks of objects that apply together, by the rules of
// their cluster. Flux judges all objects of a kind by one rule: that they are to
// be judged by several is a fault.
func checksOf(rules *health.Rules, objs []fleet.Object) (checks, error) {
	var faults diag.List
	var c checks
	kinds := map[schema.GroupKind]*judgedKind{}
	var order []schema.GroupKind
	mixed := false
	for _, o := range objs {
		gk := o.GroupVersionKind().GroupKind()
		k := kinds[gk]
		if k == nil {
			k = &judgedKind{first: o}
			kinds[gk] = k
			order = append(order, gk)
		}
		e, waits := rules.Expressions(o)
		mixed = mixed || k.skips && waits || k.waits && !waits
		if !waits {
			k.skips = true
			continue
		}
		if d, ok := rules.Timeout(o); ok {
			c.timeout = max(c.timeout, d)
		}
		c.some = append(c.some, reference(o))
		switch {
		case !k.waits:
			k.first, k.expressions, k.waits = o, e, true
		case k.expressions != e:
			faults.Add(&diag.Diag{
				At: slices.Concat(placesOf(o), placesOf(k.first)), Path: o.Title(),
				Msg:  fmt.Sprintf("the rules for health judge it otherwise than %s, and Flux judges all objects of a kind in a stage alike", k.first.Title()),
				Hint: "write one rule for the kind, or give the releases stages of their own",
			})
		}
	}
	if !mixed {
		c.some = nil
	}
	for _, gk := range order {
		if x := kinds[gk].expression(); x != nil {
			c.expressions = append(c.expressions, x)
		}
	}
	return c, faults.Err()
}

// expression returns what healthCheckExprs has of a kind; nil when Flux's own
// rule judges it.
func (k *judgedKind) expression() any {
	e := k.expressions
	if !k.waits {
		e.Current = "true"
	}
	if e.Current == "" {
		return nil
	}
	x := map[string]any{"apiVersion": k.first.GetAPIVersion(), "kind": k.first.GetKind(), "current": e.Current}
	if e.InProgress != "" {
		x["inProgress"] = e.InProgress
	}
	if e.Failed != "" {
		x["failed"] = e.Failed
	}
	return x
}

// reference names an object.
func reference(o fleet.Object) any {
	r := map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName()}
	if o.GetNamespace() != "" {
		r["namespace"] = o.GetNamespace()
	}
	return r
}
