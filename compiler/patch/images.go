package patch

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/kube"
)

// hub is the registry of names that have none, and library is where it keeps
// those without a path.
const (
	hub     = "docker.io/"
	library = hub + "library/"
)

// A renaming is what an images patch does to names.
type renaming struct {
	from []string // beginnings of whole names, the longest first
	to   map[string]string
}

func newRenaming(images map[string]string) renaming {
	r := renaming{to: map[string]string{}}
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

// rename returns the new name of an image; fits says whether there is one, or
// whether the image has it already.
func (r renaming) rename(image string) (name string, fits bool) {
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

// begins reports whether a name begins with another, by whole components: a
// tag or digest may follow, or more of the path.
func begins(name, with string) bool {
	rest, ok := strings.CutPrefix(name, with)
	return ok && (with == "" || strings.HasSuffix(with, "/") || rest == "" || strings.ContainsRune("/:@", rune(rest[0])))
}

// whole returns the beginning of an image's name with its registry, as a
// container runtime reads it. What has no slash is an image, unless it has a
// dot, as registries have it.
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
	case isRegistry(first):
		return beginning
	}
	return hub + beginning
}

// forms returns the whole names of an image, the one that a container runtime
// uses in front: nginx is docker.io/library/nginx, and docker.io/nginx.
func forms(image string) []string {
	first, rest, slash := strings.Cut(image, "/")
	switch {
	case !slash:
		rest = image
	case first == "index.docker.io" || first+"/" == hub:
	case isRegistry(first):
		return []string{image}
	default:
		rest = image
	}
	if path, ok := strings.CutPrefix(rest, "library/"); ok {
		return []string{hub + rest, hub + path}
	}
	if !strings.Contains(rest, "/") {
		return []string{library + rest, hub + rest}
	}
	return []string{hub + rest}
}

// isRegistry reports whether the first component of a name is a registry.
func isRegistry(first string) bool {
	return strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first
}

// rename renames the images of an object, where a kind of Kubernetes' own has
// them. It reports whether the patch has something to say about one of them.
func (a *application) rename(it *item, names renaming) (fits bool) {
	a.eachImage(it.Unstructured.Object, a.schema(it.Object), func(in map[string]any, field string) {
		if image, ok := in[field].(string); ok && image != "" {
			name, f := names.rename(image)
			in[field], fits = name, fits || f
		}
	})
	return fits
}

// Images returns the names of the images of each of the objects of a cluster,
// where a kind of Kubernetes' own has them, in no particular order.
func Images(c *fleet.Cluster, objs []fleet.Object) [][]string {
	a := newApplication(c)
	out := make([][]string, len(objs))
	for i, o := range objs {
		if o.Unstructured == nil {
			continue
		}
		a.eachImage(o.Object, a.schema(o), func(in map[string]any, field string) {
			if image, ok := in[field].(string); ok && image != "" {
				out[i] = append(out[i], image)
			}
		})
	}
	return out
}

// imageField returns the field of a definition that names an image, "" when
// there is none.
func imageField(s *kube.Schema) string {
	switch s.Name {
	case "io.k8s.api.core.v1.Container", "io.k8s.api.core.v1.EphemeralContainer":
		return "image"
	case "io.k8s.api.core.v1.ImageVolumeSource":
		return "reference"
	}
	return ""
}

// eachImage calls f for each field of a value that names an image.
func (a *application) eachImage(v any, s *kube.Schema, f func(in map[string]any, field string)) {
	if !a.hasImages(s) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if field := imageField(s); field != "" {
			f(v, field)
		}
		for k, e := range v {
			if sub, _ := child(s, k); sub != nil {
				a.eachImage(e, sub, f)
			}
		}
	case []any:
		for _, e := range v {
			a.eachImage(e, elem(s), f)
		}
	}
}

// hasImages reports whether a schema has a field that names an image, at any
// depth.
func (a *application) hasImages(s *kube.Schema) bool {
	if s == nil {
		return false
	}
	has, known := a.images[s]
	if known {
		return has
	}
	a.images[s] = false // where a schema has itself in it, the rest of it decides
	has = imageField(s) != "" || a.hasImages(s.Elem)
	for _, f := range s.Fields {
		has = has || a.hasImages(f)
	}
	a.images[s] = has
	return has
}

// noImage returns the fault of an images patch that renames nothing.
func (a *application) noImage(p *fleet.Patch, matched []*item) *diag.Diag {
	r := a.rule("patches", p.Name, p.Pos)
	d := &diag.Diag{At: r.at, Path: r.path + ".images", Hint: "leave the patch out, or set optional: true"}
	var there []string
	for _, it := range matched {
		a.eachImage(it.Unstructured.Object, a.schema(it.Object), func(in map[string]any, field string) {
			if image, ok := in[field].(string); ok && image != "" {
				name, _, _ := strings.Cut(forms(image)[0], "@")
				there = append(there, visible(name))
			}
		})
	}
	if len(there) == 0 {
		d.Msg = "matches nothing: no object has an image"
		return d
	}
	slices.Sort(there)
	there = slices.Compact(there)
	wanted := newRenaming(p.Images).from
	slices.Sort(wanted)
	d.Msg = "matches nothing: no image begins with " + some(each(wanted, visible))
	if d.Hint = near(wanted, beginnings(there)); d.Hint == "" {
		d.Hint = "choose among the beginnings of " + some(there)
	}
	return d
}

// beginnings returns the paths and registries that names begin with.
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
