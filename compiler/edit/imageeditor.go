package edit

import (
	"context"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An ImageEditor changes the lines that set the images of a loaded fleet. It changes no files.
type ImageEditor struct {
	updater
}

// An ImageTarget is an image that gets its newest tag.
type ImageTarget struct {
	Version ImageVersion
	In      string // layer that gets the tag; the line that sets it changes if empty
}

// newImageEditor returns an editor and the images that have a newer tag, sorted by image. The
// error holds the faults of images whose registries cannot be read; the others are beside
// it. The editor is nil if the fleet cannot be rendered.
func newImageEditor(ctx context.Context, c *compiler.Compiler, f *compiler.Fleet, client *chart.RegistryImages, optional func(repository string) bool, done func()) (*ImageEditor, []ImageVersion, error) {
	e := &ImageEditor{updater{c: c, imagePlanner: imagePlanner{f: f}, uses: map[string][]query.ImageUse{}, others: map[string]bool{}}}
	var faults diag.List
	versions, err := e.outdated(ctx, client, ImageRequest{optional: optional}, done)
	if faults.Add(err); len(versions) == 0 {
		return e, nil, faults.Err()
	}
	if err := e.findUses(ctx, versions); err != nil {
		return nil, nil, err
	}
	return e, versions, faults.Err()
}

// Releases returns the names of the releases that use an image, sorted.
func (e *ImageEditor) Releases(v ImageVersion) []string {
	var out []string
	for _, use := range e.usesOf(v) {
		out = append(out, use.Release)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// usesOf returns the uses of an image in its clusters.
func (e *ImageEditor) usesOf(v ImageVersion) []query.ImageUse {
	return slices.DeleteFunc(slices.Clone(e.uses[v.Image]), func(u query.ImageUse) bool {
		return !slices.ContainsFunc(u.Clusters, func(id string) bool { return slices.Contains(v.Clusters, id) })
	})
}

// HasPolicy reports whether the fleet has a policy for the image.
func (v *ImageVersion) HasPolicy() bool { return v.Pos.IsValid() }

// SetByChart reports whether only pinned charts set the tag of an image: by a default, their
// appVersion or a text of a template. A chart in the fleet's repository does not count.
func (e *ImageEditor) SetByChart(ctx context.Context, v ImageVersion) (bool, error) {
	uses := e.usesOf(v)
	for _, u := range uses {
		i := slices.IndexFunc(e.f.Clusters, func(c *fleet.Cluster) bool { return slices.Contains(u.Clusters, c.ID) })
		if i < 0 || e.f.Clusters[i].Release(u.Release).Chart.Path != "" {
			return false, nil
		}
		found := false
		for _, s := range u.SetBy {
			if s.Part == query.ImageTag || s.Part == query.WholeImage {
				if found = true; s.Chart == "" {
					return false, nil
				}
			}
		}
		if !found {
			inTemplate, err := e.isInTemplate(ctx, e.f.Clusters[i], u)
			if !inTemplate || err != nil {
				return false, err
			}
		}
	}
	return len(uses) > 0, nil
}

// isInTemplate reports whether a template of a chart has the tag of an image as its text: no
// values but those of the repository change the image.
func (e *ImageEditor) isInTemplate(ctx context.Context, c *fleet.Cluster, u query.ImageUse) (bool, error) {
	t, err := query.NewImageTrial(ctx, e.f, c, u)
	if t == nil || err != nil {
		return false, err
	}
	all, err := t.Dependencies(ctx)
	return !slices.ContainsFunc(all, func(keys []string) bool {
		return !slices.ContainsFunc(u.SetBy, func(s query.ImageSource) bool {
			return s.Part == query.ImageRepository && slices.Equal(s.Keys, keys)
		})
	}), err
}

// Edit returns the edits for images, and those of the images that change as planned. The
// fleet with the edits compiles, and nothing else changes, see [UpdateImages]. The error
// holds the faults of the other images.
func (e *ImageEditor) Edit(ctx context.Context, targets []ImageTarget) (*ImageUpdate, load.Edits, error) {
	u := e.updater
	var planned []plannedImage
	var faults diag.List
	for i := range targets {
		t := &targets[i]
		p := imagePlanner{f: e.f}
		if t.In != "" {
			layer, err := load.FindLayer(e.f.Dir, t.In)
			if err != nil {
				return nil, nil, err
			}
			p.layer = &layer
		}
		operations, err := p.plan(ctx, &t.Version, e.uses[t.Version.Image])
		if faults.Add(err); err == nil {
			planned = append(planned, plannedImage{&t.Version, operations})
		}
	}
	out, err := u.prove(ctx, planned)
	if faults.Add(err); ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return out, u.proven, faults.Err()
}
