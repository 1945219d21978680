package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// compare adds the differences between the clusters of each environment.
func (m *maker) compare() {
	m.Differences = []ReportDifference{}
	for _, e := range m.environments {
		if len(e.clusters) < 2 {
			continue
		}
		e.comparer.secrets = m.secrets.whole
		found := e.comparer.comparison()
		for _, part := range []struct {
			name        string
			differences []diff.Difference
		}{
			{"release", found.Releases}, {"chart", found.Charts}, {"value", found.Values}, {"image", found.Images}, {"object", found.Objects},
		} {
			for _, d := range part.differences {
				m.addDifference(e, part.name, d)
			}
		}
	}
	slices.SortStableFunc(m.Differences, func(a, b ReportDifference) int {
		return strings.Compare(a.Environment+"\x00"+a.Release, b.Environment+"\x00"+b.Release)
	})
}

// addDifference adds a difference, and counts it in the cells of the clusters that differ
// from their environment. Objects are differences only of clusters with such a cell: most
// objects of a release differ in each cluster, because its name is in them.
func (m *maker) addDifference(e *environment, part string, d diff.Difference) {
	out := ReportDifference{Environment: e.name, Release: d.Release, Part: part, Path: fleet.FieldText(d.Path)}
	if part == "object" || part == "image" {
		out.Path = d.Path[0]
	}
	differing := differingVariants(d, len(e.clusters))
	if part == "object" && !slices.Contains(differing, true) {
		return
	}
	for i, text := range d.Texts() {
		v := d.Variants[i]
		variant := ReportVariant{Value: text, Clusters: v.Clusters, Differs: differing[i]}
		if m.secrets.contains(v.Value) {
			variant.Value = hidden
		}
		switch {
		case part == "object" && v.Exists:
			variant.Value = "" // a digest
		case part == "release" && len(d.Path) == 0:
			variant.Value = map[bool]string{true: "installed", false: "not installed"}[v.Exists]
		}
		for _, o := range v.Origins {
			if p := m.links.place(o.Pos); p != nil {
				variant.Places = append(variant.Places, *p)
			}
		}
		if variant.Differs {
			for _, id := range v.Clusters {
				m.countDifference(id, d.Release)
			}
		}
		out.Variants = append(out.Variants, variant)
	}
	m.Differences = append(m.Differences, out)
}

// differingVariants reports for each variant whether its clusters differ from their
// environment: most clusters have another value or, without a majority, the value is set
// below the environment and that of another variant is not.
func differingVariants(d diff.Difference, clusters int) []bool {
	out := make([]bool, len(d.Variants))
	if 2*len(d.Variants[0].Clusters) > clusters {
		for i := range out {
			out[i] = i > 0
		}
		return out
	}
	own := 0
	for i, v := range d.Variants {
		out[i] = isSetByClusters(v)
		own += btoi(out[i])
	}
	if own == len(out) { // each cluster has its own value
		return make([]bool, len(out))
	}
	return out
}

// isSetByClusters reports whether the lines of a value are in the directories of its clusters.
func isSetByClusters(v diff.Variant) bool {
	return len(v.Origins) > 0 && !slices.ContainsFunc(v.Origins, func(o diff.Origin) bool {
		return !slices.ContainsFunc(v.Clusters, func(id string) bool {
			return strings.HasPrefix(o.Pos.File, "environments/"+id+"/")
		})
	})
}

// countDifference counts a difference in a cell. A cluster without the release gets a cell.
func (m *maker) countDifference(clusterID, release string) {
	if cell := m.cell(clusterID, release); cell != nil {
		cell.Differs++
		return
	}
	c := m.cluster(clusterID)
	c.Releases = append(c.Releases, ReportCell{Release: release, Missing: true, Differs: 1})
	slices.SortFunc(c.Releases, func(a, b ReportCell) int { return strings.Compare(a.Release, b.Release) })
}

// crdKey identifies a CRD with equal versions in several clusters.
type crdKey struct{ name, release, versions string }

// addCRD adds an object if it is a CRD.
func (m *maker) addCRD(c *fleet.Cluster, o fleet.Object) {
	if o.GroupVersionKind().GroupKind() != fleet.CRDKind {
		return
	}
	out := ReportCRD{Name: o.GetName(), Release: o.Release.Name, Versions: []string{}, Place: m.links.place(cmp.Or(o.Release.SourcePos, o.Release.Pos))}
	out.Kind = fleet.DefinedKind(o.Unstructured).Kind
	for _, v := range listedVersions(o) {
		if v.served {
			out.Versions = append(out.Versions, v.name)
		}
		if v.storage {
			out.Storage = v.name
		}
	}
	key := crdKey{out.Name, out.Release, strings.Join(out.Versions, " ") + "/" + out.Storage}
	if m.crds[key] == nil {
		m.crds[key] = &out
	}
	m.crds[key].Clusters = append(m.crds[key].Clusters, c.ID)
}

// addInventory adds the images and CRDs.
func (m *maker) addInventory(ctx context.Context) error {
	m.CRDs, m.Images = []ReportCRD{}, []ReportImage{}
	for _, crd := range m.crds {
		m.CRDs = append(m.CRDs, *crd)
	}
	slices.SortFunc(m.CRDs, func(a, b ReportCRD) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Release, b.Release), slices.Compare(a.Versions, b.Versions), cmp.Compare(a.Storage, b.Storage))
	})
	if err := m.images.confirm(ctx); err != nil {
		return err
	}
	for _, found := range m.images.sorted() {
		out := ReportImage{Repository: found.Repository, Version: found.Tag, Clusters: found.Clusters, Releases: []string{}}
		if found.Digest != "" {
			out.Version = strings.TrimPrefix(out.Version+"@"+fleet.ShortImageDigest(found.Digest), "@")
		}
		for _, use := range found.Uses {
			if !slices.Contains(out.Releases, use.Release) {
				out.Releases = append(out.Releases, use.Release)
			}
		}
		if m.secrets.contains(found.Image) {
			out.Repository, out.Version = hidden, ""
		}
		if cell := m.cell(found.Uses[0].Clusters[0], found.Uses[0].Release); cell != nil {
			out.Place = cell.PinnedAt
		}
		m.Images = append(m.Images, out)
	}
	return nil
}
