package edit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/query"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// An imagePlanner finds the operations that change an image.
type imagePlanner struct {
	f     *compiler.Fleet
	layer *fleet.Layer // the layer of --in; nil without it

	layers func() ([]load.LayerFiles, error) // of the fleet
}

// A plannedUse is a use of an image in clusters that get another version.
type plannedUse struct {
	*imagePlanner
	query.ImageUse
	version       *ImageVersion
	before, after fleet.ImageReference
	clusters      []*fleet.Cluster // with the use; at least one
	release       *fleet.Release   // in the first cluster
}

// plan returns the operations for an image in its clusters.
func (p *imagePlanner) plan(ctx context.Context, v *ImageVersion, uses []query.ImageUse) ([]operation, error) {
	var out []operation
	var faults diag.List
	for _, use := range uses {
		for _, u := range p.divide(v, use) {
			operations, err := u.plan(ctx)
			faults.Add(err)
			for _, o := range operations {
				if !slices.Contains(out, o) {
					out = append(out, o)
				}
			}
		}
	}
	return out, faults.Err()
}

// divide divides a use by the lines that declare its release.
func (p *imagePlanner) divide(v *ImageVersion, use query.ImageUse) []*plannedUse {
	var out []*plannedUse
	for _, c := range p.f.Clusters {
		if !slices.Contains(v.Clusters, c.ID) || !slices.Contains(use.Clusters, c.ID) {
			continue
		}
		r := c.Release(use.Release)
		i := slices.IndexFunc(out, func(u *plannedUse) bool { return u.release.Pos == r.Pos })
		if i < 0 {
			i = len(out)
			out = append(out, &plannedUse{imagePlanner: p, ImageUse: use, version: v, before: fleet.ParseImage(v.Image), after: fleet.ParseImage(v.Next()), release: r})
		}
		out[i].clusters = append(out[i].clusters, c)
	}
	return out
}

