package importer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/objects"
	"github.com/fleetc/fleetc/compiler/stage/render"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// prove compiles the copy of the fleet and compares each release with the expected
// objects. again reports whether waivers or other lines were added, so that the layers
// must be written again; isLast says that they are not. The report is nil when releases that are
// not valid in a fleet were left out.
func (w *work) prove(ctx context.Context, isLast bool) (report *Report, again bool, err error) {
	ids := diag.Each(w.model.Clusters, func(c *Cluster) string { return c.ID })
	comp := w.compiler(w.stage)
	f, err := comp.Load(ctx, ids...)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if f == nil || len(f.Clusters) == 0 && err != nil {
		return nil, true, w.leaveOutInvalid(faultsIn("", err))
	}
	report = &Report{Proofs: []Proof{}}
	loadFaults := err
	charts := &render.Charts{}
	for _, c := range w.model.Clusters {
		i := slices.IndexFunc(f.Clusters, func(fc *fleet.Cluster) bool { return fc.ID == c.ID })
		if i < 0 {
			return nil, true, w.leaveOutInvalid(faultsIn(c.ID, loadFaults))
		}
		fc := f.Clusters[i]
		c.noteReferences(fc)
		if w.addWaivers(f, c, fc, report) {
			again = true
		}
		p := clusterProof{work: w, fleet: f, cluster: fc, model: c, charts: charts, report: report}
		more, err := p.run(ctx)
		if err != nil {
			return nil, false, err
		}
		again = again || more
	}
	if !again || isLast {
		f.Clusters = slices.DeleteFunc(f.Clusters, func(c *fleet.Cluster) bool { return !f.CanRender(c) })
		for _, err := range deliver.Vet(ctx, f, deliver.VetOptions{}) {
			report.faults.Add(err)
		}
		report.faults.Add(diag.List(slices.DeleteFunc(diag.All(loadFaults), isOfChart)).Err())
	}
	report.addDropped("", w.model.Dropped, w.place)
	report.faults = diag.All(report.faults.Err())
	return report, again, ctx.Err()
}

// isOfChart reports whether a chart is not there.
func isOfChart(d *diag.Diag) bool { return strings.HasSuffix(d.Path, ".chart") }

// faultsIn returns the faults of a cluster that does not evaluate. It leaves out mistakes in
// values and charts that are not there if there are other faults: the import adds waivers for
// the values, and may write releases without their chart.
func faultsIn(cluster string, err error) error {
	var of, others diag.List
	for _, d := range diag.All(err) {
		if cluster != "" && len(d.Clusters) > 0 && !slices.Contains(d.Clusters, cluster) {
			continue
		}
		of = append(of, d)
		if !isOfValues(d) && !isOfChart(d) {
			others = append(others, d)
		}
	}
	return cmp.Or(others.Err(), of.Err(), err)
}

// isOfValues reports whether a fault is a mistake in values.
func isOfValues(d *diag.Diag) bool { return strings.Contains(d.Path, ".values.") }

// addWaivers adds a waiver for each mistake in the values of releases, and reports
// whether there is a new one.
func (w *work) addWaivers(f *compiler.Fleet, model *Cluster, c *fleet.Cluster, report *Report) bool {
	again := false
	for _, r := range c.Releases {
		ch, ok := f.Charts[r.Chart]
		i := slices.IndexFunc(model.Releases, func(m *Release) bool { return m.Name == r.Name })
		if !ok || i < 0 {
			continue
		}
		of := model.Releases[i]
		for _, d := range ch.Types.Check(r.Values, nil) {
			field := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(d.Path, "values"), "."), "*")
			pos, value := of.value(field)
			note := Note{Pos: pos, Doc: "release " + r.Name, Field: field, Do: d.Msg}
			isOurs := value != nil && value.Integer != nil // the import made it a string
			if !isOurs && !slices.Contains(report.mistakes, note) {
				report.mistakes = append(report.mistakes, note)
			}
			waived, ok := waiverOf(d)
			if !ok || of.isOpen(waived) {
				continue
			}
			if of.open == nil {
				of.open = map[string]any{}
			}
			of.open[waived] = imported
			again = true
		}
	}
	return again
}

// waiverOf returns the field for which a waiver accepts a fault of values: that of a fix of
// the fault, or * for the whole chart.
func waiverOf(d *diag.Diag) (field string, ok bool) {
	for _, f := range d.Fixes {
		if f.Kind == diag.FixWaiver {
			field, err := strconv.Unquote(strings.TrimPrefix(f.Path, "open."))
			return field, err == nil
		}
	}
	return "*", d.Path == "values"
}

// value returns a value, nil if there is none, and its position in the source, or that of the
// deepest map that contains it and has one.
func (r *Release) value(field string) (pos diag.Pos, n *Node) {
	pos, n = r.Pos, r.Values
	keys, _ := fleet.ParseField(field)
	for ; len(keys) > 0 && n != nil; keys = keys[1:] {
		if n = n.Get(keys[0]); n != nil && n.Line > 0 {
			pos.Line, pos.Col, pos.File = n.Line, n.Col, cmp.Or(n.File, r.Pos.File)
		}
	}
	return pos, n
}

