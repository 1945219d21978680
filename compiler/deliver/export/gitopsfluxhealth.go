package export

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// checks are the health checks of a Kustomization.
type checks struct {
	some        []any // objects to wait for, as in healthChecks; nil to wait for all
	expressions []any // as in healthCheckExprs
	timeout     time.Duration
}

// A kindHealth is the combined health rule of all objects of a kind.
type kindHealth struct {
	first        fleet.Object // the first object to wait for, if any
	expressions  kube.HealthExpressions
	waits, skips bool // whether the rules wait for some of the objects, and skip some
}

// checksOf returns the health checks of objects that apply together, by the rules of
// their cluster. Flux has one rule per kind, so different rules for objects of a
// kind are a fault.
func checksOf(rules *kube.HealthRules, objs []fleet.Object) (checks, error) {
	var faults diag.List
	var c checks
	kinds := map[schema.GroupKind]*kindHealth{}
	var order []schema.GroupKind
	mixed := false
	for _, o := range objs {
		gk := o.GroupVersionKind().GroupKind()
		k := kinds[gk]
		if k == nil {
			k = &kindHealth{first: o}
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
				Code: diag.CodeGitOpsUnsupported,
				At:   slices.Concat(o.Places(), k.first.Places()), Path: o.Title(),
				Msg:  fmt.Sprintf("the health rules for it and for %s differ, but Flux uses one rule for all objects of a kind in a stage", k.first.Title()),
				Hint: "write one rule for the kind, or put the releases into different stages",
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

// expression returns the entry of healthCheckExprs for a kind, or nil for Flux's
// default.
func (k *kindHealth) expression() any {
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

// reference returns a reference to an object.
func reference(o fleet.Object) any {
	r := map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName()}
	if o.GetNamespace() != "" {
		r["namespace"] = o.GetNamespace()
	}
	return r
}
