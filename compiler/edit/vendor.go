package edit

import (
	"cmp"
	"context"
	"errors"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Vendor copies the archives of all charts of the fleet into its repository, see
// [chart.Source.Vendor].
func Vendor(ctx context.Context, c *compiler.Compiler) (written, removed []string, err error) {
	e := c.Evaluate(ctx, nil)
	if e.Faults != nil {
		return nil, nil, e.Faults // the charts of a cluster may be unknown
	}
	users := fleet.ChartUsers(e.Fleet)
	packages, err := load.Packages(e.Dir)
	if err != nil {
		return nil, nil, err
	}
	refs := fleet.SortedRefs(users)
	for _, p := range packages {
		for _, pin := range p.Pins {
			if users[pin.Ref] == nil {
				refs = append(refs, pin.Ref)
			}
		}
	}
	sources, err := load.Sources(e.Dir)
	if err != nil {
		return nil, nil, err
	}
	return c.Source(e.Dir).Vendor(ctx, refs, sortedSources(sources))
}

// Packages returns the generated packages of the fleet, sorted by name.
func Packages(c *compiler.Compiler) ([]load.Package, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	return load.Packages(root)
}

// LayerNames returns the names of the fleet's layers that have layers below them.
func LayerNames(c *compiler.Compiler) ([]string, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	return load.LayerNames(root)
}

// VerifiedChart is a pinned chart or source of kustomizations, compared with its source.
type VerifiedChart struct {
	Chart    string   `json:"chart"` // with its version; the address of a source
	Digest   string   `json:"digest,omitempty"`
	Clusters []string `json:"clusters"` // IDs; none for a source
	OK       bool     `json:"ok"`
}

// VerifyCharts fetches the charts of the selected clusters, and all pinned sources of
// kustomizations, and compares their digests with the pins. The error has the faults of
// those that differ. The result is nil if the clusters have faults, or ctx ends.
func VerifyCharts(ctx context.Context, c *compiler.Compiler, patterns ...string) ([]VerifiedChart, error) {
	f, err := c.Clusters(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	source, users := c.Source(f.Dir), fleet.ChartUsers(f)
	var faults diag.List
	out := []VerifiedChart{}
	for _, ref := range fleet.SortedRefs(users) {
		err := source.Verify(ctx, ref)
		if ctx.Err() != nil {
			return nil, ctx.Err() // it was not compared
		}
		if err != nil {
			faults.Add(users[ref].Blame(err))
		}
		out = append(out, VerifiedChart{Chart: ref.String(), Digest: ref.Digest, Clusters: users[ref].Clusters, OK: err == nil})
	}
	pins, err := load.Sources(f.Dir)
	for _, s := range sortedSources(pins) {
		err := source.VerifyRemote(ctx, s)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		faults.Add(err)
		out = append(out, VerifiedChart{Chart: s.Address, Digest: s.Digest, Clusters: []string{}, OK: err == nil})
	}
	return out, errors.Join(faults.Err(), err)
}