// isOpen reports whether a waiver covers a field.
func (r *Release) isOpen(field string) bool {
	for path := range r.open {
		if path == "*" || path == field || strings.HasPrefix(field, path+".") {
			return true
		}
	}
	return false
}

// A clusterProof proves the releases of one cluster.
type clusterProof struct {
	*work
	fleet   *compiler.Fleet
	cluster *fleet.Cluster
	model   *Cluster
	charts  *render.Charts
	report  *Report
}

// run compares all releases of the cluster.
func (p *clusterProof) run(ctx context.Context) (again bool, err error) {
	if slices.ContainsFunc(p.model.Releases, func(r *Release) bool { return r.expected == nil }) {
		p.model.declared = p.cluster.APIs
		if err := p.expect(ctx, p.charts, &validate.Checker{}, p.model); err != nil {
			return false, err
		}
		again = len(p.model.apis) > 0 || slices.ContainsFunc(p.model.Releases, func(r *Release) bool { return r.expected.duplicateKeys })
	}
	rendered, err := p.fleet.Render(ctx, p.cluster)
	if err != nil {
		return false, err
	}
	got := map[string]int{}
	for i, r := range rendered.Releases {
		got[r.Name] = i
	}
	for _, r := range p.model.Releases {
		proof := Proof{Cluster: p.model.ID, Release: r.Name, Origin: r.Origin, At: p.place(r.Pos), Objects: len(r.expected.objects)}
		i, ok := got[r.Name]
		if !ok {
			proof.Status, proof.Reason = Different, "the fleet has no such release: a file of it was edited"
		} else {
			p.compare(&proof, r, r.expected, rendered.Releases[i], rendered.Renderings[i])
			again = r.addRandom(rendered.Renderings[i].Result) || again
			again = r.expected.err == nil && p.addOptional(r, rendered.Releases[i], rendered.Renderings[i].Result.Objects) || again
		}
		p.report.Proofs = append(p.report.Proofs, proof)
	}
	p.report.addDropped(p.model.ID, p.model.Dropped, p.place)
	return again, nil
}

// compare compares the objects of one release.
func (p *clusterProof) compare(proof *Proof, r *Release, want *expectation, fr *fleet.Release, got compiler.Rendering) {
	if want.err != nil {
		proof.Status, proof.Reason = Unproven, diag.All(want.err)[0].Msg
		return
	}
	objs, err := got.Result.Objects, got.Err
	if err == nil {
		objs, _, err = objects.CheckedObjects(p.cluster, fr, objs)
	}
	if err != nil {
		proof.Status, proof.Reason = Different, "the fleet does not render it: "+diag.All(err)[0].Msg
		return
	}
	if proof.Differences = storedDifferences(r, want); len(proof.Differences) > 0 {
		proof.Status, proof.Reason = Different, "the cluster has other objects than the chart renders: Helm rendered it with other API versions or live objects, or the chart is another one"
		return
	}
	before, random := withoutRandom(want.objects, want.random)
	after, random2 := withoutRandom(objs, got.Result.Nondeterministic)
	if changes := diff.Objects(before, after, nil); len(changes) > 0 {
		proof.Status, proof.Reason = Different, diag.Count(len(changes), "object differs", "objects differ")
		proof.Differences = differences(changes)
		if r.Chart != nil && r.helmName != "" && r.helmName != r.Name {
			proof.Reason += "; Argo CD calls this release " + r.helmName + ", and names in a cluster of a fleet are unique and have no dots"
		} else if fields := r.Target.fields(); fields != "" {
			proof.Reason += "; Argo CD renders the chart for " + fields + ", and fleetc for the namespace of the release and the versions of its cluster"
		} else if len(r.Values.integers()) > 0 {
			proof.Reason += "; helm --set sets integers that templates print in full, and the fleet has numbers, which they may print as 1e+06"
		} else if ch := p.chart(r); ch != nil && !render.UsedAPIsOf(ch).None() {
			proof.Reason += "; the chart asks for API versions, and the tool shows it those of all CRDs of the cluster: let the release depend on the one with the CRDs"
		}
		return
	}
	switch {
	case r.Unproven != "":
		proof.Status, proof.Reason = Unproven, r.Unproven
	case random || random2:
		proof.Status, proof.Reason = EqualObjects, "but for fields that the chart renders differently every time"
	case sameBytes(before, after):
		proof.Status = EqualBytes
		if r.refers() {
			proof.Reason = "with references in place of secrets"
		}
	default:
		proof.Status, proof.Reason = EqualObjects, "in another order"
	}
	if r.Chart != nil {
		if pin := p.work.charts[r.Chart.key()]; pin.other != "" {
			proof.Status, proof.Reason = Unproven, fmt.Sprintf("equal with version %s of the chart, and the release has %s", pin.Version, pin.other)
		}
	}
}

