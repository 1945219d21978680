package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

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
