package edit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/query/diff"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An ImageRequest selects images and their new tags.
type ImageRequest struct {
	Patterns []string // of images, as in [query.Images]
	In       string   // layer whose clusters get the new tags; all clusters if empty
	Tag      string   // the new tag of one image; the newest by the policy if empty
	DryRun   bool     // write nothing

	optional func(repository string) bool // images whose versions may be unknown; nil for none
}

// An ImageUpdate is the changes of an update.
type ImageUpdate struct {
	Written  bool           `json:"written"` // whether the files were written
	Images   []ImageVersion `json:"images"`  // that change, sorted
	Edits    []LineEdit     `json:"edits"`
	Files    []string       `json:"files"` // sorted, relative to the fleet's root
	Findings []diff.Finding `json:"beforeYouMerge"`
	Rendered diff.Result    `json:"rendered"` // changes of the objects of the clusters

	before map[string][]byte // contents of Files before the update
	edits  load.Edits        // contents of Files after the update
}

// UpdateImages changes the lines that set the tags of images to newer ones. It compiles the
// fleet with the changes, and writes nothing unless each image changes in all clusters that
// get it, and nothing else changes but texts that have the old tag in them. The error holds
// the faults of images that cannot be updated; the others are updated nevertheless.
func UpdateImages(ctx context.Context, c *compiler.Compiler, client *chart.RegistryImages, req ImageRequest, done func()) (*ImageUpdate, error) {
	f, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	f.KeepSame()
	var faults diag.List
	u, versions, err := newImageUpdater(ctx, c, f, client, req, done)
	if u == nil {
		return nil, err
	}
	faults.Add(err)
	out, err := u.edit(ctx, diag.Each(versions, func(v ImageVersion) imageTarget { return imageTarget{v, req.In} }))
	if faults.Add(err); out == nil {
		return nil, err
	}
	if !req.DryRun && len(out.Files) > 0 {
		if err := writeFiles(f.Dir, out.before, out.edits); err != nil {
			return nil, err
		}
		out.Written = true
	}
	return out, faults.Err()
}

// A plannedImage is an image with the operations that change it.
type plannedImage struct {
	version    *ImageVersion
	operations []operation
}

// outdated returns the images of the request that have a newer tag. in is the layer of the
// request; nil for none.
func (u *imageUpdater) outdated(ctx context.Context, client *chart.RegistryImages, req ImageRequest, in *fleet.Layer, done func()) ([]ImageVersion, error) {
	all, err := query.ImageNames(ctx, u.f, nil, done)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		for _, use := range i.Uses {
			for _, id := range use.Clusters {
				u.others[id+"\x00"+use.Object+"\x00"+use.Field] = true
			}
		}
	}
	selected, err := query.SelectImages(all, req.Patterns)
	if err != nil {
		return nil, err
	}
	versions := versionsOf(u.f, selected)
	if in != nil {
		for i := range versions {
			versions[i].Clusters = slices.DeleteFunc(slices.Clone(versions[i].Clusters), func(id string) bool { return !fleet.IsWithin("environments/"+id, in.Dir) })
		}
		versions = slices.DeleteFunc(versions, func(v ImageVersion) bool { return len(v.Clusters) == 0 })
		if len(versions) == 0 {
			return nil, &diag.Diag{Code: diag.CodeNothingToUpdate, At: []diag.Pos{{File: in.Dir}}, Msg: "no cluster of this layer has this image", Hint: "name another layer with --in"}
		}
	}
	if req.Tag != "" {
		if err := checkTag(versions, req.Tag); err != nil {
			return nil, err
		}
	}
	versions, err = newestOf(ctx, client, versions, req.Tag, req.optional)
	return slices.DeleteFunc(versions, func(v ImageVersion) bool { return v.Status != ImageOutdated }), err
}

// checkTag checks a tag that the user chose.
func checkTag(versions []ImageVersion, tag string) error {
	if !fleet.IsImageTag(tag) {
		return &diag.Diag{Code: diag.CodeFlagValue, Msg: fmt.Sprintf("%q is not a valid tag", diag.Visible(tag, diag.MaxText)), Hint: "write it as in 1.27.3"}
	}
	var repositories []string
	for _, v := range versions {
		repositories = append(repositories, v.Repository)
		if v.Status == ImageHeld {
			return &diag.Diag{
				Code: diag.CodeNoVersion, At: []diag.Pos{v.Pos}, Path: fleet.ImagePath(v.Repository),
				Msg:  "the policy keeps the tag of the image: " + diag.Visible(v.policy.Never(), diag.MaxText),
				Hint: "remove the policy first",
			}
		}
	}
	if repositories = diag.Distinct(repositories); len(repositories) > 1 {
		return &diag.Diag{
			Code: diag.CodeSeveralMatches,
			Msg:  fmt.Sprintf("--tag is for one image, but %d are selected", len(repositories)),
			Hint: "name one of them: " + strings.Join(repositories[:min(len(repositories), 4)], ", "),
		}
	}
	return nil
}

