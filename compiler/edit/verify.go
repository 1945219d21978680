package edit

import (
	"context"
	"errors"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

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
