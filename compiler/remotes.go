package compiler

import (
	"context"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/source/kustomize"
)

// A remoteReader finds what kustomizations refer to in other places, as it is pinned.
type remoteReader struct {
	source *chart.Source
	pins   func() (map[string]fleet.RemoteSource, error)
}

func newRemoteReader(root string, source *chart.Source) *remoteReader {
	return &remoteReader{source, sync.OnceValues(func() (map[string]fleet.RemoteSource, error) { return load.Sources(root) })}
}

// get returns what an address refers to; nil when it is not pinned.
func (r *remoteReader) get(ctx context.Context, address string) (*kustomize.Remote, error) {
	pins, err := r.pins()
	if err != nil {
		return nil, err
	}
	pin, ok := pins[address]
	if !ok {
		return nil, nil
	}
	found, err := r.source.Pinned(ctx, pin)
	if err != nil {
		return nil, err
	}
	return &kustomize.Remote{Name: found.Name, Path: found.Path, Files: found.Files}, nil
}

// build builds a kustomization. reads are the files of the fleet that it is made of,
// those that pin and hold remote sources among them.
func (r *remoteReader) build(ctx context.Context, root string, release *fleet.Release) (objs []fleet.Object, reads []string, err error) {
	var more []string
	objs, reads, err = kustomize.Build(ctx, root, release.Kustomize, release, func(ctx context.Context, address string) (*kustomize.Remote, error) {
		more = append(more, load.SourcesFile)
		if pins, err := r.pins(); err == nil {
			if pin, ok := pins[address]; ok {
				more = append(more, r.source.RemoteFiles(pin)...)
			}
		}
		return r.get(ctx, address)
	})
	reads = append(reads, more...)
	slices.Sort(reads)
	return objs, slices.Compact(reads), err
}
