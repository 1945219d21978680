package edit

import (
	"context"
	"fmt"
	"reflect"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

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
