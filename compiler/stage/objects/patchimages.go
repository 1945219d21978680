package objects

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// hub is the default registry, and library is the default path in it.
const (
	hub     = "docker.io/"
	library = hub + "library/"
)

// An imageRename is the effect of an images patch on names.
type imageRename struct {
	from []string // prefixes of full names, the longest first
	to   map[string]string
}

func newRenaming(images map[string]string) imageRename {
	r := imageRename{to: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(images)) {
		from := whole(key)
		if _, twice := r.to[from]; !twice {
			r.from = append(r.from, from)
		}
		r.to[from] = images[key]
	}
	slices.SortStableFunc(r.from, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return r
}

// rename returns the new name of an image; fits reports whether a prefix
// matches, or the image already has a new name.
func (r imageRename) rename(image string) (name string, fits bool) {
	names := forms(image)
	for _, from := range r.from {
		for _, n := range names {
			if begins(n, from) {
				return r.to[from] + n[len(from):], true
			}
		}
	}
	for _, to := range r.to {
		if begins(names[0], whole(to)) {
			return image, true
		}
	}
	return image, false
}

// begins reports whether a name has the prefix up to the end of a component;
// more of the path, a tag or a digest may follow.
func begins(name, with string) bool {
	rest, ok := strings.CutPrefix(name, with)
	return ok && (with == "" || strings.HasSuffix(with, "/") || rest == "" || strings.ContainsRune("/:@", rune(rest[0])))
}

// whole returns a prefix of a name with its registry, like a container runtime.
// A prefix without a slash is an image, unless it contains a dot like a
// registry.
func whole(beginning string) string {
	first, rest, slash := strings.Cut(beginning, "/")
	host, _, _ := strings.Cut(first, ":")
	switch {
	case beginning == "":
		return ""
	case !slash && (strings.Contains(host, ".") || host == "localhost"):
		return beginning
	case !slash:
		return library + beginning
	case first == "index.docker.io":
		return hub + rest
	case fleet.HasRegistry(beginning):
		return beginning
	}
	return hub + beginning
}

// forms returns the full names of an image, that of a container runtime first:
// docker.io/library/nginx and docker.io/nginx for nginx.
func forms(name string) []string {
	full := fleet.FullImageName(name)
	if path, ok := strings.CutPrefix(full, library); ok {
		return []string{full, hub + path}
	}
	return []string{full}
}

// rename renames the images of an object of a built-in kind. It reports whether
// the patch applies to one of them.
func (a *application) rename(it *item, names imageRename) (fits bool) {
	a.eachImage(it.Unstructured.Object, a.schema(it.Object), nil, func(image string, _ []string) string {
		name, f := names.rename(image)
		fits = fits || f
		return name
	})
	return fits
}

// An ImageField is a field of an object that names a container image.
type ImageField struct {
	Path  []string // keys and list indexes
	Image string
}

// Images returns the image fields of each object of a cluster, for built-in kinds, in any
// order.
func Images(c *fleet.Cluster, objs []fleet.Object) [][]ImageField {
	a := newApplication(c)
	out := make([][]ImageField, len(objs))
	for i, o := range objs {
		if o.Unstructured == nil {
			continue
		}
		a.eachImage(o.Object, a.schema(o), nil, func(image string, path []string) string {
			out[i] = append(out[i], ImageField{slices.Clone(path), image})
			return image
		})
	}
	return out
}

// imageField returns the field of a definition that names an image, or an empty
// string.
func imageField(s *kube.Schema) string {
	switch s.Name {
	case "io.k8s.api.core.v1.Container", "io.k8s.api.core.v1.EphemeralContainer":
		return "image"
	case "io.k8s.api.core.v1.ImageVolumeSource":
		return "reference"
	}
	return ""
}

// eachImage calls f for each field that names an image, with the path of the field, which
// is valid during the call, and sets the field to the result. at is the path of v.
func (a *application) eachImage(v any, s *kube.Schema, at []string, f func(image string, path []string) string) {
	if !a.hasImages(s) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if field := imageField(s); field != "" {
			if image, ok := v[field].(string); ok && image != "" {
				if name := f(image, append(at, field)); name != image {
					v[field] = name
				}
			}
		}
		for k, e := range v {
			if sub, _ := child(s, k); sub != nil {
				a.eachImage(e, sub, append(at, k), f)
			}
		}
	case []any:
		for i, e := range v {
			a.eachImage(e, elem(s), append(at, strconv.Itoa(i)), f)
		}
	}
}

