package query

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/stage/objects"
)

// An Image is a container image that objects of the fleet name.
type Image struct {
	Image      string     `json:"image"`      // as the objects name it
	Repository string     `json:"repository"` // without tag and digest
	Tag        string     `json:"tag,omitempty"`
	Digest     string     `json:"digest,omitempty"` // such as sha256:...
	Clusters   []string   `json:"clusters"`         // IDs, in the order of the fleet
	Uses       []ImageUse `json:"uses"`             // sorted by release, object and field
}

// An ImageUse is a field of an object that names an image, in one or more clusters.
type ImageUse struct {
	Release  string        `json:"release"`
	Object   string        `json:"object"` // kind, namespace and name
	Field    string        `json:"field"`
	Clusters []string      `json:"clusters"`
	SetBy    []ImageSource `json:"setBy"` // parts of the image, in their order
	Path     []string      `json:"-"`     // of the field: keys and list indexes
	IsText   bool          `json:"-"`     // whether the image is in a text that no schema says is an image
}

// An ImageSource is a line that sets an image or a part of it.
type ImageSource struct {
	Part     ImagePart `json:"part"`
	Path     string    `json:"path,omitempty"` // in the configuration, as CUE writes it; empty for manifests and for an appVersion
	Value    string    `json:"value,omitempty"`
	diag.Pos           // not valid for a chart
	Layer    string    `json:"layer,omitempty"`
	Chart    string    `json:"chart,omitempty"` // whose default or appVersion it is
	Clusters []string  `json:"clusters"`
	Keys     []string  `json:"-"` // path in the values of the release; nil for other sources
	At       int       `json:"-"` // index of Value in the image; -1 if it is not in it as it is
}

// An ImagePart is a part of the name of an image.
type ImagePart string

// The parts of an image.
const (
	WholeImage      ImagePart = "image"
	ImageRepository ImagePart = "repository" // or a part of it, such as the registry
	ImageTag        ImagePart = "tag"
	ImageDigest     ImagePart = "digest"
)

// AppVersion reports whether the source is the appVersion of a chart.
func (s ImageSource) AppVersion() bool { return s.Chart != "" && s.Path == "" }

// at returns the source with a position.
func (s ImageSource) at(pos diag.Pos) ImageSource {
	s.Pos = pos
	return s
}

// Images returns the images of the selected clusters, sorted by name,
// with the lines that set them. patterns select images by their repository or its last
// part, as path.Match does; all images if there are none. It fails if a cluster does not
// render or a pattern matches nothing. done is called after each cluster.
func Images(ctx context.Context, f *compiler.Fleet, patterns []string, done func()) ([]Image, error) {
	l, err := listImages(ctx, f, patterns, done)
	if err == nil {
		err = l.findSources(ctx, false)
	}
	if err != nil {
		return nil, err
	}
	return l.sorted(), nil
}

// ImageNames is [Images] without the lines that set them, which takes less time.
func ImageNames(ctx context.Context, f *compiler.Fleet, patterns []string, done func()) ([]Image, error) {
	l, err := listImages(ctx, f, patterns, done)
	if err != nil {
		return nil, err
	}
	return l.sorted(), nil
}

// listImages renders the clusters and collects their images.
func listImages(ctx context.Context, f *compiler.Fleet, patterns []string, done func()) (*imageCollector, error) {
	l := &imageCollector{f: f, index: map[string]int{}}
	if err := checkImagePatterns(patterns); err != nil {
		return nil, err
	}
	rendered := par.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) ([]imageField, error) {
		_, objs, err := renderUnchecked(ctx, f, f.Clusters[i])
		if err != nil {
			return nil, err
		}
		return imageFieldsOf(f.Clusters[i], objs), nil
	})
	var faults diag.List
	i := 0
	for fields, err := range rendered {
		faults.Add(err)
		for _, field := range fields {
			l.add(i, field)
		}
		done()
		i++
	}
	if err := cmp.Or(ctx.Err(), faults.Err()); err != nil {
		return nil, err
	}
	if err := l.confirm(ctx); err != nil {
		return nil, err
	}
	var err error
	l.images, err = selectImages(l.images, func(i *listedImage) string { return i.Repository }, patterns)
	return l, err
}

// An imageField is a field of a rendered object that names an image.
type imageField struct {
	objects.ImageField
	release string
	object  string // ID
	isText  bool   // whether no schema says that the field is an image
	unsure  bool   // whether a value must confirm that the text is an image
}

