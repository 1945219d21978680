// Package crd validates the CustomResourceDefinitions of a cluster, and its
// custom resources against them, as the API server does when it creates them.
//
// The rules are those of Kubernetes' own code: structural schemas, pruning,
// defaulting, validation, list types, and CEL rules with their cost limits. The
// faults name the value and the allowed values. The package does not change
// objects, parse YAML or use a cluster or the network. Other packages check
// whether a version is served, and the metadata of objects.
package crd

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/memo"
)

// A Checker validates the clusters of a fleet and caches its results by
// content: problems of CRDs, compiled schemas, and problems of custom
// resources. The zero value is ready for concurrent use. The caches only grow,
// so use one Checker per run.
type Checker struct {
	Earlier EarlierResults // cache of earlier runs; may be nil

	crdProblems      memo.Map[crdKey, []problem]
	schemas          memo.Map[schemaKey, *compiledSchema]
	definitions      memo.Map[*unstructured.Unstructured, definition] // for objects that clusters share
	resourceProblems sync.Map                                         // resourceKey to []problem
	sharedProblems   memo.Map[sharedKey, []problem]
	celFeatures      memo.Map[minor, celFeatures]
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
func (k *Checker) Objects(c *fleet.Cluster, objs, known []fleet.Object) error {
	run := run{k: k, compat: compatibility(c.KubeVersion), kinds: map[schema.GroupKind]*definition{}}
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

// A run is the validation of one cluster.
type run struct {
	k      *Checker
	compat minor
	kinds  map[schema.GroupKind]*definition
	faults diag.List
}

// define adds the kind of a CRD. The first of several CRDs for a kind is used;
// another package reports the duplicates.
func (r *run) define(d *definition) {
	if _, ok := r.kinds[d.kind]; !ok {
		r.kinds[d.kind] = d
	}
}

// checkCRDs validates CRDs in parallel: they take most of the time, and a
// cluster can have hundreds.
func (r *run) checkCRDs(all []*definition) {
	var running sync.WaitGroup
	defer running.Wait()
	next := make(chan *definition)
	defer close(next)
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		running.Go(func() {
			for d := range next {
				r.crdFaults(d)
			}
		})
	}
	for _, d := range all {
		next <- d
	}
}

// crdFaults returns the problems of a CRD.
func (r *run) crdFaults(d *definition) []problem {
	if len(d.limits) > 0 {
		return d.limits
	}
	return r.k.crdProblems.Get(crdKey{d.digest, r.compat}, func() []problem { return r.k.crdFaults(d, r.compat) })
}

// addCRD adds the faults of a CRD. A CRD with other problems than those of its
// names and its conversion is broken: objects cannot be validated against it.
func (r *run) addCRD(d *definition) {
	found := r.crdFaults(d)
	d.broken = slices.ContainsFunc(found, func(p problem) bool {
		return !strings.HasPrefix(p.field, "spec.names") && !strings.HasPrefix(p.field, "spec.conversion") && p.field != "spec.group"
	})
	r.add(d.object, found)
}

// crdFaults returns the problems of a CRD, and uses the cache of earlier runs.
func (k *Checker) crdFaults(d *definition, compat minor) []problem {
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
func (r *run) resource(o fleet.Object) {
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
		r.add(o, r.k.check(s, o.Object))
		return
	}
	r.add(o, r.k.sharedProblems.Get(sharedKey{s, o.Unstructured}, func() []problem { return r.k.check(s, o.Object) }))
}

// read returns the definition of an object that is a CRD, see [read].
func (k *Checker) read(o fleet.Object) (*definition, bool) {
	if !o.Shared || o.GetKind() != crdKind {
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

// A resourceKey identifies the content of a custom resource.
type resourceKey struct {
	schema *compiledSchema
	digest [sha256.Size]byte
}

// check returns the problems of a custom resource, and validates equal ones
// once.
func (k *Checker) check(s *compiledSchema, object map[string]any) []problem {
	w := writer{}
	w.value(object, 0)
	if w.problem != "" {
		return []problem{{text: ": " + w.problem}}
	}
	key := resourceKey{s, sha256.Sum256(w.text)}
	if found, ok := k.resourceProblems.Load(key); ok {
		return found.([]problem)
	}
	found := s.check(object)
	k.resourceProblems.Store(key, found)
	return found
}

// add adds the faults of an object.
func (r *run) add(o fleet.Object, found []problem) {
	r.faults = append(r.faults, faults(o, found)...)
}
