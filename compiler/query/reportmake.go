package query

import (
	"cmp"
	"context"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/deliver"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// A ReportRequest selects the clusters and the facts of a report.
type ReportRequest struct {
	Clusters []string // patterns; all clusters when empty

	// LinkTemplate is the address of a line in a web browser, with {file} and {line} in it.
	// Empty for no links.
	LinkTemplate string

	Outdated bool                  // whether to check the chart repositories for newer versions
	Against  *DiffRequest          // the state to compare with; nil for none
	Name     string                // of that state
	Live     *deliver.DriftRequest // how to read the running clusters; nil for not at all
	Each     func(of int)          // called after each cluster; may be nil
}

// MakeReport compiles the clusters and returns their facts. The error holds all faults of the fleet.
// Faults of running clusters are returned with the report.
func MakeReport(ctx context.Context, c *compiler.Compiler, req ReportRequest) (*Report, error) {
	links, err := newLinker(req.LinkTemplate)
	if err != nil {
		return nil, err
	}
	f, err := c.Load(ctx, req.Clusters...)
	if err != nil {
		return nil, err
	}
	m := newMaker(f, links)
	if err := m.render(ctx, req.Each); err != nil {
		return nil, err
	}
	if err := m.collect(ctx); err != nil {
		return nil, err
	}
	if err := m.newerVersions(ctx, c, req); err != nil {
		return nil, err
	}
	if err := m.against(ctx, c, req); err != nil {
		return nil, err
	}
	if err = m.live(ctx, c, req); err != nil && !m.Live { // interrupted
		return nil, err
	}
	makePrintable(reflect.ValueOf(m.Report).Elem())
	return m.Report, err
}

// A maker collects the facts of a fleet.
type maker struct {
	*Report
	f            *compiler.Fleet
	environments []*environment
	secrets      secretTexts
	images       *imageCollector
	crds         map[crdKey]*ReportCRD
	waivers      map[waiverKey]*ReportWaiver
	layers       []load.LayerFiles // of the selected clusters
}

// An environment is the clusters that are compared with each other.
type environment struct {
	name     string
	clusters []int // indexes in the fleet
	comparer *comparer
}

func newMaker(f *compiler.Fleet, links linker) *maker {
	f.KeepSame()
	m := &maker{
		Report: &Report{Fleet: f.Module, links: links}, f: f, secrets: newSecretTexts(),
		images: &imageCollector{f: f, index: map[string]int{}}, crds: map[crdKey]*ReportCRD{}, waivers: map[waiverKey]*ReportWaiver{},
	}
	byName := map[string]*environment{}
	for i, c := range f.Clusters {
		name := environmentOf(c)
		if byName[name] == nil {
			byName[name] = &environment{name: name}
			m.environments = append(m.environments, byName[name])
		}
		byName[name].clusters = append(byName[name].clusters, i)
	}
	for _, e := range m.environments {
		clusters := diag.Each(e.clusters, func(i int) *fleet.Cluster { return f.Clusters[i] })
		e.comparer = newComparer(f, clusters, nil)
	}
	return m
}

// environmentOf returns the environment of a cluster; its directory if it has none.
func environmentOf(c *fleet.Cluster) string {
	return cmp.Or(c.Environment, strings.TrimSuffix(path.Dir(c.ID), "."), "root")
}

// render renders all clusters once, and collects the facts of their objects.
func (m *maker) render(ctx context.Context, each func(of int)) error {
	rendered := par.Map(ctx, m.f.Parallel, len(m.f.Clusters), func(ctx context.Context, i int) ([]fleet.Object, error) {
		objs, _, err := m.f.CheckedObjects(ctx, m.f.Clusters[i])
		return objs, fleet.InCluster(m.f.Clusters[i], err)
	})
	var faults diag.List
	i := 0
	for objs, err := range rendered {
		faults.Add(err)
		if err == nil {
			m.addObjects(i, objs)
		}
		if i++; each != nil {
			each(len(m.f.Clusters))
		}
	}
	return cmp.Or(ctx.Err(), faults.Err())
}

// addObjects adds the facts of the objects of a cluster.
func (m *maker) addObjects(i int, objs []fleet.Object) {
	c := m.f.Clusters[i]
	for _, use := range imageUsesOf(c, objs) {
		m.images.add(i, use)
	}
	for _, e := range m.environments {
		if at, ok := slices.BinarySearch(e.clusters, i); ok {
			e.comparer.collect(at, objs)
		}
	}
	for _, o := range objs {
		m.secrets.add(o)
		m.addCRD(c, o)
		m.addPolicyWaivers(c, o)
	}
	for _, r := range c.Releases {
		m.addWaivers(c, r)
	}
}

// collect makes the report of the collected facts.
func (m *maker) collect(ctx context.Context) error {
	for _, c := range m.f.Clusters {
		m.addCluster(c)
	}
	if err := m.readLayers(); err != nil {
		return err
	}
	m.compare()
	m.countWaivers()
	m.addValues()
	if err := m.addWiring(); err != nil {
		return err
	}
	m.addWaves()
	return m.addInventory(ctx)
}

// newerVersions sets the newer versions of charts: those that other clusters pin and, with
// Outdated, those in the repositories.
func (m *maker) newerVersions(ctx context.Context, c *compiler.Compiler, req ReportRequest) error {
	newest := map[string]string{}
	note := func(location, version string) {
		if chart.IsNewer(version, newest[location]) {
			newest[location] = version
		}
	}
	for _, c := range m.f.Clusters {
		for _, r := range c.Releases {
			note(r.Chart.Location(), versionOf(m.f, r))
		}
	}
	if req.Outdated {
		found, err := OutdatedCharts(ctx, c, req.Clusters...)
		if err != nil {
			return err
		}
		for _, v := range found {
			note(v.Chart.Location(), v.Newest)
		}
	}
	for i := range m.Clusters {
		for j := range m.Clusters[i].Releases {
			cell := &m.Clusters[i].Releases[j]
			if v := newest[cell.Source]; chart.IsNewer(v, cell.Version) {
				cell.Newest = v
			}
		}
	}
	return nil
}

// cluster returns the cluster with an ID; nil if there is none.
func (r *Report) cluster(id string) *ReportCluster {
	i, ok := slices.BinarySearchFunc(r.Clusters, id, func(c ReportCluster, id string) int { return cmp.Compare(c.ID, id) })
	if !ok {
		return nil
	}
	return &r.Clusters[i]
}

// cell returns the cell of a release in a cluster; nil if there is none.
func (r *Report) cell(clusterID, release string) *ReportCell {
	c := r.cluster(clusterID)
	if c == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(c.Releases, release, func(cell ReportCell, name string) int { return cmp.Compare(cell.Release, name) })
	if !ok {
		return nil
	}
	return &c.Releases[i]
}

// makePrintable replaces characters that are not printable in all texts of a value: texts of
// files must not change the direction or the lines of the text around them.
func makePrintable(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); v.CanSet() {
			v.SetString(diag.OneLine(text))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			makePrintable(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			makePrintable(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			makePrintable(v.Field(i))
		}
	}
}
