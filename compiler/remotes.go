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

// RemoteReader reads the pinned remote sources of kustomizations.
type RemoteReader struct {
	source *chart.Source
	pins   func() (map[string]fleet.RemoteSource, error)
}

// NewRemoteReader returns a reader for the fleet with the given root.
func NewRemoteReader(root string, source *chart.Source) *RemoteReader {
	return &RemoteReader{source, sync.OnceValues(func() (map[string]fleet.RemoteSource, error) { return load.Sources(root) })}
}

// get returns the source at an address, nil if it is not pinned. It returns a fault if the
// address cannot be pinned.
func (r *RemoteReader) get(ctx context.Context, address string) (*kustomize.Remote, error) {
	pins, err := r.pins()
	if err != nil {
		return nil, err
	}
	pin, ok := pins[address]
	if !ok {
		return nil, chart.CheckAddress(address)
	}
	found, err := r.source.Pinned(ctx, pin)
	if err != nil {
		return nil, err
	}
	return &kustomize.Remote{Name: found.Name, Path: found.Path, Files: found.Files}, nil
}

// Build builds a kustomization. It also returns the files of the fleet that the build
// read, with the files that pin and contain remote sources.
func (r *RemoteReader) Build(ctx context.Context, root string, release *fleet.Release) (objs []fleet.Object, reads []string, err error) {
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
