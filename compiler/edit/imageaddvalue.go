package edit

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
	"github.com/fleetc/fleetc/compiler/query"
)

// A chartTrial tries which values make a chart print the image with its new version.
type chartTrial struct {
	*query.ImageTrial
	want string // text of the field
}

// trial prepares trials of a use; nil for an object that is not of a chart.
func (u *plannedUse) trial(ctx context.Context) (*chartTrial, error) {
	t, err := query.NewImageTrial(ctx, u.f, u.clusters[0], u.ImageUse)
	if t == nil || err != nil {
		return nil, err
	}
	text, ok := t.Field()
	if !ok {
		return nil, nil
	}
	return &chartTrial{t, strings.Replace(text, u.version.Image, u.version.Next(), 1)}, nil
}

// prints reports whether the chart prints the new image with changed values.
func (t *chartTrial) prints(changes ...origin.Change) bool {
	text, ok := t.Field(changes...)
	return ok && text == t.want
}

// digestNames are the names of values with a digest, in charts.
var digestNames = []string{"digest", "imageDigest", "sha", "sha256"}

// beside returns a digest beside the value at a path for which the chart prints the new
// image, nil if there is none.
func (t *chartTrial) beside(keys []string, tag, digest string) *origin.Change {
	for _, name := range digestNames {
		for _, text := range []string{digest, strings.TrimPrefix(digest, "sha256:")} {
			c := origin.Change{Path: append(slices.Clone(keys[:len(keys)-1]), name), Value: text}
			if t.prints(origin.Change{Path: keys, Value: tag}, c) {
				return &c
			}
		}
	}
	return nil
}

// addDigest pins the digest beside the tag: in the field of the chart for it, or else in
// the text of the tag, which it changes.
func (u *plannedUse) addDigest(ctx context.Context, group []query.ImageSource, texts []string) ([]operation, error) {
	keys := group[0].Keys
	if len(keys) > 0 && !inList(u.release, keys) {
		t, err := u.trial(ctx)
		if err != nil {
			return nil, err
		}
		if t != nil {
			if c := t.beside(keys, texts[0], u.after.Digest); c != nil {
				return u.setBesideAll(group, c)
			}
		}
	}
	if slices.ContainsFunc(group, func(s query.ImageSource) bool { return !endsTag(u.before, s.Value, s.At) }) {
		return nil, u.refusal("no value sets the digest", "")
	}
	for i := range texts {
		if !strings.HasSuffix(texts[i], "@"+u.after.Digest) {
			texts[i] += "@" + u.after.Digest
		}
	}
	return nil, nil
}

// inList reports whether a path of values goes through a list of the release.
func inList(r *fleet.Release, keys []string) bool {
	t := r.Values
	for _, key := range keys {
		if t == nil || t.List != nil {
			return t != nil
		}
		t = t.Fields[key]
	}
	return false
}

// setBesideAll sets a digest beside each line of a group.
func (u *plannedUse) setBesideAll(group []query.ImageSource, c *origin.Change) ([]operation, error) {
	var out []operation
	text, _ := c.Value.(string)
	name := c.Path[len(c.Path)-1]
	for _, s := range group {
		if s.Pos.IsValid() && path.Ext(s.File) == ".cue" && u.mayChange(s.File) {
			full := s.Path[:strings.LastIndexByte(s.Path, '.')+1] + name
			out = append(out, operation{kind: setBeside, at: s.Pos, path: full, keys: name, after: text})
			continue
		}
		set, err := u.setDefault(c.Path, text)
		if err != nil {
			return nil, err
		}
		out = append(out, set...)
	}
	return out, nil
}

// addValue finds a value that sets the tag, which no layer sets yet, and returns the
// operations that add it. problem says why existing values cannot have the new text.
func (u *plannedUse) addValue(ctx context.Context, problem string) ([]operation, error) {
	t, err := u.trial(ctx)
	if err != nil {
		return nil, err
	}
	why := cmp.Or(problem, "no value sets the tag")
	if t == nil {
		return nil, u.refusal(why, "")
	}
	forms := u.tagForms()
	for _, keys := range u.tagPaths(t) {
		for _, form := range forms {
			changes := []origin.Change{{Path: keys, Value: form}}
			ok := t.prints(changes...)
			if !ok && u.before.Digest == "" && u.after.Digest != "" {
				if c := t.beside(keys, form, u.after.Digest); c != nil {
					changes, ok = append(changes, *c), true
				} else {
					changes[0].Value = form + "@" + u.after.Digest
					ok = t.prints(changes...)
				}
			}
			if !ok {
				continue
			}
			var out []operation
			for _, c := range changes {
				text, _ := c.Value.(string)
				set, err := u.setDefault(c.Path, text)
				if err != nil {
					return nil, err
				}
				out = append(out, set...)
			}
			return out, nil
		}
	}
	return nil, u.refuseComputed(ctx, t, why)
}

// refuseComputed returns the fault of a tag that no value has as its text. It names the
// values from which the chart computes the tag.
func (u *plannedUse) refuseComputed(ctx context.Context, t *chartTrial, why string) error {
	const most = 5 // values in the message
	all, err := t.Dependencies(ctx)
	if err != nil {
		return err
	}
	repository := u.sources(query.ImageRepository)
	var values []string
	for _, keys := range all {
		if !slices.ContainsFunc(repository, func(group []query.ImageSource) bool { return slices.Equal(group[0].Keys, keys) }) {
			values = append(values, u.release.Path(append([]string{"values"}, keys...)...))
		}
	}
	if len(values) == 0 || len(values) > most {
		return u.refusal(why, "")
	}
	names := strings.Join(values, " and ")
	return u.refusal("the chart computes it from "+names, "set "+names+" so that the chart prints "+u.version.Next())
}

// tagForms returns the texts that a value for the tag may have: the tag, or its part that
// the appVersion of the chart is now.
func (u *plannedUse) tagForms() []string {
	forms := []string{u.after.Tag}
	for _, s := range u.SetBy {
		if s.AppVersion() {
			if part, err := replacePart(u.before, u.after, s.Value, s.At); err == nil && part != u.after.Tag {
				forms = append(forms, part)
			}
		}
	}
	return forms
}

// tagPaths returns the paths of values that may set the tag: beside those that set the
// repository, and other empty values called so.
func (u *plannedUse) tagPaths(t *chartTrial) [][]string {
	const most = 30
	names := []string{"tag", "imageTag", "version"}
	var out [][]string
	add := func(keys []string) {
		if len(out) < most && !slices.ContainsFunc(out, func(k []string) bool { return slices.Equal(k, keys) }) {
			out = append(out, keys)
		}
	}
	for _, group := range u.sources(query.ImageRepository) {
		if keys := group[0].Keys; len(keys) > 0 && !inList(u.release, keys) {
			for _, name := range names {
				add(append(slices.Clone(keys[:len(keys)-1]), name))
			}
		}
	}
	tree, err := fleet.TreeOf(t.Values())
	if err != nil {
		return out
	}
	tree.EachScalar(func(keys []string, scalar *fleet.Tree) {
		name := strings.ToLower(keys[len(keys)-1])
		if (scalar.Scalar == nil || scalar.Scalar == "") && (strings.HasSuffix(name, "tag") || strings.HasSuffix(name, "version")) {
			add(slices.Clone(keys))
		}
	})
	return out
}
