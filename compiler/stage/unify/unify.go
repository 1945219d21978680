// Package unify evaluates the layers of a cluster: it turns a CUE instance
// into plain data.
//
// The values of the layers are unified by CUE. Their defaults are merged in Go
// from the root to the cluster, because CUE defaults cannot override each
// other. The merged defaults are filled into values, where they must satisfy
// the constraints of all layers and where references see the final value.
//
// The package reads no files and no network. Every cluster is evaluated in a
// CUE context that is dropped afterwards, so that clusters can be evaluated in
// parallel and memory does not grow with their number.
//
// [CheckClusters] compares the clusters of a fleet: selectors of releases choose clusters
// that exist, release patterns match a release, no two clusters have one kubeconfig context,
// each default of a layer has an effect somewhere, and each cluster is in one wave of the
// rollout. These faults are not stored with the results of clusters: each run compares all.
//
// It is large because most fields of the schema have their own decoder: a file
// such as health.go turns one of them into the type of package fleet. The
// evaluation itself is in unify.go, defaults.go, merge.go and bind.go, and
// explain*.go says afterwards where a value comes from.
package unify

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/fleetc/fleetc"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Cluster evaluates the instance of the cluster with the given ID. layers are
// the cluster's layers from the root on. Positions are relative to the
// absolute path root. The error contains all faults that CUE finds at once,
// marked with the cluster. A cluster returned with an error contains the parts
// that could be read, and is only meant for further checks.
func Cluster(root, id string, layers []fleet.Layer, in *build.Instance) (*fleet.Cluster, error) {
	embedded := relocate(root, in)
	c, err := evaluate(root, id, layers, in, embedded)
	embedded.cluster(c)
	return c, embedded.faults(err)
}

func evaluate(root, id string, layers []fleet.Layer, in *build.Instance, embedded relocation) (*fleet.Cluster, error) {
	if err := checkCalls(root, in); err != nil {
		return nil, diag.In(id, err)
	}
	e := newEvaluation(cuecontext.New(), root, layers, in, embedded)
	bare := withoutPolicies(in)
	base := e.cctx.BuildInstance(bare)
	if err := base.Err(); err != nil && !base.Exists() {
		return nil, diag.In(id, diag.CUEFaults(root, err, cue.Value{}).Err())
	}
	config, err := e.definition("#Config")
	if err != nil {
		return nil, err
	}
	e.releaseFields = fieldNames(lookup(config, "releases").LookupPath(cue.MakePath(cue.AnyString)))
	final, merged, err := e.bind(base, config)
	if err != nil {
		return nil, diag.In(id, err)
	}
	if bare != in {
		// Rules are expensive: they are evaluated after the values are bound.
		full := e.cctx.BuildInstance(in)
		if in.Err != nil {
			return nil, diag.In(id, diag.CUEFaults(root, in.Err, cue.Value{}).Err())
		}
		final = full.Unify(e.cctx.BuildExpr(e.lastFilled.expr())).Unify(config)
	}
	misplaced := diag.All(e.checkAllLayers(final))
	faults := append(slices.Clone(misplaced), diag.All(e.checkReleases(final))...)
	faults.Add(e.checkPolicies(final))
	faults.Add(e.check(final))
	all := slices.Concat(faults, e.checkMeanings(in, faults), e.misspeltParameters(in, final, faults))
	faults = withoutConsequences(all, misplaced, e.misspeltReleases(final))
	c, err := e.decode(final, merged)
	if c != nil {
		c.ID = id
		off, wrong := e.unselectedReleases(final, c)
		faults = e.withoutUnselected(final, off, c, faults)
		if len(faults) == 0 {
			faults = e.checkInterpolations(in, final, off)
		}
		faults.Add(wrong)
		err = removeReleases(off, c, diag.All(err)).Err()
		faults.Add(e.depends(final, c, off))
		faults.Add(e.checkYAMLMeanings(c))
	}
	if len(faults) > 0 {
		// Values that cannot be decoded are already reported.
		if c != nil {
			restoreDefaults(c, merged)
		}
		return c, diag.In(id, faults.Err())
	}
	if err != nil {
		return c, diag.In(id, err)
	}
	e.complete(c, in, final)
	return c, nil
}

// complete adds policies and checks to a cluster without faults.
func (e *evaluation) complete(c *fleet.Cluster, in *build.Instance, final cue.Value) {
	c.Policies = e.policies(in, final)
	c.Checks = slices.Concat(c.Checks, c.ReleaseChecks(fieldNames(lookup(final, "releases"))), comparisonChecks(c, e.compared), e.objectChecks(c, final))
	e.readDefaultUses(c)
}

