// Package compiler compiles a fleet: it reads a directory of CUE and returns one bundle of
// manifests for each cluster.
//
//	load      finds the clusters and reads their layers     directory -> instances
//	unify     evaluates the layers, merges the defaults     instance  -> Cluster
//	chart     finds the files of each chart                 ChartRef  -> Chart
//	values    infers types of values, checks values         Chart     -> faults
//	render    runs charts, Jsonnet and kustomize            Release   -> Objects
//	patch     applies the patches of releases               Objects   -> Objects
//	validate  checks objects against schemas                Objects   -> faults
//	policy    checks objects against the fleet's policies   Objects   -> faults
//	bundle    orders and encodes objects                    Objects   -> Bundle
//
// The packages of the stages are below stage: patch and bundle are in objects, policy is in
// validate, and Jsonnet and kustomize are in source. A stage knows the data ([fleet]) and the
// faults ([diag]), and no other stage. This package calls the stages in their order, which
// pipeline.go shows. [Compiler.Load] runs the first half, to values, for the whole fleet;
// only this half uses the network. [Fleet.Bundles] runs the second half cluster by
// cluster. The package cache stores results for later runs, and the package incremental
// skips clusters that are up to date.
//
// A program that embeds fleetc uses [Compiler] and [Fleet] as the example does. Everything
// else in this module may change without notice.
package compiler

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/cache"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// Compiler compiles the fleet around a directory. The zero value compiles the fleet around
// the working directory.
type Compiler struct {
	Dir     string // a directory of the fleet; the working directory when empty
	Jobs    int    // clusters that are compiled at a time; 0 for GOMAXPROCS
	Cache   string // directory of charts and results; fleetc in the user's cache directory when empty
	Offline bool   // whether the network may not be used
	NoCache bool   // whether results are neither used nor stored; charts are stored nevertheless

	// Date is the current day, as in 2026-12-31. Waivers that end before it are faults. If it
	// is empty, waivers do not end.
	Date string

	Shard fleet.Shard // the part of the selected clusters that is compiled; all when zero

	// Kubernetes overrides the version of all clusters, unless it is empty.
	Kubernetes string

	Limits par.Limits // of the evaluation of CUE for one cluster

	// Unchanged are evaluated clusters that are not selected. The selected clusters are
	// checked against them.
	Unchanged []*fleet.Cluster

	Build string // the build of fleetc; no results are used or stored when it is empty

	Edits         load.Edits // replace files of the fleet, to compile a change before it is made
	ReadOnlyCache bool       // whether results are used but not stored
	Earlier       bool       // whether the fleet is an earlier state, whose clusters are not checked against each other
	ReuseFrom     *Fleet     // a fleet whose equal charts are reused; nil for none
	SameCharts    bool       // whether the files of charts are as they were for ReuseFrom

	// Memo returns the evaluation of a cluster. It calls evaluate, or returns the result of
	// an earlier call for the same inputs. Several goroutines call it. Nil evaluates each
	// cluster.
	Memo func(in load.Cluster, evaluate func() (*fleet.Cluster, error)) (*fleet.Cluster, error)

	unshared bool // whether clusters do not share results, for tests
}

// Parallel returns how many clusters are compiled at a time.
func (c *Compiler) Parallel() int { return cmp.Or(c.Jobs, runtime.GOMAXPROCS(0)) }

// Clusters evaluates the clusters that the patterns select, see [fleet.MatchCluster]; all
// when there are no patterns. It reads no charts. The error holds the faults of all
// clusters; the fleet beside it has the clusters without faults, and is nil when the
// directory is not a fleet.
func (c *Compiler) Clusters(ctx context.Context, patterns ...string) (*fleet.Fleet, error) {
	e := c.Evaluate(ctx, patterns)
	return e.Fleet, e.Faults
}

// Evaluate evaluates the clusters that the patterns select, and checks them against
// each other.
func (c *Compiler) Evaluate(ctx context.Context, patterns []string) Evaluation {
	loaded, err := c.ReadLayers(patterns)
	e := c.Unify(ctx, loaded, err)
	if !c.Earlier {
		c.CheckTogether(ctx, loaded, &e, nil)
	}
	return e
}

// ReadLayers reads the layers of the clusters that the patterns select.
func (c *Compiler) ReadLayers(patterns []string) (*load.Fleet, error) {
	if err := cmp.Or(kube.CheckVersion(c.Kubernetes), checkDate(c.Date)); err != nil {
		return nil, err
	}
	dir := cmp.Or(c.Dir, ".")
	if c.Shard != (fleet.Shard{}) {
		// The load below reports faults of the fleet or the patterns.
		if ids, err := c.ClusterIDs(patterns...); err == nil {
			patterns = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !c.Shard.Has(id) })
			if len(patterns) == 0 && len(ids) > 0 {
				root, module, err := load.Root(dir)
				return &load.Fleet{Root: root, Module: module}, err
			}
		}
	}
	return load.Load(dir, patterns, c.Edits)
}

// Module returns the path of the fleet's module, which is its name.
func (c *Compiler) Module() (string, error) {
	_, module, err := load.Root(cmp.Or(c.Dir, "."))
	return module, err
}

// ClusterIDs returns the IDs of the clusters of all shards that the patterns select, sorted;
// all when there are no patterns. It evaluates nothing. It fails for a directory that is
// not a fleet, and for a pattern that selects nothing.
func (c *Compiler) ClusterIDs(patterns ...string) ([]string, error) {
	root, _, err := load.Root(cmp.Or(c.Dir, "."))
	if err != nil {
		return nil, err
	}
	ids, err := load.ClusterIDs(root)
	if err != nil {
		return nil, err
	}
	return load.Select(ids, patterns)
}

// Source returns where the charts of the fleet with the given root come from.
func (c *Compiler) Source(root string) *chart.Source {
	return &chart.Source{Root: root, Cache: c.Cache, Offline: c.Offline}
}

// checkDate returns a fault for a date that is neither empty nor valid.
func checkDate(date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil && date != "" {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%q is not a valid date", date), Hint: "write it as in 2026-12-31"}
	}
	return nil
}

// Results returns the store of results. It is disabled without a build and with NoCache.
func (c *Compiler) Results() *cache.Store {
	dir := c.resultsDir()
	if c.NoCache {
		dir = ""
	}
	return cache.New(c.Build, dir, c.ReadOnlyCache)
}

// CleanCache removes the results of earlier runs, of all builds.
func (c *Compiler) CleanCache() error {
	if err := os.RemoveAll(c.resultsDir()); err != nil {
		return fmt.Errorf("clean the cache: %w", err)
	}
	return nil
}

// resultsDir returns the directory of results; empty when the user has no cache directory.
func (c *Compiler) resultsDir() string {
	if dir := c.CacheDir(); dir != "" {
		return filepath.Join(dir, "results")
	}
	return ""
}

// CacheDir returns the cache directory for charts and results; empty when the user has no
// cache directory.
func (c *Compiler) CacheDir() string {
	if c.Cache != "" {
		return c.Cache
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "fleetc")
}
