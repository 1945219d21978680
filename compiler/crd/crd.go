// Package crd checks the CustomResourceDefinitions of a cluster, and its
// custom resources against them, as the API server would when it creates them.
//
// The rules are those of Kubernetes' own code: structural schemas, pruning,
// defaulting, validation, list types and the rules in CEL with their limits of
// cost. Their findings are put into the words of the house, with the value
// that was found and what is allowed. The package changes no object, parses no
// YAML and asks no cluster and no network. Whether a kind or version is served
// and what an object's metadata may hold is checked elsewhere.
package crd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/memo"
)

// A Checker checks the clusters of a fleet and remembers by content what it
// finds out: what is wrong with CRDs, their compiled schemas, of the kinds and
// versions that are there as objects, and what is wrong with those. The zero
// value is ready for use, by several goroutines at once. Use one for a run and
// let it go then: it forgets nothing.
type Checker struct {
	Earlier Earlier // what earlier runs found; may be nil

	verdicts    memo.Map[verdictKey, []problem]
	schemas     memo.Map[schemaKey, *compiled]
	definitions memo.Map[*unstructured.Unstructured, definition] // of contents that clusters share
	resources   sync.Map                                         // of resourceKey to []problem
	shared      memo.Map[sharedKey, []problem]
	newer       memo.Map[minor, newer]
}

// Earlier is what earlier runs of the same build found: of CRDs in which nothing is
// wrong, a key. It may be asked by several goroutines at once.
type Earlier interface {
	IsSound(key string) bool
	NoteSound(key string)
}

// Objects checks the CRDs among the objects of a cluster, and those objects
// that are of a kind which a CRD describes: one among the objects or, for want
// of one there, one of known. Those are CRDs that the cluster has without the
// bundle; they are used and not checked themselves. A release is not needed
// for them. Lists must be flattened before.
//
// The error is a diag.List with every fault found, marked as the cluster's.
func (k *Checker) Objects(c *fleet.Cluster, objs, known []fleet.Object) error {
	run := run{k: k, compat: compatibility(c.KubeVersion), kinds: map[schema.GroupKind]*definition{}}
	var defined []*definition
	for _, o := range objs {
		if d, ok := k.read(o); ok {
			run.define(d)
			defined = append(defined, d)
		}
	}
	run.findVerdicts(defined)
	for _, d := range defined {
		run.judge(d)
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

// Judge finds out what is wrong with the CRDs among the objects of a cluster, so
// that [Checker.Objects] knows when it comes to them. It leaves the rest to that
// when ctx ends.
func (k *Checker) Judge(ctx context.Context, c *fleet.Cluster, objs []fleet.Object) {
	run := run{k: k, compat: compatibility(c.KubeVersion)}
	for _, o := range objs {
		if ctx.Err() != nil {
			return
		}
		if d, ok := k.read(o); ok {
			run.verdict(d)
		}
	}
}

// A run is the check of one cluster.
type run struct {
	k      *Checker
	compat minor
	kinds  map[schema.GroupKind]*definition
	faults diag.List
}

// define makes a kind known. The first of several CRDs counts: that there are
// several is for others to say.
func (r *run) define(d *definition) {
	if _, ok := r.kinds[d.kind]; !ok {
		r.kinds[d.kind] = d
	}
}

// findVerdicts finds what is wrong with CRDs, with several at the same time: it
// takes longest, and a cluster can have hundreds.
func (r *run) findVerdicts(all []*definition) {
	var running sync.WaitGroup
	defer running.Wait()
	next := make(chan *definition)
	defer close(next)
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		running.Go(func() {
			for d := range next {
				r.verdict(d)
			}
		})
	}
	for _, d := range all {
		next <- d
	}
}

// verdict returns what is wrong with a CRD.
func (r *run) verdict(d *definition) []problem {
	if len(d.limits) > 0 {
		return d.limits
	}
	return r.k.verdicts.Get(verdictKey{d.digest, r.compat}, func() []problem { return r.k.verdict(d, r.compat) })
}

// judge adds the faults of a CRD.
func (r *run) judge(d *definition) {
	found := r.verdict(d)
	d.broken = slices.ContainsFunc(found, func(p problem) bool {
		return !strings.HasPrefix(p.field, "spec.names") && !strings.HasPrefix(p.field, "spec.conversion") && p.field != "spec.group"
	})
	r.add(d.object, found)
}

// verdict returns what is wrong with a CRD, from an earlier run if that found
// nothing.
func (k *Checker) verdict(d *definition, compat minor) []problem {
	if k.Earlier == nil {
		return k.find(d, compat)
	}
	key := fmt.Sprintf("%x 1.%d", d.digest, compat)
	if k.Earlier.IsSound(key) {
		return nil
	}
	found := k.find(d, compat)
	if len(found) == 0 {
		k.Earlier.NoteSound(key)
	}
	return found
}

// resource adds the faults of an object when a CRD describes its kind.
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
	var s *compiled
	if len(found) == 0 {
		s = r.k.schema(d, gvk.Version, r.compat)
		found = s.problems
	}
	if len(found) > 0 {
		// Only a CRD of known gets here: the others have been judged.
		d.broken = true
		r.add(d.object, found)
		return
	}
	if !o.Shared {
		r.add(o, r.k.check(s, o.Object))
		return
	}
	r.add(o, r.k.shared.Get(sharedKey{s, o.Unstructured}, func() []problem { return r.k.check(s, o.Object) }))
}

// read reads an object when it is a CRD, see [read].
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

// A sharedKey names a custom resource that clusters share, by where its content
// is.
type sharedKey struct {
	schema  *compiled
	content *unstructured.Unstructured
}

// A resourceKey names the content of a custom resource.
type resourceKey struct {
	schema *compiled
	digest [sha256.Size]byte
}

// check returns what is wrong with a custom resource. Many clusters have the
// same, so it looks at equal ones once.
func (k *Checker) check(s *compiled, object map[string]any) []problem {
	w := writer{}
	w.value(object, 0)
	if w.problem != "" {
		return []problem{{text: ": " + w.problem}}
	}
	key := resourceKey{s, sha256.Sum256(w.text)}
	if found, ok := k.resources.Load(key); ok {
		return found.([]problem)
	}
	found := s.check(object)
	k.resources.Store(key, found)
	return found
}

// add adds what is wrong with an object.
func (r *run) add(o fleet.Object, found []problem) {
	r.faults = append(r.faults, faults(o, found)...)
}