// findUses finds the lines that set the images.
func (u *imageUpdater) findUses(ctx context.Context, versions []ImageVersion) error {
	if len(versions) == 0 {
		return nil
	}
	names := diag.Each(versions, func(v ImageVersion) string { return v.Repository })
	found, err := query.Images(ctx, u.f, diag.Distinct(names), func() {})
	for _, i := range found {
		u.uses[i.Image] = i.Uses
	}
	return err
}

// prove returns the update of the images that change as planned. If one does not, each is
// tried after the others, together with those that share a line with it.
func (u *imageUpdater) prove(ctx context.Context, planned []plannedImage) (*ImageUpdate, error) {
	out, err := u.try(ctx, planned)
	if err == nil || len(planned) == 1 || ctx.Err() != nil {
		if err != nil {
			out, _ = u.try(ctx, nil)
		}
		return out, err
	}
	var faults diag.List
	var accepted []plannedImage
	for _, together := range sharing(planned) {
		_, err := u.try(ctx, slices.Concat(accepted, together))
		if faults.Add(err); err == nil {
			accepted = append(accepted, together...)
		}
	}
	out, err = u.try(ctx, accepted)
	faults.Add(err)
	return out, faults.Err()
}

// sharing groups images that have an operation in common, such as a value that sets the tags
// of both.
func sharing(planned []plannedImage) [][]plannedImage {
	var groups [][]plannedImage
	for _, p := range planned {
		var group []plannedImage
		groups = slices.DeleteFunc(groups, func(other []plannedImage) bool {
			shares := slices.ContainsFunc(other, func(o plannedImage) bool {
				return slices.ContainsFunc(o.operations, func(one operation) bool { return slices.Contains(p.operations, one) })
			})
			if shares {
				group = append(group, other...)
			}
			return shares
		})
		groups = append(groups, append(group, p))
	}
	return groups
}

// try compiles the fleet with the operations of images.
func (u *imageUpdater) try(ctx context.Context, planned []plannedImage) (*ImageUpdate, error) {
	out := &ImageUpdate{Images: []ImageVersion{}, Edits: []LineEdit{}, Files: []string{}, Findings: []diff.Finding{}}
	var operations []operation
	for _, p := range planned {
		out.Images = append(out.Images, *p.version)
		operations = append(operations, p.operations...)
	}
	edits, lines, err := applyOperations(u.f.Dir, operations)
	if err != nil || len(planned) == 0 {
		return out, err
	}
	before, err := ReadFiles(u.f.Dir, edits)
	if err != nil {
		return out, err
	}
	if err := formatEdits(u.f.Dir, before, edits); err != nil {
		return out, err
	}
	compared, err := u.verify(ctx, edits, out.Images)
	if err != nil {
		return out, u.explainRefusal(err, planned, edits)
	}
	out.Rendered, out.Findings = compared.Rendered, compared.Findings
	out.Edits, out.Files, out.before, out.edits = lines, slices.Sorted(maps.Keys(edits)), before, edits
	return out, nil
}

// explainRefusal replaces the faults of the fleet with edits, which are not written: those of new
// defaults without effect, because values set the image and a layer cannot override them, and
// those at other new lines.
func (u *imageUpdater) explainRefusal(err error, planned []plannedImage, edits load.Edits) error {
	var out diag.List
	for _, d := range diag.All(err) {
		for _, p := range planned {
			i := slices.IndexFunc(p.operations, func(o operation) bool { return o.kind == setInLayer && o.path == d.Path })
			if d.Code != diag.CodeUnusedDefaults || i < 0 || len(d.At) < 2 {
				continue
			}
			keys := strings.Split(p.operations[i].keys, "\x00") // releases, name, defaults, layer, and those of the value
			d = &diag.Diag{
				Code: diag.CodeCannotEdit, At: d.At[1:], Clusters: d.Clusters,
				Path: fleet.FieldText(slices.Concat(keys[:2], []string{"values"}, keys[4:])),
				Msg:  "values set the image " + diag.Visible(p.version.Image, diag.MaxText) + " here, which a layer cannot override",
				Hint: "write it in defaults instead, or change it for all clusters with fleetc image update",
			}
		}
		out.Add(u.withoutNewLines(d, edits))
	}
	return out.Err()
}

// withoutNewLines returns a fault of the fleet with edits without its positions in new lines.
func (u *imageUpdater) withoutNewLines(d *diag.Diag, edits load.Edits) *diag.Diag {
	if d.Code == diag.CodeUpdateEffect {
		return d // its positions are those before the update
	}
	out := *d
	out.At = nil
	for i, at := range onDisk(u.f.Dir, edits, d.At, true) {
		switch {
		case at.Line > 0 || d.At[i].Line == 0:
			out.At = append(out.At, at)
		case i == 0:
			out.Code, out.Msg = diag.CodeUpdateEffect, "the tag is not written, because the fleet would then have a fault: "+d.Msg
			out.Hint, out.Fixes = "change the image by hand", nil
		}
	}
	return &out
}
