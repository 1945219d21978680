package query

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/origin"
)

// confirm removes the unsure uses that no value confirms: a value that the text has in it,
// and whose name ends in image or repository.
func (l *imageCollector) confirm(ctx context.Context) error {
	if err := l.findSources(ctx, true); err != nil {
		return err
	}
	for i := range l.images {
		image := &l.images[i]
		image.Uses = slices.DeleteFunc(image.Uses, func(use ImageUse) bool {
			return use.unsure && !slices.ContainsFunc(use.SetBy, func(s ImageSource) bool {
				name := strings.ToLower(s.Path[strings.LastIndexByte(s.Path, '.')+1:])
				isValue := strings.HasPrefix(s.Path, (&fleet.Release{Name: use.Release}).Path("values")+".")
				return isValue && (s.Part == WholeImage || s.Part == ImageRepository) && (strings.HasSuffix(name, "image") || strings.HasSuffix(name, "repository"))
			})
		})
	}
	l.images = slices.DeleteFunc(l.images, func(image Image) bool { return len(image.Uses) == 0 })
	return nil
}

// findSources finds the lines that set the images, or only those of unsure uses. It runs the
// perturbation test of a field in its first cluster. In the others, it looks up the positions
// of the same values.
func (l *imageCollector) findSources(ctx context.Context, unsure bool) error {
	byCluster := map[int][]*ImageUse{}
	for i := range l.images {
		for j := range l.images[i].Uses {
			use := &l.images[i].Uses[j]
			if first := use.clusters[0]; use.unsure || !unsure {
				byCluster[first] = append(byCluster[first], use)
			}
		}
	}
	for i, c := range l.f.Clusters {
		if len(byCluster[i]) == 0 {
			continue
		}
		all, objs, err := renderUnchecked(ctx, l.f, c)
		if err != nil {
			return err
		}
		for _, use := range byCluster[i] {
			j := slices.IndexFunc(objs, func(o fleet.Object) bool { return o.Release.Name == use.Release && o.ID() == use.Object })
			if j < 0 {
				continue
			}
			if err := l.findSource(ctx, all, objs[j], use); err != nil {
				return err
			}
		}
	}
	return nil
}

// findSource finds the lines that set the image of one use.
func (l *imageCollector) findSource(ctx context.Context, all *compiler.ClusterRendering, o fleet.Object, use *ImageUse) error {
	p, err := l.f.Origin(ctx, all, o, use.Path)
	if err != nil {
		return err
	}
	ids := l.ids(use.clusters)
	use.SetBy = []ImageSource{}
	raw := use.image
	if n := len(p.Patches); n > 0 {
		last := p.Patches[n-1]
		source := ImageSource{Part: WholeImage, Path: p.Release.Path("patches", last.Name), Value: use.image, Clusters: ids}.at(last.Pos)
		var renamed bool
		if raw, renamed = beforeRename(p, use); !renamed {
			use.SetBy = []ImageSource{source}
			return nil
		}
		source.Part, source.Value, source.At = ImageRepository, newImage(use.image).Repository, -1
		use.SetBy = []ImageSource{source}
	}
	if p.Subject == nil {
		use.SetBy = append(use.SetBy, l.written(p, o, use, raw, ids)...)
		return nil
	}
	hasVersion := false
	for _, path := range partsIn(p.Subject.Values, raw) {
		if p.Subject.Try(ctx, path...) != origin.Holds {
			continue
		}
		lines := l.lines(use, raw, p.Subject.Values, path)
		hasVersion = hasVersion || len(lines) > 0 && lines[0].Part != ImageRepository
		use.SetBy = append(use.SetBy, lines...)
	}
	switch version := appVersion(p, use); {
	case hasVersion:
	case version != "":
		use.SetBy = append(use.SetBy, ImageSource{Part: ImageTag, Value: version, Chart: p.Release.Chart.Location(), Clusters: ids, At: strings.LastIndex(use.image, version)})
	case p.Chart == nil:
		use.SetBy = append(use.SetBy, ImageSource{Part: WholeImage, Value: use.image, Clusters: ids}.at(o.Pos))
	}
	return ctx.Err()
}

// appVersion returns the appVersion that sets the tag of an image: that of the chart or of a
// dependency. It is empty for other tags, also if they have the same text.
func appVersion(p *origin.Origin, use *ImageUse) string {
	if p.Probe == nil {
		return ""
	}
	return p.Probe.AppVersion(p.RawField, newImage(use.image).Tag)
}

// beforeRename returns an image before the patches of its release; false if they change
// more than its repository.
func beforeRename(p *origin.Origin, use *ImageUse) (string, bool) {
	v, _ := fleet.Lookup(p.Raw.Object, p.RawField)
	raw, _ := v.(string)
	before, after := newImage(raw), newImage(use.image)
	onlyNames := !slices.ContainsFunc(p.Patches, func(patch *fleet.Patch) bool { return len(patch.Images) == 0 })
	return raw, onlyNames && before.Tag == after.Tag && before.Digest == after.Digest
}