// imageFieldsOf returns the image fields of the objects of a cluster.
func imageFieldsOf(c *fleet.Cluster, objs []fleet.Object) []imageField {
	var out []imageField
	for i, fields := range objects.Images(c, objs) {
		for _, field := range fields {
			out = append(out, imageField{ImageField: field, release: objs[i].Release.Name, object: objs[i].ID()})
		}
	}
	for i, texts := range objects.ImageTexts(c, objs) {
		for _, text := range texts {
			out = append(out, imageField{text.ImageField, objs[i].Release.Name, objs[i].ID(), true, !text.Sure})
		}
	}
	return out
}

// An imageCollector collects the images of a fleet. Its caller renders the clusters.
type imageCollector struct {
	f      *compiler.Fleet
	images []*listedImage
	index  map[string]int // of images, by image
}

// A listedImage is an image with its uses.
type listedImage struct {
	Image
	uses []*listedUse
}

// A listedUse is a use with the indexes of its clusters.
type listedUse struct {
	imageField
	clusters []int
	sources  []ImageSource
}

// add adds a field of a cluster.
func (l *imageCollector) add(cluster int, field imageField) {
	i, ok := l.index[field.Image]
	if !ok {
		i = len(l.images)
		l.index[field.Image] = i
		l.images = append(l.images, &listedImage{Image: newImage(field.Image)})
	}
	image := l.images[i]
	j := slices.IndexFunc(image.uses, func(u *listedUse) bool {
		return u.release == field.release && u.object == field.object && slices.Equal(u.Path, field.Path)
	})
	if j < 0 {
		j = len(image.uses)
		image.uses = append(image.uses, &listedUse{imageField: field})
	}
	image.uses[j].clusters = append(image.uses[j].clusters, cluster)
}

// SelectImages returns the images that a pattern matches, all if there are none. A pattern
// that matches nothing is a fault.
func SelectImages(all []Image, patterns []string) ([]Image, error) {
	if err := checkImagePatterns(patterns); err != nil {
		return all, err
	}
	return selectImages(all, func(i Image) string { return i.Repository }, patterns)
}

// checkImagePatterns returns a fault for a pattern with a syntax error.
func checkImagePatterns(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return &diag.Diag{Code: diag.CodeFlagValue, Msg: "image pattern " + diag.Visible(p, diag.MaxText) + " has a syntax error", Hint: `write it as in "ghcr.io/example/app" or "app*"`}
		}
	}
	return nil
}

// selectImages returns the images whose repository, or its last part, a pattern matches; all
// without patterns.
func selectImages[T any](all []T, repositoryOf func(T) string, patterns []string) ([]T, error) {
	if len(patterns) == 0 {
		return all, nil
	}
	var selected []T
	var repositories []string
	matched := make([]bool, len(patterns))
	for _, one := range all {
		repository, selects := repositoryOf(one), false
		repositories = append(repositories, repository)
		for i, p := range patterns {
			if matches(p, repository) || matches(p, path.Base(repository)) {
				matched[i], selects = true, true
			}
		}
		if selects {
			selected = append(selected, one)
		}
	}
	if i := slices.Index(matched, false); i >= 0 {
		return nil, &diag.Diag{
			Code: diag.CodeNoMatch,
			Msg:  "no image of these clusters matches " + diag.Visible(patterns[i], diag.MaxText), Hint: cmp.Or(diag.OneOf(patterns[i], diag.Distinct(repositories)), "list the images with fleetc image list"),
		}
	}
	return selected, nil
}

// newImage returns the image with its parts.
func newImage(text string) Image {
	r := fleet.ParseImage(text)
	return Image{Image: text, Repository: r.Repository, Tag: r.Tag, Digest: r.Digest}
}

// ids returns the IDs of clusters.
func (l *imageCollector) ids(indexes []int) []string {
	out := make([]string, len(indexes))
	for i, index := range indexes {
		out[i] = l.f.Clusters[index].ID
	}
	return out
}

// sorted returns the images sorted by name.
func (l *imageCollector) sorted() []Image {
	out := make([]Image, 0, len(l.images))
	for _, listed := range l.images {
		image := listed.Image
		var clusters []int
		for _, use := range listed.uses {
			clusters = append(clusters, use.clusters...)
			image.Uses = append(image.Uses, ImageUse{
				Release: use.release, Object: use.object, Field: fleet.FieldText(use.Path), Clusters: l.ids(use.clusters), SetBy: append([]ImageSource{}, use.sources...),
				Path: use.Path, IsText: use.isText,
			})
		}
		image.Clusters = l.ids(diag.Distinct(clusters))
		slices.SortFunc(image.Uses, func(a, b ImageUse) int {
			return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field))
		})
		out = append(out, image)
	}
	slices.SortFunc(out, func(a, b Image) int { return cmp.Compare(a.Image, b.Image) })
	return out
}
