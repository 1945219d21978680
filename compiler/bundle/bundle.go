// Package bundle puts the objects of one cluster into the order in which they
// apply, writes each as canonical YAML and computes the digest that names the
// whole. It renders and checks nothing, and reads no files, no network and no
// clock: equal objects give equal bytes and an equal digest on every machine.
package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/memo"
)

// An Assembler makes the bundles of a fleet. It remembers the texts of contents
// that clusters share. It may be used by several goroutines at once.
type Assembler struct {
	Fleet string // the module path, which objects say that they are of

	texts memo.Map[textKey, text]
}

// A textKey names the text of a content that clusters share.
type textKey struct {
	content *unstructured.Unstructured
	release string
}

// A text is what is written of an object, without the ID of the cluster, which
// goes in between.
type text struct {
	before, after []byte
	err           error
}

// Assemble returns the bundle of the cluster with the given objects, which say
// in it whose they are, see [fleet.Mark]: ordered by stage, then by level, then by
// kind as Helm installs them, then by name, namespace and ID. The pins say what was rendered
// and end up sorted by release. Neither slice is modified, but the bundle shares
// the objects' content.
//
// An object whose release is of a stage that the cluster does not have, an ID
// that occurs twice and content that JSON cannot carry are faults, all of them
// in one [diag.List].
func (a *Assembler) Assemble(c *fleet.Cluster, objs []fleet.Object, pins []fleet.Pin) (*fleet.Bundle, error) {
	entries, err := order(c, objs)
	if err != nil {
		return nil, err
	}
	b := &fleet.Bundle{
		Cluster: c,
		Objects: make([]fleet.Object, len(entries)),
		YAML:    make([]fleet.Text, len(entries)),
		Sums:    make([]fleet.Sum, len(entries)),
		Charts:  slices.Clone(pins),
	}
	slices.SortStableFunc(b.Charts, func(p, q fleet.Pin) int { return cmp.Compare(p.Release, q.Release) })
	id := encoder{}
	if err := id.text(c.ID, markColumn); err != nil {
		return nil, fmt.Errorf("encode the ID of %s: %w", c.ID, err)
	}
	var faults diag.List
	sum := sha256.New()
	for i, e := range entries {
		marked := fleet.Mark(a.Fleet, c, e.Object)
		t := a.text(e.Object, marked)
		if t.err != nil {
			faults.Add(e.fault(t.err))
			continue
		}
		b.Objects[i], b.YAML[i] = marked, fleet.Text{t.before, id.buf, t.after}
		b.Sums[i] = b.YAML[i].Sum()
		head, err := json.Marshal(e.header())
		if err != nil {
			return nil, fmt.Errorf("encode the header of %s: %w", e.id, err)
		}
		// A header is one line of JSON, and a sum has always the same length: no two
		// bundles are hashed over the same bytes.
		sum.Write(append(head, '\n'))
		sum.Write(b.Sums[i][:])
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	b.Digest = fleet.Sum(sum.Sum(nil)).String()
	return b, nil
}

// markColumn is where the lines of the ID of the cluster would start, if it had
// several.
const markColumn = 6

// text returns the text of an object, of which marked is the marked one.
func (a *Assembler) text(o, marked fleet.Object) text {
	if !o.Shared {
		return encodeText(marked)
	}
	return a.texts.Get(textKey{o.Unstructured, o.Release.Name}, func() text { return encodeText(marked) })
}

// encodeText encodes an object with marks.
func encodeText(marked fleet.Object) text {
	object := maps.Clone(marked.Object)
	meta := maps.Clone(object["metadata"].(map[string]any))
	annotations := maps.Clone(meta["annotations"].(map[string]any))
	object["metadata"], meta["annotations"], annotations[fleet.ClusterAnnotation] = meta, annotations, hole{}
	e := encoder{buf: make([]byte, 0, 1024)}
	if err := e.fields(object, 0, false); err != nil {
		return text{err: err}
	}
	all := bytes.Clone(e.buf)
	return text{before: all[:e.hole:e.hole], after: all[e.hole:]}
}

// An entry is an object with what it is ordered by.
type entry struct {
	fleet.Object
	stage, level, rank        int
	kind, name, namespace, id string
}

// order returns the objects in the order in which they apply.
func order(c *fleet.Cluster, objs []fleet.Object) ([]entry, error) {
	stages := make(map[string]int, len(c.Stages))
	for i, s := range c.Stages {
		stages[s] = i
	}
	ranks := kindRanks()
	var faults diag.List
	entries := make([]entry, len(objs))
	seen := make(map[string]*fleet.Release, len(objs))
	for i, o := range objs {
		e := entry{Object: o, kind: o.GetKind(), name: o.GetName(), namespace: o.GetNamespace(), id: o.ID()}
		stage, ok := stages[o.Release.Stage]
		if !ok {
			faults.Add(&diag.Diag{
				At: at(o.Release.Pos), Path: "releases." + o.Release.Name + ".stage",
				Msg:  fmt.Sprintf("the cluster has no stage %q", o.Release.Stage),
				Hint: diag.OneOf(o.Release.Stage, c.Stages),
			})
		}
		if first, ok := seen[e.id]; ok {
			faults.Add(e.fault(&diag.Diag{
				At:  append(at(o.Release.Pos), at(first.Pos)...),
				Msg: fmt.Sprintf("releases %s and %s both have this object", first.Name, o.Release.Name),
			}))
		}
		seen[e.id] = o.Release
		e.stage, e.level = stage, o.Release.Level
		if e.rank, ok = ranks[e.kind]; !ok {
			e.rank = len(ranks)
		}
		entries[i] = e
	}
	slices.SortFunc(entries, entry.compare)
	return entries, faults.Err()
}

// header returns what the digest of a bundle has of an object beside its text.
// Without dependencies, it is what it was before there were levels.
func (e entry) header() []any {
	header := []any{e.Release.Stage, e.Release.Name, e.id}
	if e.level > 0 {
		header = append(header, e.level)
	}
	return header
}

func (e entry) compare(f entry) int {
	return cmp.Or(
		cmp.Compare(e.stage, f.stage), cmp.Compare(e.level, f.level), cmp.Compare(e.rank, f.rank), strings.Compare(e.kind, f.kind),
		strings.Compare(e.name, f.name), strings.Compare(e.namespace, f.namespace), strings.Compare(e.id, f.id),
	)
}

// fault returns err as a fault of the object.
func (e entry) fault(err error) error {
	var out diag.List
	for _, d := range diag.All(err) {
		c := *d
		c.At = append(at(e.Pos), c.At...)
		c.Path = e.id
		if d.Path != "" {
			c.Path += ": " + d.Path
		}
		out = append(out, &c)
	}
	return out
}

func at(p diag.Pos) []diag.Pos {
	if !p.IsValid() {
		return nil
	}
	return []diag.Pos{p}
}