// written returns the lines of an image in CUE, each with its clusters, or that in a manifest. raw
// is the image there.
func (l *imageCollector) written(p *origin.Origin, o fleet.Object, use *ImageUse, raw string, ids []string) (out []ImageSource) {
	source := ImageSource{Part: WholeImage, Value: raw, At: strings.Index(use.image, raw)}
	for _, i := range use.clusters {
		r := l.f.Clusters[i].Release(use.Release)
		if t, at := origin.WrittenIn(r, p.Raw); t != nil {
			source.Path = fleet.FieldText(slices.Concat([]string{"releases", r.Name, "objects"}, at, p.RawField))
			out = addSource(out, source.at(origin.WrittenPos(r, &fleet.FieldError{Object: p.Raw, Field: p.RawField})), l.f.Clusters[i].ID)
		}
	}
	if len(out) > 0 {
		return out
	}
	source.Clusters = ids
	if p.Release.Manifests != "" {
		return []ImageSource{source.at(origin.ManifestPos(l.f.Dir, o.Pos, p.RawField))}
	}
	return []ImageSource{source.at(o.Pos)}
}

// addSource adds a source of a cluster, or the cluster to an equal source.
func addSource(all []ImageSource, source ImageSource, cluster string) []ImageSource {
	i := slices.IndexFunc(all, func(s ImageSource) bool {
		return s.Path == source.Path && s.Value == source.Value && s.Pos == source.Pos && s.Chart == source.Chart
	})
	if i < 0 {
		i = len(all)
		all = append(all, source)
	}
	all[i].Clusters = append(all[i].Clusters, cluster)
	return all
}

// lines returns the lines that set a value of a use, each with its clusters. raw is the image
// before the patches.
func (l *imageCollector) lines(use *ImageUse, raw string, values map[string]any, path []string) []ImageSource {
	var out []ImageSource
	isDefault := false
	for n, i := range use.clusters {
		c := l.f.Clusters[i]
		r := c.Release(use.Release)
		source := ImageSource{Path: valuesPath(r, values, path), Keys: path}
		t := r.Values.At(path...)
		if n == 0 {
			isDefault = t == nil
		}
		switch {
		case t != nil:
			source.Value, source.Layer = scalarText(t.Scalar), t.Layer
			source = source.at(t.Pos)
		case isDefault:
			v, _ := fleet.Lookup(values, path)
			source.Value, source.Chart = scalarText(v), r.Chart.Location()
		}
		if indexIn(raw, source.Value) < 0 {
			continue // the cluster has the image from another value
		}
		source.Part, source.At = partOf(raw, source.Value), indexIn(use.image, source.Value)
		if source.Part == ImageRepository && source.At < 0 {
			continue // a patch sets the repository
		}
		out = addSource(out, source, c.ID)
	}
	return out
}

// scalarText returns a string or number as text; empty for other values.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// partsIn returns the paths of the values that are a part of an image, in the order of
// their parts.
func partsIn(values map[string]any, image string) [][]string {
	type part struct {
		at   int
		path []string
	}
	var parts []part
	tree, err := fleet.TreeOf(values)
	if err != nil {
		return nil
	}
	tree.EachScalar(func(path []string, scalar *fleet.Tree) {
		if at := indexIn(image, scalarText(scalar.Scalar)); at >= 0 {
			parts = append(parts, part{at, path})
		}
	})
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	return diag.Each(parts, func(p part) []string { return p.path })
}

// partOf returns the part of an image that a text is.
func partOf(image, text string) ImagePart {
	i := newImage(image)
	switch at := indexIn(image, text); {
	case at+len(text) <= len(i.Repository):
		return ImageRepository
	case at < len(i.Repository):
		return WholeImage
	case i.Digest != "" && at > strings.IndexByte(image, '@'):
		return ImageDigest
	}
	return ImageTag
}

// indexIn returns the index of a text in an image if it is not inside of a word; -1 otherwise.
func indexIn(image, text string) int {
	inWord := func(r byte) bool { return unicode.IsLetter(rune(r)) || unicode.IsDigit(rune(r)) }
	for from := 0; text != ""; {
		i := strings.Index(image[from:], text)
		if i < 0 {
			break
		}
		at := from + i
		end := at + len(text)
		begins := at == 0 || !inWord(image[at-1]) || image[at-1] == 'v' && (at == 1 || !inWord(image[at-2]))
		if begins && (end == len(image) || !inWord(image[end])) {
			return at
		}
		from = at + 1
	}
	return -1
}
