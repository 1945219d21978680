package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/deliver/export"
	"github.com/fleetc/fleetc/compiler/incremental"
	"github.com/spf13/cobra"
)

// ociOptions are the flags of an export to a registry.
type ociOptions struct {
	target, source, revision string
}

func (r *ociOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.target, "oci", "", "push one artifact for each cluster to `oci://REGISTRY/PATH:TAG`")
	cmd.Flags().StringVar(&r.source, "source", "", "`URL` of the fleet, recorded in artifacts that change")
	cmd.Flags().StringVar(&r.revision, "revision", "", "`revision` of the fleet, recorded in artifacts that change, as in main@sha1:COMMIT")
}

// toRegistry exports to a registry. It pushes nothing if a cluster has faults.
func (x *exportRun) toRegistry(ctx context.Context, c *compiler.Compiler, patterns []string) (err error) {
	target, err := export.ParseTarget(x.oci.target)
	if err != nil {
		return err
	}
	client := export.NewRegistryClient(target)
	upToDate, err := x.loadChanged(ctx, c, client, patterns)
	if err != nil {
		return err
	}
	defer upToDate.Close()
	var faults diag.List
	faults.Add(deliver.CheckPlace(x.layout, x.fleet.Clusters, true, ""))
	for _, c := range x.fleet.Clusters {
		faults.Add(diag.In(c.ID, client.Check(c.ID)))
	}
	if err := faults.Err(); err != nil {
		return err
	}
	x.fleet.Exported = func(cluster string) ([]fleet.Object, error) {
		return deliver.LastArtifact(ctx, x.fleet, client, cluster)
	}
	x.fleet.KeepLast(x.layout, func(cluster string) ([]fleet.Object, error) {
		return deliver.LastValues(ctx, x.fleet, client, cluster)
	})
	dir, err := os.MkdirTemp("", "fleetc-oci-")
	if err != nil {
		return diag.NoTempFile(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	artifacts, err := x.artifacts(ctx, dir)
	if err != nil {
		return err
	}
	var pushed []export.PushResult
	p := newProgress(x.cmd, len(artifacts))
	for one, err := range deliver.PushArtifacts(ctx, client, artifacts, x.check) {
		faults.Add(err)
		if err == nil {
			pushed = append(pushed, one)
		}
		p.step()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if faults.Err() == nil {
		for i, one := range pushed {
			upToDate.Record(ctx, x.fleet.Clusters[i], one.Digest)
		}
	}
	for id, digest := range upToDate.Outcomes {
		one, err := client.Unchanged(id, digest)
		faults.Add(err)
		pushed = append(pushed, one)
	}
	slices.SortFunc(pushed, func(a, b export.PushResult) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return errors.Join(faults.Err(), x.printPushed(pushed, faults.Err() == nil))
}

// loadChanged loads the clusters that are not known to be up to date in the
// registry.
func (x *exportRun) loadChanged(ctx context.Context, c *compiler.Compiler, client *export.RegistryClient, patterns []string) (*incremental.UpToDate, error) {
	var failed atomic.Bool // the push reports errors of the registry
	loaded, upToDate, err := incremental.Load(ctx, c, incremental.Task{
		Name:   fmt.Sprintf("export %s with %s to %s", x.layout, toolVersion(), x.oci.target),
		Values: true,
		Holds: func(id, digest string) bool {
			if failed.Load() {
				return false
			}
			found, err := client.TagHas(ctx, id, digest)
			failed.CompareAndSwap(false, err != nil)
			return found
		},
		Parallelism: deliver.PushesAtATime,
	}, patterns...)
	x.fleet = loaded
	return upToDate, err
}

// artifacts compiles the clusters. The contents of their artifacts are written
// below dir.
func (x *exportRun) artifacts(ctx context.Context, dir string) ([]*export.Artifact, error) {
	var faults diag.List
	var artifacts []*export.Artifact
	p := newProgress(x.cmd, len(x.fleet.Clusters))
	defer p.clear()
	tree := &export.Tree{Fleet: x.fleet.Module, Version: toolVersion()}
	from := export.Provenance{Source: x.oci.source, Revision: x.oci.revision}
	for a, err := range deliver.Artifacts(ctx, x.fleet, x.layout, tree, dir, x.allowExec, from) {
		faults.Add(err)
		artifacts = append(artifacts, a)
		p.step()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return artifacts, faults.Err()
}

// printPushed prints the results for artifacts. The error is errDifferences if
// a check found changes; complete means that no other error occurred.
func (x *exportRun) printPushed(pushed []export.PushResult, complete bool) error {
	changed := 0
	for _, p := range pushed {
		if p.State == export.PushChanged {
			changed++
		}
	}
	verb := "pushed"
	if x.check {
		verb = "would be pushed"
	}
	err := writeResult(x.cmd, x.o, map[string]any{"artifacts": append([]export.PushResult{}, pushed...)}, func(w io.Writer) {
		for _, a := range pushed {
			if a.State != export.PushUnchanged {
				fmt.Fprintf(w, "%s %s@%s\n", a.State, a.Tag, a.Digest)
			}
		}
		fmt.Fprintf(w, "%s: %d %s\n", diag.Count(len(pushed), "artifact", "artifacts"), changed, verb)
	})
	return orDifferences(err, x.check && changed > 0 && complete)
}