// sources returns the lines that set parts of the image in the clusters, divided by paths.
// The path with the longest text is first.
func (u *plannedUse) sources(parts ...query.ImagePart) [][]query.ImageSource {
	var out [][]query.ImageSource
	for _, s := range u.SetBy {
		if !slices.Contains(parts, s.Part) || !slices.ContainsFunc(u.clusters, func(c *fleet.Cluster) bool { return slices.Contains(s.Clusters, c.ID) }) {
			continue
		}
		i := slices.IndexFunc(out, func(group []query.ImageSource) bool { return group[0].Path == s.Path && s.Path != "" })
		if i < 0 {
			i = len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	slices.SortStableFunc(out, func(a, b []query.ImageSource) int { return cmp.Compare(len(b[0].Value), len(a[0].Value)) })
	return out
}

// plan returns the operations of one use.
func (u *plannedUse) plan(ctx context.Context) ([]operation, error) {
	problem := ""
	parts := []query.ImagePart{query.ImageTag, query.WholeImage}
	if u.before.Tag == "" {
		parts = append(parts, query.ImageDigest)
	}
	for _, group := range u.sources(parts...) {
		if group[0].AppVersion() {
			continue
		}
		operations, err := u.setGroup(ctx, group)
		if _, isPart := err.(*partError); !isPart {
			return operations, err
		}
		problem = err.Error()
	}
	return u.addValue(ctx, problem)
}

// A partError says that a value cannot have the new text.
type partError struct{ msg string }

// Error implements error.
func (e *partError) Error() string { return e.msg }

// setGroup returns the operations that change the lines of one path, and those of the digest.
func (u *plannedUse) setGroup(ctx context.Context, group []query.ImageSource) ([]operation, error) {
	texts := make([]string, len(group))
	coversDigest := group[0].Part == query.ImageDigest
	for i, s := range group {
		var err error
		if texts[i], err = replacePart(u.before, u.after, s.Value, s.At); err != nil {
			return nil, &partError{fmt.Sprintf("%s is %q, and %s", s.Path, diag.Visible(s.Value, diag.MaxText), err)}
		}
		coversDigest = coversDigest || u.before.Digest != "" && strings.Contains(s.Value, u.before.Digest)
	}
	var out []operation
	switch {
	case u.before.Digest == "" && u.after.Digest != "" && group[0].At >= 0:
		beside, err := u.addDigest(ctx, group, texts)
		if err != nil {
			return nil, err
		}
		out = beside
	case u.before.Digest != "" && !coversDigest:
		digests := u.sources(query.ImageDigest)
		if len(digests) == 0 {
			return nil, u.refusal("no value sets the digest", "")
		}
		for _, s := range digests[0] {
			text, err := replacePart(u.before, u.after, s.Value, s.At)
			if err != nil {
				return nil, &partError{err.Error()}
			}
			set, err := u.set(s, text)
			if err != nil {
				return nil, err
			}
			out = append(out, set...)
		}
	}
	for i, s := range group {
		if texts[i] == s.Value {
			continue
		}
		set, err := u.set(s, texts[i])
		if err != nil {
			return nil, err
		}
		out = append(out, set...)
	}
	return out, nil
}

// set returns the operations that set a line to a text.
func (u *plannedUse) set(s query.ImageSource, text string) ([]operation, error) {
	if strings.HasPrefix(s.Path, u.release.Path("patches")+".") {
		return nil, &diag.Diag{Code: diag.CodeCannotEdit, At: []diag.Pos{s.Pos}, Path: s.Path, Msg: "a patch sets the image " + u.shortName(), Hint: "change the image in the patch"}
	}
	inPlace := isOwnFile(s.File) && s.Line > 0 && u.mayChange(s.File)
	o := operation{at: s.Pos, path: s.Path, before: s.Value, after: text}
	switch {
	case s.Keys == nil && u.layer == nil && u.release.Kustomize != "":
		return []operation{{kind: setKustomize, at: diag.Pos{File: u.release.Kustomize}, before: s.Value, after: text}}, nil
	case s.Keys == nil && u.layer == nil && u.release.Jsonnet != "":
		return []operation{{kind: replaceOnce, at: diag.Pos{File: u.release.Jsonnet}, before: s.Value, after: text}}, nil
	case inPlace && path.Ext(s.File) == ".cue":
		o.kind = replaceText
		return []operation{o}, nil
	case inPlace && isYAML(s.File):
		o.kind = replaceYAML
		return []operation{o}, nil
	case s.Pos.IsValid() && !isOwnFile(s.File) && u.layer == nil:
		return nil, &diag.Diag{
			Code: diag.CodeCannotEdit, At: []diag.Pos{s.Pos}, Path: s.Path,
			Msg:  "a package sets the image " + u.shortName(),
			Hint: "name a layer with --in, which overrides it",
		}
	case s.Keys != nil:
		return u.setDefault(s.Keys, text)
	case u.layer != nil:
		return nil, &diag.Diag{
			Code: diag.CodeCannotEdit,
			At:   []diag.Pos{s.Pos}, Path: s.Path, Msg: "this line sets the image " + u.shortName() + ", and a layer cannot override it",
			Hint: "write the image in defaults, or change it for all clusters with fleetc image update",
		}
	}
	return nil, u.refusal("no line of the fleet sets it", "")
}

// mayChange reports whether only clusters that --in names use a file of a layer.
func (u *plannedUse) mayChange(file string) bool {
	return u.layer == nil || fleet.IsWithin(path.Dir(file), u.layer.Dir)
}

// isOwnFile reports whether users write a file by hand: it is neither in a copy of a module
// nor in a generated package.
func isOwnFile(file string) bool {
	return file != "" && !strings.HasPrefix(file, "cue.mod/") && file != load.PackageFile(path.Base(path.Dir(file)))
}

// setDefault returns the operations that set a value in the layer of --in, or in the layer
// that declares the release; in layers below it if only some of its clusters have the release.
func (u *plannedUse) setDefault(keys []string, text string) ([]operation, error) {
	tree := any(u.release.Values.Value())
	for _, key := range keys {
		switch v := tree.(type) {
		case map[string]any:
			tree = v[key]
		case []any:
			return nil, u.refusal(fmt.Sprintf("releases.%s.values.%s is in a list, which a layer can only set as a whole", u.Release, fleet.FieldText(keys)), "write the list in the layer")
		}
	}
	if tree == nil && slices.ContainsFunc(keys, func(k string) bool { return strings.Trim(k, "0123456789") == "" }) {
		return nil, u.refusal(fmt.Sprintf("the default %s is in a list, which a layer can only set as a whole", fleet.FieldText(keys)), "write the list in a layer")
	}
	layer := u.layer
	if layer == nil {
		own := u.declaringLayer()
		layer = &own
	}
	all, err := u.layers()
	layers := topmostLayers(all, u.f.Fleet, *layer, func(c *fleet.Cluster) bool { return c.Release(u.Release) != nil })
	return diag.Each(layers, func(l fleet.Layer) operation {
		all := slices.Concat([]string{"releases", u.Release, "defaults", l.Name}, keys)
		return operation{kind: setInLayer, path: fleet.FieldText(all), keys: strings.Join(all, "\x00"), layer: l.Name, layerDir: l.Dir, after: text}
	}), err
}

// declaringLayer returns the layer with the release.
func (u *plannedUse) declaringLayer() fleet.Layer {
	dir := path.Dir(u.release.Pos.File)
	layers, _ := load.Layers(u.f.Dir)
	for _, l := range layers {
		if l.Dir == dir {
			return l.Layer
		}
	}
	return layers[0].Layer // the release comes from a package
}

// shortName returns the image for messages.
func (u *plannedUse) shortName() string { return diag.Visible(u.version.Image, diag.MaxText) }

// refusal returns the fault of an image that cannot be changed.
func (u *plannedUse) refusal(why, hint string) error {
	if hint == "" {
		hint = "update the chart or the file that sets it"
		if !u.IsText {
			hint = fmt.Sprintf(`update the chart or the file that sets it, or add to the release: patches: "image-tag": images: %q: %q`, u.version.Image, u.version.Next())
		}
	}
	return &diag.Diag{
		Code: diag.CodeCannotEdit,
		At:   []diag.Pos{u.release.Pos}, Path: u.release.Path(), Msg: fmt.Sprintf("the image %s of %s cannot be set: %s", u.shortName(), diag.Visible(u.Object, diag.MaxText), why), Hint: hint,
	}
}
