package edit

import (
	"context"
	"slices"
	"sync"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An imageUpdater changes the lines that set the images of a loaded fleet. It changes no files.
type imageUpdater struct {
	c      *compiler.Compiler
	f      *compiler.Fleet
	uses   map[string][]query.ImageUse // by image
	others map[string]bool             // all uses of images, by cluster, object and field
}

// An imageTarget is an image that gets its newest tag.
type imageTarget struct {
	version ImageVersion
	in      string // layer that gets the tag; the line that sets it changes if empty
}

// newImageUpdater returns an updater and the images of the request that have a newer tag,
// sorted by image. The error holds the faults of images whose registries cannot be read; the
// others are beside it. The updater is nil if the layer does not exist, or if the fleet cannot
// be rendered.
func newImageUpdater(ctx context.Context, c *compiler.Compiler, f *compiler.Fleet, client *chart.RegistryImages, req ImageRequest, done func()) (*imageUpdater, []ImageVersion, error) {
	u := &imageUpdater{c: c, f: f, uses: map[string][]query.ImageUse{}, others: map[string]bool{}}
	layer, err := layerOf(f.Dir, req.In)
	if err != nil {
		return nil, nil, err
	}
	versions, faults := u.outdated(ctx, client, req, layer, done)
	if err := u.findUses(ctx, versions); err != nil {
		return nil, nil, err
	}
	return u, versions, faults
}

// layerOf returns the layer with a name or path; nil for none.
func layerOf(root, name string) (*fleet.Layer, error) {
	if name == "" {
		return nil, nil
	}
	layer, err := load.FindLayer(root, name)
	return &layer, err
}

// releases returns the names of the releases that use an image, sorted.
func (u *imageUpdater) releases(v ImageVersion) []string {
	return diag.Distinct(diag.Each(u.usesOf(v), func(use query.ImageUse) string { return use.Release }))
}

// usesOf returns the uses of an image in its clusters.
func (u *imageUpdater) usesOf(v ImageVersion) []query.ImageUse {
	return slices.DeleteFunc(slices.Clone(u.uses[v.Image]), func(use query.ImageUse) bool {
		return !slices.ContainsFunc(use.Clusters, func(id string) bool { return slices.Contains(v.Clusters, id) })
	})
}

// isSetByChart reports whether only pinned charts set the tag of an image: by a default, their
// appVersion or a text of a template. A chart in the fleet's repository does not count.
func (u *imageUpdater) isSetByChart(ctx context.Context, v ImageVersion) (bool, error) {
	uses := u.usesOf(v)
	for _, use := range uses {
		i := slices.IndexFunc(u.f.Clusters, func(c *fleet.Cluster) bool { return slices.Contains(use.Clusters, c.ID) })
		if i < 0 || u.f.Clusters[i].Release(use.Release).Chart.Path != "" {
			return false, nil
		}
		found := false
		for _, s := range use.SetBy {
			if s.Part == query.ImageTag || s.Part == query.WholeImage {
				if found = true; s.Chart == "" {
					return false, nil
				}
			}
		}
		if !found {
			inTemplate, err := u.isInTemplate(ctx, u.f.Clusters[i], use)
			if !inTemplate || err != nil {
				return false, err
			}
		}
	}
	return len(uses) > 0, nil
}

// isInTemplate reports whether a template of a chart has the tag of an image as its text: no
// values but those of the repository change the image.
func (u *imageUpdater) isInTemplate(ctx context.Context, c *fleet.Cluster, use query.ImageUse) (bool, error) {
	t, err := query.NewImageTrial(ctx, u.f, c, use)
	if t == nil || err != nil {
		return false, err
	}
	all, err := t.Dependencies(ctx)
	return !slices.ContainsFunc(all, func(keys []string) bool {
		return !slices.ContainsFunc(use.SetBy, func(s query.ImageSource) bool {
			return s.Part == query.ImageRepository && slices.Equal(s.Keys, keys)
		})
	}), err
}

// edit returns the update of the images that change as planned. The fleet with its edits
// compiles, and nothing else changes, see [UpdateImages]. The error holds the faults of the
// other images.
func (u *imageUpdater) edit(ctx context.Context, targets []imageTarget) (*ImageUpdate, error) {
	var planned []plannedImage
	var faults diag.List
	planners := map[string]*imagePlanner{}
	for i := range targets {
		t := &targets[i]
		p := planners[t.in]
		if p == nil {
			layer, err := layerOf(u.f.Dir, t.in)
			if err != nil {
				return nil, err
			}
			p = &imagePlanner{f: u.f, layer: layer, layers: sync.OnceValues(func() ([]load.LayerFiles, error) { return load.Layers(u.f.Dir) })}
			planners[t.in] = p
		}
		operations, err := p.plan(ctx, &t.version, u.uses[t.version.Image])
		if faults.Add(err); err == nil {
			planned = append(planned, plannedImage{&t.version, operations})
		}
	}
	out, err := u.prove(ctx, planned)
	if faults.Add(err); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out, faults.Err()
}
