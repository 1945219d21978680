package edit

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An Update is a newer version of a chart or of an image.
type Update struct {
	Kind UpdateKind `json:"kind"`
	Name string     `json:"name"` // location of the chart, or repository of the image
	VersionChange
	Layer    string   `json:"layer,omitempty"` // that gets the version; empty if it changes where it is set
	Releases []string `json:"releases"`        // sorted
	Clusters []string `json:"clusters"`        // IDs, sorted

	Short string `json:"-"` // name for selectors, groups and people: that of the chart, or the repository of the image

	chart *ChartPin
	image *imageTarget
}

// VersionChange is the old and the new version of a chart or of an image.
type VersionChange struct {
	From       string `json:"from"` // empty for an image that only has a digest
	To         string `json:"to"`
	FromDigest string `json:"fromDigest,omitempty"` // of an image that is pinned by its digest
	Digest     string `json:"digest,omitempty"`     // the new one
}

// Text returns the versions for people, as two texts with a separator. Digests are left
// out where the tags alone tell the versions apart.
func (v VersionChange) Text(separator string) string {
	if v.From != "" && v.From != v.To {
		return brief(v.From) + separator + brief(v.To)
	}
	return withDigest(v.From, v.FromDigest) + separator + withDigest(v.To, v.Digest)
}

// withDigest returns a version with the beginning of its digest.
func withDigest(version, digest string) string {
	if digest == "" {
		return brief(version)
	}
	if version != "" {
		version = brief(version)
	}
	return version + "@" + fleet.ShortImageDigest(digest)
}

// UpdateKind says what an update is about.
type UpdateKind string

// The kinds of updates.
const (
	ChartUpdateKind UpdateKind = "chart"
	ImageUpdateKind UpdateKind = "image"
)

// A LeftOut is a newer version that is not proposed.
type LeftOut struct {
	Kind UpdateKind `json:"kind"`
	Name string     `json:"name"`
	VersionChange
	Reason string `json:"reason"`
	Short  string `json:"-"` // as in [Update]
}

// leave notes that an update is left out.
func (f *updateFinder) leave(u Update, reason string) {
	l := LeftOut{u.Kind, u.Name, u.VersionChange, reason, u.Short}
	if !slices.Contains(f.leftOut, l) {
		f.leftOut = append(f.leftOut, l)
	}
}

// find returns the updates of charts and images that the configuration does not leave out.
func (f *updateFinder) find(ctx context.Context) ([]Update, error) {
	var faults diag.List
	charts, err := f.findCharts(ctx)
	faults.Add(err)
	found, err := f.findImages(ctx)
	faults.Add(err)
	var out []Update
	for _, u := range append(charts, found...) {
		if s := f.ignoredBy(u); s != nil {
			f.leave(u, s.Reason)
			continue
		}
		out = append(out, u)
	}
	slices.SortFunc(out, compareUpdates)
	slices.SortFunc(f.leftOut, func(a, b LeftOut) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From), cmp.Compare(a.Reason, b.Reason))
	})
	return out, faults.Err()
}

func compareUpdates(a, b Update) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.From, b.From), slices.Compare(a.Clusters, b.Clusters))
}

// ignoredBy returns the rule that leaves out an update; nil for none.
func (f *updateFinder) ignoredBy(u Update) *fleet.UpdateSelector {
	for i := range f.config.Ignore {
		s := &f.config.Ignore[i]
		ended := s.Until != "" && f.date != "" && s.Until < f.date
		if !ended && u.isIn(s) {
			return s
		}
	}
	return nil
}

// ignores returns whether a rule leaves out the charts or images with a name.
func (f *updateFinder) ignores(kind UpdateKind) func(name string) bool {
	return func(name string) bool { return f.ignoredBy(Update{Kind: kind, Short: name}) != nil }
}

func (u *Update) isIn(s *fleet.UpdateSelector) bool {
	if u.Kind == ChartUpdateKind {
		return s.Has(fleet.UpdateCharts, u.Short)
	}
	return s.Has(fleet.UpdateImages, u.Short)
}

// findCharts returns the updates of charts.
func (f *updateFinder) findCharts(ctx context.Context) ([]Update, error) {
	versions, err := query.OutdatedChartsOf(ctx, f.before.Fleet.Fleet, f.charts.Source, f.ignores(ChartUpdateKind))
	packages, perr := load.Packages(f.before.Dir)
	if perr != nil {
		return nil, perr
	}
	var out []Update
	for _, v := range versions {
		if !v.Outdated {
			continue
		}
		u := Update{Kind: ChartUpdateKind, Name: v.Location, VersionChange: VersionChange{From: v.Pinned, To: v.Newest}, Clusters: slices.Sorted(slices.Values(v.Clusters)), Short: v.Chart.ChartName()}
		i := slices.IndexFunc(packages, func(p load.Package) bool { return p.Name == v.Package })
		switch {
		case i < 0:
			f.leave(u, "a layer pins the chart: run fleetc chart add to write a package for it")
			continue
		case !f.config.ByEnvironment && packages[i].Pins[0].Ref != v.Chart:
			f.leave(u, "a layer selects this version of the chart")
			continue
		}
		for _, layer := range f.environments(u.Clusters) {
			own := u
			own.Layer, own.Clusters, own.Releases = layer.dir, layer.clusters, f.releasesOf(v.Chart, layer.clusters)
			own.chart = &ChartPin{Package: packages[i], Version: v.Newest, In: layer.dir}
			out = append(out, own)
		}
	}
	return out, err
}

// releasesOf returns the names of the releases of clusters with a chart, sorted.
func (f *updateFinder) releasesOf(ref fleet.ChartRef, clusters []string) []string {
	var out []string
	for _, c := range f.before.Clusters {
		for _, r := range c.Releases {
			if r.Chart == ref && slices.Contains(clusters, c.ID) {
				out = append(out, r.Name)
			}
		}
	}
	return diag.Distinct(out)
}

// findImages returns the updates of images. An image whose tag a pinned chart sets follows
// the chart, unless a policy names it.
func (f *updateFinder) findImages(ctx context.Context) ([]Update, error) {
	images, versions, err := newImageUpdater(ctx, f.c, f.before.Fleet, f.client, ImageRequest{optional: f.ignores(ImageUpdateKind)}, f.each)
	if images == nil {
		return nil, err
	}
	f.images = images
	var out []Update
	for _, v := range versions {
		u := Update{
			Kind: ImageUpdateKind, Name: v.Repository, VersionChange: VersionChange{v.Tag, v.Newest, v.Digest, v.NewestDigest}, Short: v.Repository,
			Clusters: slices.Sorted(slices.Values(v.Clusters)),
		}
		if !v.Pos.IsValid() { // no policy
			byChart, err := images.isSetByChart(ctx, v)
			if err != nil {
				return nil, err
			}
			if byChart {
				f.leave(u, "the chart sets the tag: it follows the chart unless images has a policy for it")
				continue
			}
		}
		for _, layer := range f.environments(u.Clusters) {
			own, version := u, v
			version.Clusters = slices.DeleteFunc(slices.Clone(v.Clusters), func(id string) bool { return !slices.Contains(layer.clusters, id) })
			own.Layer, own.Clusters, own.Releases = layer.dir, layer.clusters, images.releases(version)
			own.image = &imageTarget{version, layer.dir}
			out = append(out, own)
		}
	}
	return out, err
}
