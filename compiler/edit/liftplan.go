package edit

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue/format"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A liftMove is a value that all clusters of a layer set equally, in layers below it.
type liftMove struct {
	path  []string // in settings
	value string   // canonical
	to    *layer
	from  []*layer // sorted by directory
	isSet bool     // whether the layer sets it already
}

// plan returns the moves of the values at or below one of the paths, all without paths: each
// to the highest layer whose clusters all set the value. They are sorted by layer and in the
// order of the files.
func (t *tree) plan(paths [][]string) []*liftMove {
	if len(t.layers) == 0 {
		return nil
	}
	var moves []*liftMove
	seen := map[string]bool{}
	for _, l := range t.layers {
		l.settings.leaves(nil, func(path []string) {
			key := strings.Join(path, "\x00")
			if !seen[key] && (len(paths) == 0 || slices.ContainsFunc(paths, func(want []string) bool { return isBelow(path, want) })) {
				seen[key] = true
				moves = append(moves, liftTo(t.layers[0], path)...)
			}
		})
	}
	slices.SortStableFunc(moves, func(a, b *liftMove) int { return strings.Compare(a.to.Dir, b.to.Dir) })
	return moves
}

// isBelow reports whether a path in settings is at or below a path of explain, in which
// defaults are values.
func isBelow(path, want []string) bool {
	path = slices.Clone(path)
	path[prefixLength-1] = valuesField
	return len(path) >= len(want) && slices.Equal(path[:len(want)], want)
}

// liftTo returns the moves of a path into a layer, or into layers below it. A layer with one
// layer below takes no values: one cluster does not show the common values. Neither does one
// whose files are all links.
func liftTo(l *layer, path []string) (out []*liftMove) {
	own := l.settings.get(path)
	value, isLiteral := own.literal()
	if own == nil || isLiteral {
		m := &liftMove{path: path, to: l, value: value, isSet: own != nil}
		if len(l.below) > 1 && slices.ContainsFunc(l.files, func(f *sourceFile) bool { return !f.isLink }) &&
			!slices.ContainsFunc(l.below, func(b *layer) bool { return !m.sets(b) }) {
			return []*liftMove{m}
		}
	}
	for _, b := range l.below {
		out = append(out, liftTo(b, path)...)
	}
	return out
}

// sets reports whether a layer, or all layers below it, set the value, and none sets another
// one there.
func (m *liftMove) sets(l *layer) bool {
	if l.settings.get(m.path) != nil {
		return m.agrees(l)
	}
	return len(l.below) > 0 && !slices.ContainsFunc(l.below, func(b *layer) bool { return !m.sets(b) })
}

// agrees reports whether neither a layer nor one below it sets another value.
func (m *liftMove) agrees(l *layer) bool {
	if own := l.settings.get(m.path); own != nil {
		value, ok := own.literal()
		if !ok || m.value != "" && value != m.value {
			return false
		}
		m.value = value
		m.from = append(m.from, l)
	}
	return !slices.ContainsFunc(l.below, func(b *layer) bool { return !m.agrees(b) })
}

// valueText returns the value in one line of CUE, shortened if it is long.
func (m *liftMove) valueText() string {
	const most = 60
	_, from := m.origin()
	text, err := format.Node(from.field.Value)
	if err != nil || bytes.Contains(text, []byte("\n")) {
		text = []byte(m.value)
	}
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return string(text)
}

// A prover compares the bundles of all clusters with those of before.
type prover struct {
	c        *compiler.Compiler
	fleet    *compiler.Fleet   // without edits
	clusters []compiledCluster // likewise
}

// A compiledCluster holds the parts of a cluster that must not change.
type compiledCluster struct {
	id     string
	digest string         // of the bundle
	values map[string]any // of releases
}

// compile compiles the fleet with edits. A fleet with faults is an error.
func (p *prover) compile(ctx context.Context, edits load.Edits) (*compiler.Fleet, []compiledCluster, error) {
	edited := *p.c
	edited.Edits, edited.ReuseFrom = edits, p.fleet
	f, err := edited.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	f.KeepSame()
	var out []compiledCluster
	var faults diag.List
	for b, err := range f.Bundles(ctx) {
		if faults.Add(err); err == nil {
			out = append(out, compiledCluster{b.Cluster.ID, b.Digest, valuesOf(b.Cluster)})
		}
	}
	return f, out, faults.Err()
}

func valuesOf(c *fleet.Cluster) map[string]any {
	out := map[string]any{}
	for _, r := range c.Releases {
		out[r.Name] = r.Values.Value()
	}
	return out
}

// differs returns how the fleet differs with edits: the first fault, or the first cluster with
// another bundle; "" if it does not.
func (p *prover) differs(ctx context.Context, edits load.Edits) (string, error) {
	_, after, err := p.compile(ctx, edits)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return diag.All(err)[0].Error(), nil
	}
	for i, c := range p.clusters {
		if a := after[i]; a.digest != c.digest || !reflect.DeepEqual(a.values, c.values) {
			return fmt.Sprintf("the bundle of %s would change", c.id), nil
		}
	}
	return "", nil
}
