// Package render turns a release into Kubernetes objects. Rendering is a
// function of its arguments: it reads no files, no network and no cluster. What
// a chart asks of a cluster (lookup) is empty, it resolves no host names, and
// its time zone is UTC. Where a chart makes something up or asks for the time,
// which Helm lets it do, the result says what came of it.
package render

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Result is what a release rendered to.
type Result struct {
	Objects  []fleet.Object // in the order in which the source has them
	Hooks    []fleet.Object // that are to run on delete, rollback or as tests, in that order
	Volatile []Volatile     // what is another each time, in the order of the objects
	Timed    bool           // whether the chart has asked for the time, and so may render to something else later
}

// Release renders a release of the cluster. ch is the release's chart, nil
// when its source is another. apis are all API versions that the chart sees of
// the cluster, as group/version and group/version/Kind; when nil, they are
// those of [DefaultAPIs].
//
// A chart that calls a function which is random or reads the clock is rendered
// twice; the result is that of the first time, with what the second time
// differs in. What a chart may take of time and memory is bounded. The error
// holds everything that is wrong with the release, and names its line; when
// ctx ends, it is that of ctx.
func (cs *Charts) Release(ctx context.Context, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart, apis []string) (res Result, err error) {
	if ch == nil {
		objs, err := written(r)
		return Result{Objects: objs}, err
	}
	j := &job{cluster: c, release: r, chart: ch, apis: apis, most: cs.most()}
	defer func() {
		// A chart is input: what it makes a library do is its fault.
		if p := recover(); p != nil {
			res, err = Result{}, j.fault("chart %s does not render: %v", ch.Ref, p)
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
	first := newLuck(clock(j.source))
	docs, known, chance, err := j.documents(ctx, in, first, nil)
	if err != nil {
		return Result{}, err
	}
	res.Hooks, res.Timed = j.hooks(docs), first.timed
	if res.Objects, err = j.objects(docs); err == nil && chance {
		res.Volatile, err = j.volatile(ctx, docs, known, res.Objects, first.another())
	}
	return res, err
}

// volatile renders the chart a second time and returns what differs. known is
// what templates are known to print again.
func (j *job) volatile(ctx context.Context, first []document, known map[string]page, objs []fleet.Object, l *luck) ([]Volatile, error) {
	in, err := j.input() // the templates may have modified the first one
	if err != nil {
		return nil, err
	}
	again := *j
	again.known = make(map[string]document, len(first))
	for _, d := range first {
		if !d.shared {
			again.known[d.text] = d
		}
	}
	docs, next, _, err := again.documents(ctx, in, l, known)
	if err == nil && known != nil && next == nil {
		// This time, a template modified what others see: all are executed.
		if in, err = j.input(); err == nil {
			docs, _, _, err = again.documents(ctx, in, &luck{now: l.now, first: l.first, drawn: map[string][]any{}}, nil)
		}
	}
	if err != nil {
		return nil, j.fault("chart %s renders at one time and not at another: %v", j.chart.Ref, err)
	}
	others, err := j.objects(docs)
	return differences(objs, others), err
}

// objects returns the objects of documents, and the faults in them.
func (j *job) objects(docs []document) (out []fleet.Object, err error) {
	var faults diag.List
	for _, d := range docs {
		if !d.wanted(j.release) {
			continue
		}
		for _, err := range d.errs {
			faults.Add(&diag.Diag{
				At: []diag.Pos{j.release.Pos}, Path: j.release.Path(),
				Msg: "chart template " + d.source + " renders " + err.Error(), Cause: err,
			})
		}
		for _, o := range d.objs {
			out = append(out, fleet.Object{Unstructured: o, Release: j.release, Shared: d.shared, CRD: d.crd, Template: d.source, Pos: j.release.Pos})
		}
	}
	return out, faults.Err()
}

// hooks returns the objects of documents that stand beside the others.
func (j *job) hooks(docs []document) (out []fleet.Object) {
	for _, d := range docs {
		if !d.aside() {
			continue
		}
		for _, o := range d.objs {
			out = append(out, fleet.Object{Unstructured: o, Release: j.release, Shared: d.shared, Aside: true, Template: d.source, Pos: j.release.Pos})
		}
	}
	return out
}

// APIs returns the API versions that the CRDs among the objects add to a
// cluster, as charts ask for them: group/version and group/version/Kind,
// sorted.
func APIs(objs []fleet.Object) []string {
	var out []string
	for _, o := range objs {
		if o.GetKind() != "CustomResourceDefinition" || o.GroupVersionKind().Group != "apiextensions.k8s.io" {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		field, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "versions")
		versions, _ := field.([]any)
		for _, v := range versions {
			version, ok := v.(map[string]any)
			if served, _ := version["served"].(bool); !ok || !served {
				continue
			}
			if name, ok := version["name"].(string); ok {
				out = append(out, group+"/"+name, group+"/"+name+"/"+kind)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// written returns the objects of a release that are written in CUE.
func written(r *fleet.Release) ([]fleet.Object, error) {
	var faults diag.List
	var out []fleet.Object
	for _, t := range r.Objects {
		o, ok := t.Native().(map[string]any)
		if !ok {
			faults.Add(&diag.Diag{At: []diag.Pos{t.Pos}, Path: r.Path("objects"), Msg: "an object is a struct with apiVersion, kind and metadata"})
			continue
		}
		items, err := flatten(o)
		if err != nil {
			faults.Add(&diag.Diag{At: []diag.Pos{t.Pos}, Path: r.Path("objects"), Msg: err.Error()})
			continue
		}
		for _, i := range items {
			out = append(out, fleet.Object{Unstructured: &unstructured.Unstructured{Object: i}, Release: r, Pos: t.Pos})
		}
	}
	return out, faults.Err()
}