// restoreDefaults merges the defaults into the values of an invalid cluster,
// where CUE does not show them.
func restoreDefaults(c *fleet.Cluster, merged map[string]*fleet.Tree) {
	for _, r := range c.Releases {
		if m := merged[r.Name]; m != nil {
			r.Values = merge(m, r.Values)
		}
	}
}

// An evaluation is the evaluation of one cluster.
type evaluation struct {
	root          string
	layers        []fleet.Layer
	cctx          *cue.Context
	releaseFields []string // release fields in the schema
	lastFilled    *binding // the pass that was filled in last
	last          *binding // the pass that was merged last
	lookups       lookupCache
	embedded      relocation
	compared      []comparison
	reads         func() *valueReads // of the files of the cluster
}

// newEvaluation returns the evaluation of an instance with the layers.
func newEvaluation(cctx *cue.Context, root string, layers []fleet.Layer, in *build.Instance, embedded relocation) *evaluation {
	reads := sync.OnceValue(func() *valueReads { return readsOf(in) })
	return &evaluation{cctx: cctx, root: root, layers: layers, embedded: embedded, reads: reads}
}

// parsedSchema is the embedded schema, which all evaluations share: CUE does
// not modify complete instances.
var parsedSchema = sync.OnceValues(func() (*build.Instance, error) {
	in := build.NewContext().NewInstance(fleetc.SchemaPath, nil)
	names, err := fs.Glob(fleetc.Schema, "*.cue")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := fs.ReadFile(fleetc.Schema, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(path.Join("schema", name), data)
		if err != nil {
			return nil, fmt.Errorf("parse the embedded schema: %w", err)
		}
		if err := in.AddSyntax(file); err != nil {
			return nil, fmt.Errorf("add the embedded schema: %w", err)
		}
	}
	if err := in.Complete(); err != nil {
		return nil, fmt.Errorf("complete the embedded schema: %w", err)
	}
	return in, nil
})

// definition returns a definition of the schema in the evaluation's context.
func (e *evaluation) definition(name string) (cue.Value, error) {
	in, err := parsedSchema()
	if err != nil {
		return cue.Value{}, err
	}
	v := e.cctx.BuildInstance(in).LookupPath(cue.ParsePath(name))
	if err := v.Err(); err != nil {
		return cue.Value{}, fmt.Errorf("evaluate the embedded schema: %w", err)
	}
	return v, nil
}

// check reports all conflicts, disallowed fields and incomplete values of the
// final value. CUE stops at the first fault of a struct, so each part of a
// release is also validated by itself.
func (e *evaluation) check(final cue.Value) error {
	required := e.checkRequired(final)
	all := append(validate(final), definitionErrors(final)...)
	all = slices.DeleteFunc(all, func(err errors.Error) bool { return hasNoObjects(final, err.Path()) })
	if len(all) == 0 {
		return required
	}
	e.releases(final, func(_ string, release cue.Value) {
		for _, name := range e.releaseFields {
			if part := release.LookupPath(cue.MakePath(cue.Str(name))); part.Exists() && !isEmptyMap(part) {
				all = append(all, errors.Errors(part.Validate(cue.Concrete(true)))...)
			}
		}
	})
	var joined errors.Error
	for _, err := range all {
		joined = errors.Append(joined, err)
	}
	faults := diag.CUEFaults(e.root, joined, final)
	faults.Add(required)
	for _, d := range faults {
		explainUnpinned(d, final)
		explainList(d)
	}
	return withoutComputed(withoutMerged(withoutComputedPins(faults))).Err()
}

// definitionErrors returns the errors in definitions of the layers, such as
// the parameters of a stack. CUE does not validate them otherwise.
func definitionErrors(final cue.Value) []errors.Error {
	it, err := final.Fields(cue.Definitions(true))
	if err != nil {
		return nil // CUE reports errors
	}
	var all []errors.Error
	for it.Next() {
		if it.Selector().IsDefinition() {
			all = append(all, errors.Errors(it.Value().Validate())...)
		}
	}
	return all
}

// withoutMerged removes the faults of values that repeat a fault of the merged
// default.
func withoutMerged(faults diag.List) diag.List {
	type faultKey struct{ path, msg string }
	defaults := map[faultKey]bool{}
	for _, d := range faults {
		if merged := diag.ValuesPath(d.Path); merged != d.Path {
			defaults[faultKey{merged, d.Msg}] = true
		}
	}
	return slices.DeleteFunc(faults, func(d *diag.Diag) bool { return defaults[faultKey{d.Path, d.Msg}] })
}