// hasImages reports whether a schema contains a field that names an image.
func (a *application) hasImages(s *kube.Schema) bool {
	if s == nil {
		return false
	}
	found, known := a.images[s]
	if known {
		return found
	}
	a.images[s] = false // ends the recursion for recursive schemas
	found = imageField(s) != "" || a.hasImages(s.Elem)
	for _, f := range s.Fields {
		found = found || a.hasImages(f)
	}
	a.images[s] = found
	return found
}

// noImage returns the fault of an images patch without any effect.
func (a *application) noImage(p *fleet.Patch, matched []*item) *diag.Diag {
	r := a.rule("patches", p.Name, p.PosAt("images"))
	d := &diag.Diag{Code: diag.CodePatchUnmatched, At: r.at, Path: r.path + ".images", Hint: "remove the patch, or set optional: true"}
	var there []string
	for _, it := range matched {
		a.eachImage(it.Unstructured.Object, a.schema(it.Object), nil, func(image string, _ []string) string {
			name, _, _ := strings.Cut(forms(image)[0], "@")
			there = append(there, visible(name))
			return image
		})
	}
	if len(there) == 0 {
		d.Msg = "matches nothing: no object has an image"
		return d
	}
	there = diag.Distinct(there)
	wanted := newRenaming(p.Images).from
	slices.Sort(wanted)
	d.Msg = "matches nothing: no image begins with " + diag.JoinFirst(diag.Each(wanted, visible), maxNamed)
	if d.Hint = near(wanted, beginnings(there)); d.Hint == "" {
		d.Hint = "use a prefix of " + diag.JoinFirst(there, maxNamed)
	}
	return d
}

// beginnings returns the paths and registries that are prefixes of names.
func beginnings(names []string) []string {
	var out []string
	for _, n := range names {
		for i, r := range n {
			if strings.ContainsRune("/:", r) {
				out = append(out, n[:i])
				if r == '/' {
					out = append(out, n[:i+1])
				}
			}
		}
		out = append(out, n)
	}
	return out
}

// imageChecks says of each policy of an image, and of each pattern of updates for images,
// whether an object of the cluster has the image.
func imageChecks(c *fleet.Cluster, objs []fleet.Object) []fleet.RuleCheck {
	if len(c.Images) == 0 && c.Updates == nil {
		return nil
	}
	var names []string
	full := map[string]bool{}
	add := func(f ImageField) {
		repository := fleet.ParseImage(f.Image).Repository
		names = append(names, repository)
		full[fleet.FullImageName(repository)] = true
	}
	for _, fields := range Images(c, objs) {
		for _, f := range fields {
			add(f)
		}
	}
	for _, texts := range ImageTexts(c, objs) {
		for _, text := range texts {
			add(text.ImageField)
		}
	}
	names = diag.Distinct(names)
	var out []fleet.RuleCheck
	for _, p := range c.Images {
		check := fleet.RuleCheck{Path: p.PolicyPath(), Pos: p.Pos, Holds: full[fleet.FullImageName(p.Image)]}
		if !check.Holds {
			check.Msg = "no object of its clusters has the image " + diag.Visible(p.Image, diag.MaxText)
			if check.Fixes = diag.Respell(p.Image, names); check.Fixes != nil {
				check.Near = 1
			}
			if check.Hint = diag.OneOf(p.Image, names); check.Hint == "" {
				check.Hint = "correct the name, or remove the policy; fleetc image list shows the images"
			}
		}
		out = append(out, check)
	}
	if c.Updates != nil {
		for _, p := range c.Updates.Patterns(fleet.UpdateImages) {
			out = append(out, p.Check(names, fleet.MatchImage, "no object of the fleet has an image that matches "))
		}
	}
	return out
}
