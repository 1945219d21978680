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
	"github.com/fleetc/fleetc/compiler/origin"
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

	image    string
	unsure   bool  // whether a value must confirm that the text is an image
	clusters []int // indexes of Clusters in the fleet
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
	rendered := par.Map(ctx, f.Parallel, len(f.Clusters), func(ctx context.Context, i int) ([]ImageUse, error) {
		_, objs, err := renderUnchecked(ctx, f, f.Clusters[i])
		if err != nil {
			return nil, err
		}
		return imageUsesOf(f.Clusters[i], objs), nil
	})
	var faults diag.List
	i := 0
	for uses, err := range rendered {
		faults.Add(err)
		for _, use := range uses {
			l.add(i, use)
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
	l.images, err = SelectImages(l.images, patterns)
	return l, err
}

// imageUsesOf returns the uses of images in the objects of a cluster.
func imageUsesOf(c *fleet.Cluster, objs []fleet.Object) []ImageUse {
	var out []ImageUse
	add := func(o fleet.Object, f objects.ImageField, isText, unsure bool) {
		out = append(out, ImageUse{
			Release: o.Release.Name, Object: o.ID(), Field: fleet.FieldText(f.Path), Path: f.Path, SetBy: []ImageSource{}, IsText: isText, image: f.Image, unsure: unsure,
		})
	}
	for i, fields := range objects.Images(c, objs) {
		for _, field := range fields {
			add(objs[i], field, false, false)
		}
	}
	for i, texts := range objects.ImageTexts(c, objs) {
		for _, text := range texts {
			add(objs[i], text.ImageField, true, !text.Sure)
		}
	}
	return out
}

// An imageCollector collects the images of a fleet. Its caller renders the clusters.
type imageCollector struct {
	f      *compiler.Fleet
	images []Image
	index  map[string]int // of images, by image
}

// add adds a use in a cluster.
func (l *imageCollector) add(cluster int, use ImageUse) {
	i, ok := l.index[use.image]
	if !ok {
		i = len(l.images)
		l.index[use.image] = i
		l.images = append(l.images, newImage(use.image))
	}
	image := &l.images[i]
	j := slices.IndexFunc(image.Uses, func(u ImageUse) bool {
		return u.Release == use.Release && u.Object == use.Object && slices.Equal(u.Path, use.Path)
	})
	if j < 0 {
		j = len(image.Uses)
		image.Uses = append(image.Uses, use)
	}
	image.Uses[j].clusters = append(image.Uses[j].clusters, cluster)
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

// SelectImages returns the images whose repository, or its last part, a pattern matches; all
// without patterns. A pattern that matches nothing is a fault.
func SelectImages(all []Image, patterns []string) ([]Image, error) {
	if err := checkImagePatterns(patterns); err != nil || len(patterns) == 0 {
		return all, err
	}
	var selected []Image
	var repositories []string
	matched := make([]bool, len(patterns))
	for _, image := range all {
		selects := false
		repositories = append(repositories, image.Repository)
		for i, p := range patterns {
			if pattern := (fleet.PathPattern{p}); pattern.Matches(image.Repository) || pattern.Matches(path.Base(image.Repository)) {
				matched[i], selects = true, true
			}
		}
		if selects {
			selected = append(selected, image)
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
	return diag.Each(indexes, func(index int) string { return l.f.Clusters[index].ID })
}

// sorted returns the images sorted by name.
func (l *imageCollector) sorted() []Image {
	for i := range l.images {
		image := &l.images[i]
		var clusters []int
		for j := range image.Uses {
			use := &image.Uses[j]
			use.Clusters = l.ids(use.clusters)
			clusters = append(clusters, use.clusters...)
		}
		image.Clusters = l.ids(diag.Distinct(clusters))
		slices.SortFunc(image.Uses, func(a, b ImageUse) int {
			return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field))
		})
	}
	slices.SortFunc(l.images, func(a, b Image) int { return cmp.Compare(a.Image, b.Image) })
	return append([]Image{}, l.images...)
}

// An ImageTrial renders the object of a use of an image with other values.
type ImageTrial struct {
	origin *origin.Origin
	field  []string
}

// NewImageTrial prepares trials of a use in a cluster. It returns nil if the object does
// not come from a chart.
func NewImageTrial(ctx context.Context, f *compiler.Fleet, c *fleet.Cluster, use ImageUse) (*ImageTrial, error) {
	all, objs, err := renderUnchecked(ctx, f, c)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(objs, func(o fleet.Object) bool { return o.Release.Name == use.Release && o.ID() == use.Object })
	if i < 0 {
		return nil, nil
	}
	p, err := f.Origin(ctx, all, objs[i], use.Path)
	if err != nil || p.Subject == nil || p.Chart == nil {
		return nil, err
	}
	return &ImageTrial{p, use.Path}, nil
}

// Values returns the values of the release with the defaults of its chart.
func (t *ImageTrial) Values() map[string]any { return t.origin.Subject.Values }

// Field returns the text of the field with changed values; false if it has none.
func (t *ImageTrial) Field(changes ...origin.Change) (string, bool) {
	o, err := t.origin.Subject.Render(changes...)
	if err != nil || o == nil {
		return "", false
	}
	v, _ := fleet.Lookup(o, t.field)
	text, ok := v.(string)
	return text, ok
}

// Dependencies returns the paths of the values that change the field, sorted.
func (t *ImageTrial) Dependencies(ctx context.Context) ([][]string, error) {
	all, _, err := t.origin.Subject.Dependencies(ctx)
	var out [][]string
	for _, d := range all {
		if d.How >= origin.Changes {
			out = append(out, d.Path)
		}
	}
	return out, err
}
