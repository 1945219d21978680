// Package bundle puts the objects of one cluster into the order in which they
// apply, writes each as canonical YAML and computes the digest that names the
// whole. It renders and checks nothing, and reads no files, no network and no
// clock: equal objects give equal bytes and an equal digest on every machine.
package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
)

// Assemble returns the bundle of the cluster with the given objects: ordered
// by stage, then by kind as Helm installs them, then by name, namespace and
// ID. The pins say what was rendered and end up sorted by release. Neither
// slice is modified, but the bundle shares the objects' content.
//
// An object whose release is of a stage that the cluster does not have, an ID
// that occurs twice and content that JSON cannot carry are faults, all of them
// in one [diag.List].
func Assemble(c *fleet.Cluster, objs []fleet.Object, pins []fleet.Pin) (*fleet.Bundle, error) {
	entries, err := order(c, objs)
	if err != nil {
		return nil, err
	}
	b := &fleet.Bundle{
		Cluster: c,
		Objects: make([]fleet.Object, len(entries)),
		YAML:    make([][]byte, len(entries)),
		Charts:  slices.Clone(pins),
	}
	slices.SortStableFunc(b.Charts, func(p, q fleet.Pin) int { return cmp.Compare(p.Release, q.Release) })
	var faults diag.List
	sum := sha256.New()
	for i, e := range entries {
		text, err := Encode(e.Object.Object)
		if err != nil {
			faults.Add(e.fault(err))
			continue
		}
		b.Objects[i], b.YAML[i] = e.Object, text
		head, err := json.Marshal([]any{e.Release.Stage, e.Release.Name, e.id, len(text)})
		if err != nil {
			return nil, fmt.Errorf("encode the header of %s: %w", e.id, err)
		}
		// A header is one line of JSON and ends with the length of the text
		// that follows, so no two bundles are hashed over the same bytes.
		sum.Write(append(head, '\n'))
		sum.Write(text)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	b.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return b, nil
}

// An entry is an object with what it is ordered by.
type entry struct {
	fleet.Object
	stage, rank               int
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
		e.stage = stage
		if e.rank, ok = ranks[e.kind]; !ok {
			e.rank = len(ranks)
		}
		entries[i] = e
	}
	slices.SortFunc(entries, entry.compare)
	return entries, faults.Err()
}

func (e entry) compare(f entry) int {
	return cmp.Or(
		cmp.Compare(e.stage, f.stage), cmp.Compare(e.rank, f.rank), strings.Compare(e.kind, f.kind),
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
