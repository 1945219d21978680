// Package render turns a release into Kubernetes objects. The result depends
// only on the arguments: rendering reads no files, no network and no cluster.
// lookup returns nothing, host names are not resolved, and the time zone is
// UTC. Charts may use random functions and the clock, as in Helm; the result
// lists the affected fields.
//
// It is large because rendering is observed: trace*.go and read*.go record
// which values an output depends on, and random.go, entropy.go and
// nondeterminism.go which fields are random. engine.go and helm.go render.
package render

import (
	"context"
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Result is the rendering of a release.
type Result struct {
	Objects          []fleet.Object         // in source order
	Hooks            []fleet.Object         // hooks for delete, rollback and tests, in source order
	Nondeterministic []NondeterministicPart // parts that differ between renderings, in the order of the objects
	UsesClock        bool                   // whether the chart read the clock, so that a later rendering may differ
}

// Release renders a release of the cluster. ch is the release's chart, or nil
// when the release has another source. apis are all API versions that the
// chart sees, as group/version and group/version/Kind; nil means
// [DefaultAPIs].
//
// A chart that calls a random function or reads the clock is rendered twice.
// The result is that of the first rendering, with the differences to the
// second. Time and memory of a chart are limited. The error contains all
// faults of the release with their positions; when ctx ends, it is the error
// of ctx.
func (cs *Charts) Release(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string) (res Result, err error) {
	if ch == nil {
		objs, err := written(r)
		return Result{Objects: objs}, err
	}
	j := &job{cluster: c, release: r, chart: ch, apis: apis, limits: cs.limits()}
	defer func() {
		// Charts are input, so a panic of a library is reported as a fault of
		// the chart.
		if p := recover(); p != nil {
			res, err = Result{}, j.doesNotRender(p)
		}
		if err != nil && ctx.Err() != nil {
			res, err = Result{}, ctx.Err()
		}
	}()
	j.source = cs.source(ch)
	in, err := j.input()
	if err != nil {
		return Result{}, err
	}
	first := newEntropy(clock(j.source))
	docs, known, chance, err := j.documents(ctx, in, first, nil)
	if err != nil {
		return Result{}, err
	}
	res.Hooks, res.UsesClock = j.hooks(docs), first.usesClock
	if res.Objects, err = j.objects(docs); err == nil && chance {
		res.Nondeterministic, err = j.nondeterministic(ctx, docs, known, res, first.second())
	}
	return res, err
}

// nondeterministic renders the chart a second time and returns the
// differences. It marks the hooks of res if they differ. known holds output that need
// not be rendered again.
func (j *job) nondeterministic(ctx context.Context, first []document, known map[string]page, res Result, l *entropy) ([]NondeterministicPart, error) {
	in, err := j.input() // the templates may have modified the first input
	if err != nil {
		return nil, err
	}
	again := *j
	again.knownDocs = make(map[string]document, len(first))
	for _, d := range first {
		if !d.shared {
			again.knownDocs[d.text] = d
		}
	}
	docs, next, _, err := again.documents(ctx, in, l, known)
	if err == nil && known != nil && next == nil {
		// In the second rendering, a template modified shared state: execute
		// all templates.
		if in, err = j.input(); err == nil {
			docs, _, _, err = again.documents(ctx, in, &entropy{now: l.now, previous: l.previous, current: map[string][]any{}}, nil)
		}
	}
	if err != nil {
		if d, ok := errors.AsType[*diag.Diag](err); ok {
			other := *d
			other.Msg = "in some renderings, " + d.Msg
			err = &other
		}
		return nil, err
	}
	differ := len(Differences(res.Hooks, j.hooks(docs))) > 0
	for i := range res.Hooks {
		res.Hooks[i].Nondeterministic = differ
	}
	others, err := j.objects(docs)
	return Differences(res.Objects, others), err
}

// objects returns the applied objects of the documents, and their faults.
func (j *job) objects(docs []document) (out []fleet.Object, err error) {
	var faults diag.List
	allowed, needed := j.release.DuplicateKeys, false
	for _, d := range docs {
		if !d.isApplied(j.release) {
			continue
		}
		if needed = needed || d.twice != nil; d.twice != nil && allowed.Reason == "" {
			faults.Add(j.duplicateKeys(d))
		}
		for _, err := range d.errs {
			faults.Add(&diag.Diag{
				Code: diag.CodeRenderedObject,
				At:   []diag.Pos{j.release.Pos}, Path: j.release.Path(),
				Msg: "chart template " + d.source + " renders " + err.Error(), Hint: templateHint, Cause: err,
			})
		}
		for _, o := range d.objs {
			out = append(out, fleet.Object{Unstructured: o, Release: j.release, Shared: d.shared, CRD: d.crd, Template: d.source, Pos: j.release.Pos})
		}
	}
	if allowed.Reason != "" && !needed {
		faults.Add(&diag.Diag{
			Code: diag.CodeUnusedRule, At: []diag.Pos{allowed.Pos}, Path: j.release.Path("duplicateKeys"),
			Msg: "no map of the release has a key twice", Hint: "remove this line, or write it in the layers that need it",
		})
	}
	return out, faults.Err()
}

// duplicateKeys returns the fault of a document whose maps have keys twice.
func (j *job) duplicateKeys(d document) *diag.Diag {
	return &diag.Diag{
		Code: diag.CodeRenderedObject, At: []diag.Pos{j.release.Pos}, Path: j.release.Path(),
		Msg:   "chart template " + d.source + " renders a key twice: " + fleet.YAMLMessage(d.twice),
		Hint:  "correct the template or the values, or take the last value, as Helm does: " + j.release.Path("duplicateKeys") + `: "why"`,
		Fixes: []diag.Fix{{Kind: diag.FixWaiver, Path: j.release.Path("duplicateKeys"), New: strconv.Quote(diag.Reason)}}, Cause: d.twice,
	}
}

// hooks returns the hooks that an apply does not run.
func (j *job) hooks(docs []document) (out []fleet.Object) {
	for _, d := range docs {
		if !d.isUnapplied() {
			continue
		}
		for _, o := range d.objs {
			out = append(out, fleet.Object{Unstructured: o, Release: j.release, Shared: d.shared, Unapplied: true, Template: d.source, Pos: j.release.Pos})
		}
	}
	return out
}

// APIs returns the API versions that the CRDs among the objects add to a
// cluster, as group/version and group/version/Kind, sorted.
func APIs(objs []fleet.Object) []string {
	var out []string
	for _, o := range objs {
		for _, gvk := range fleet.ServedKinds(o.Unstructured) {
			gv := gvk.GroupVersion().String()
			out = append(out, gv, gv+"/"+gvk.Kind)
		}
	}
	return diag.Distinct(out)
}

// written returns the objects of a release that are written in CUE.
func written(r *fleet.Release) ([]fleet.Object, error) {
	var faults diag.List
	var out []fleet.Object
	for _, t := range r.Objects {
		o, ok := t.Native().(map[string]any)
		if !ok {
			faults.Add(&diag.Diag{
				Code: diag.CodeRenderedObject, At: []diag.Pos{t.Pos}, Path: r.Path("objects"),
				Msg:  "an object is a struct with apiVersion, kind and metadata",
				Hint: "write objects: app: {apiVersion: ..., kind: ..., metadata: name: ...}",
			})
			continue
		}
		items, err := flatten(o)
		if err != nil {
			faults.Add(&diag.Diag{
				Code: diag.CodeRenderedObject, At: []diag.Pos{t.Pos}, Path: r.Path("objects"),
				Msg:  err.Error(),
				Hint: "write each item as {apiVersion: ..., kind: ..., metadata: name: ...}",
			})
			continue
		}
		for _, i := range items {
			out = append(out, fleet.Object{Unstructured: &unstructured.Unstructured{Object: i}, Release: r, Pos: t.Pos})
		}
	}
	return out, faults.Err()
}
