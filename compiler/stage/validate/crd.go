package validate

// The files crd*.go validate CustomResourceDefinitions, and custom resources against
// them, by the rules of Kubernetes' own code: structural schemas, pruning, defaulting,
// validation, list types, and CEL rules with their cost limits.

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// A CRDChecker validates the clusters of a fleet and caches its results by
// content: problems of CRDs, compiled schemas, and problems of custom
// resources. The zero value is ready for concurrent use. The caches only grow,
// so use one Checker per run.
type CRDChecker struct {
	Earlier EarlierResults // cache of earlier runs; may be nil

	crdProblems    par.Memo[crdKey, []problem]
	schemas        par.Memo[schemaKey, *compiledSchema]
	definitions    par.Memo[*unstructured.Unstructured, definition] // for objects that clusters share
	sharedProblems par.Memo[sharedKey, []problem]
	celDifferences par.Memo[minor, map[string]bool]
}

// EarlierResults caches the keys of valid CRDs between runs of the same build. It must
// be safe for concurrent use.
type EarlierResults interface {
	HasValidCRD(key string) bool
	AddValidCRD(key string)
}

// Objects validates the CRDs among objs, and the custom resources among them.
// The CRD of a custom resource comes from objs or, if it is not there, from
// known: CRDs that the cluster has without the bundle, which are not validated
// and need no release. Lists must be flattened before.
//
// The error is a diag.List with all faults, marked with the cluster's ID.
func (k *CRDChecker) Objects(c *fleet.Cluster, objs, known []fleet.Object) error {
	run := crdRun{k: k, compat: compatibility(c.KubeVersion), kinds: map[schema.GroupKind]*definition{}}
	var defined []*definition
	for _, o := range objs {
		if d, ok := k.read(o); ok {
			run.define(d)
			defined = append(defined, d)
		}
	}
	run.checkCRDs(defined)
	for _, d := range defined {
		run.addCRD(d)
	}
	for _, o := range known {
		if d, ok := k.read(o); ok {
			run.define(d)
		}
	}
	for _, o := range objs {
		if o.Unstructured != nil && o.Object != nil {
			run.resource(o)
		}
	}
	return diag.In(c.ID, run.faults.Err())
}

// A crdRun is the validation of one cluster.
type crdRun struct {
	k      *CRDChecker
	compat minor
	kinds  map[schema.GroupKind]*definition
	faults diag.List
}

// define adds the kind of a CRD. The first of several CRDs for a kind is used;
// another package reports the duplicates.
func (r *crdRun) define(d *definition) {
	if _, ok := r.kinds[d.kind]; !ok {
		r.kinds[d.kind] = d
	}
}

// checkCRDs validates CRDs in parallel: they take most of the time, and a
// cluster can have hundreds.
func (r *crdRun) checkCRDs(all []*definition) {
	_ = par.ForEach(context.Background(), runtime.GOMAXPROCS(0), len(all), func(_ context.Context, i int) error {
		r.crdFaults(all[i])
		return nil
	})
}

// crdFaults returns the problems of a CRD.
func (r *crdRun) crdFaults(d *definition) []problem {
	if len(d.limits) > 0 {
		return d.limits
	}
	return r.k.crdProblems.Get(crdKey{d.digest, r.compat}, func() []problem { return r.k.crdFaults(d, r.compat) })
}

// addCRD adds the faults of a CRD. A CRD with other problems than those of its
// names and its conversion is broken: objects cannot be validated against it.
func (r *crdRun) addCRD(d *definition) {
	found := r.crdFaults(d)
	d.broken = slices.ContainsFunc(found, func(p problem) bool {
		return !strings.HasPrefix(p.field, "spec.names") && !strings.HasPrefix(p.field, "spec.conversion") && p.field != "spec.group"
	})
	r.add(d.object, found)
}

// crdFaults returns the problems of a CRD, and uses the cache of earlier runs.
func (k *CRDChecker) crdFaults(d *definition, compat minor) []problem {
	if k.Earlier == nil {
		return k.validate(d, compat)
	}
	key := fmt.Sprintf("%x 1.%d", d.digest, compat)
	if k.Earlier.HasValidCRD(key) {
		return nil
	}
	found := k.validate(d, compat)
	if len(found) == 0 {
		k.Earlier.AddValidCRD(key)
	}
	return found
}

// resource adds the faults of an object if there is a CRD for its kind.
func (r *crdRun) resource(o fleet.Object) {
	gvk, ok := kindOf(o)
	if !ok {
		return
	}
	d := r.kinds[gvk.GroupKind()]
	if d == nil || d.broken || !d.serves(gvk.Version) {
		return
	}
	found := d.limits
	var s *compiledSchema
	if len(found) == 0 {
		s = r.k.schema(d, gvk.Version, r.compat)
		found = s.problems
	}
	if len(found) > 0 {
		// Only a CRD of known can have problems here; the others were validated
		// before.
		d.broken = true
		r.add(d.object, found)
		return
	}
	if !o.Shared {
		r.add(o, s.check(o.Object))
		return
	}
	r.add(o, r.k.sharedProblems.Get(sharedKey{s, o.Unstructured}, func() []problem { return s.check(o.Object) }))
}

// read returns the definition of an object that is a CRD, see [read].
func (k *CRDChecker) read(o fleet.Object) (*definition, bool) {
	if !o.Shared || o.GetKind() != definitionKind {
		return read(o)
	}
	d := k.definitions.Get(o.Unstructured, func() definition {
		d, ok := read(o)
		if !ok {
			return definition{}
		}
		return *d
	})
	readable := d.kind.Kind != ""
	d.object = o
	return &d, readable
}

// A sharedKey identifies a custom resource that clusters share by its pointer.
type sharedKey struct {
	schema  *compiledSchema
	content *unstructured.Unstructured
}

// add adds the faults of an object.
func (r *crdRun) add(o fleet.Object, found []problem) {
	r.faults = append(r.faults, customFaults(o, found)...)
}