// addOptional lets patches match nothing that match no object of this cluster: other tools
// ignore them. It reports whether there is one.
func (p *clusterProof) addOptional(r *Release, fr *fleet.Release, objs []fleet.Object) (again bool) {
	_, _, err := objects.CheckedObjects(p.cluster, fr, objs)
	for _, d := range diag.All(err) {
		keys, ok := fleet.ParseField(d.Path) // releases.a.patches.b.target
		for i := range r.Patches {
			p := &r.Patches[i]
			if d.Code == diag.CodePatchUnmatched && !p.Optional && ok && len(keys) > 3 && keys[3] == p.Name { //nolint:mnd // the key of the patch
				p.Optional, again = true, true
			}
		}
	}
	return again
}

// storedDifferences returns the differences between the objects that the tool stored
// and those that the engine renders, without hooks and the crds directory.
func storedDifferences(r *Release, want *expectation) []string {
	if r.Stored == nil || r.Unproven != "" {
		return nil
	}
	var stored []fleet.Object
	for _, o := range r.Stored {
		stored = append(stored, fleet.Object{Unstructured: o, Release: &fleet.Release{Name: r.Name, Namespace: r.Namespace}})
	}
	rendered := diag.Filter(want.objects, func(o fleet.Object) bool { return !o.CRD && !fleet.IsHook(o.Unstructured) })
	before, _ := withoutRandom(stored, want.random)
	after, _ := withoutRandom(rendered, want.random)
	return differences(diff.Objects(before, after, nil))
}

// withoutRandom returns objects without the fields that differ in every rendering, and
// whether there are any.
func withoutRandom(objs []fleet.Object, parts []render.NondeterministicPart) ([]fleet.Object, bool) {
	out := slices.Clone(objs)
	copied := map[int]bool{}
	for _, part := range parts {
		i := slices.IndexFunc(out, func(o fleet.Object) bool {
			// Templates often leave out the namespace of the release.
			id := o.GroupVersionKind().GroupKind().String() + " " + o.GetName()
			return o.ID() == part.ID || id == part.ID && o.Release != nil && o.GetNamespace() == o.Release.Namespace
		})
		if i < 0 || len(part.Path) == 0 {
			continue
		}
		if !copied[i] {
			out[i].Unstructured = out[i].DeepCopy()
			copied[i] = true
		}
		remove(out[i].Object, part.Path)
	}
	return out, len(parts) > 0
}

// remove removes a field; a list that contains it is removed as a whole.
func remove(m map[string]any, path []string) {
	for i, key := range path {
		below, ok := m[key].(map[string]any)
		if i == len(path)-1 || !ok {
			delete(m, key)
			return
		}
		m = below
	}
}

// sameBytes reports whether both sides are the same text.
func sameBytes(before, after []fleet.Object) bool {
	for i := range before {
		a, err := objects.Encode(before[i].Object)
		b, err2 := objects.Encode(after[i].Object)
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}

// maxDifferences limits the differences in the report of a release.
const maxDifferences = 5

// differences describes the first changes, from the expected to the rendered objects.
func differences(changes []diff.Change) []string {
	var out []string
	for _, c := range changes {
		switch c.Action {
		case diff.Create:
			out = append(out, c.ID+" is only in the fleet")
		case diff.Delete:
			out = append(out, c.ID+" is missing from the fleet")
		default:
			for _, f := range c.Fields {
				if f.Secret {
					out = append(out, fmt.Sprintf("%s %s: a value of the Secret differs", c.ID, f.Path))
					continue
				}
				out = append(out, fmt.Sprintf("%s %s: %s -> %s", c.ID, f.Path, valueText(f.Before, f.HasBefore), valueText(f.After, f.HasAfter)))
			}
		}
	}
	if len(out) > maxDifferences {
		out = append(out[:maxDifferences], fmt.Sprintf("and %d more", len(out)-maxDifferences))
	}
	return out
}

// valueText returns a value of a field in one line.
func valueText(v any, exists bool) string {
	if text, ok := v.(string); ok {
		return diff.Inline(text)
	}
	if !exists {
		return "absent"
	}
	return diff.ValueText(v)
}

// addRandom adds lines for the fields that the chart renders differently every time.
func (r *Release) addRandom(res render.Result) (again bool) {
	for _, part := range res.Nondeterministic {
		if part.Object < 0 || len(part.Path) == 0 {
			continue
		}
		o := res.Objects[part.Object]
		field := o.GetKind() + "/" + o.GetName() + " " + fleet.FieldText(part.Path)
		if r.random == nil {
			r.random = map[string]any{}
		}
		if r.random[field] == nil {
			r.random[field] = map[string]any{"keep": true}
			again = true
		}
	}
	return again
}
