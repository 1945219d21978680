package lsp

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/load"
	"github.com/fleetc/fleetc/compiler/stage/values"
)

// chartTypes are the types of the values of charts.
type chartTypes map[fleet.ChartRef]*values.Type

// keepTypes keeps the types of the charts that the clusters of the last state use. While the
// text has faults, a fleet may be without them.
func (c *checker) keepTypes(f *compiler.Fleet) {
	next := chartTypes{}
	for _, cluster := range c.last.clusters {
		for _, r := range cluster.Releases {
			if t := cmp.Or(f.Charts[r.Chart].Types, c.types[r.Chart]); t != nil {
				next[r.Chart] = t
			}
		}
	}
	c.types = next
}

// chartTypes returns the types of the charts of a fleet.
func (s *server) chartTypes(root string) chartTypes {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.checkers[root]; c != nil {
		return c.types
	}
	return nil
}

// each calls f for the releases of a name in the clusters; for all without a name.
func (c *completer) each(name string, f func(*fleet.Cluster, *fleet.Release)) {
	for _, cluster := range c.clusters {
		for _, r := range cluster.Releases {
			if name == "" || r.Name == name {
				f(cluster, r)
			}
		}
	}
}

func (c *completer) releaseNames() (out []string) {
	c.each("", func(_ *fleet.Cluster, r *fleet.Release) { out = append(out, r.Name) })
	return diag.Distinct(out)
}

// ofClusters returns texts of all clusters.
func (c *completer) ofClusters(texts func(*fleet.Cluster) []string) (out []string) {
	for _, cluster := range c.clusters {
		out = append(out, texts(cluster)...)
	}
	return out
}

// layers returns the names of the layers whose defaults the file may set, or with above those
// whose defaults it may waive: its own, and those above it. For a package, these are all layers.
func (c *completer) layers(above bool) (out []string) {
	layers, err := load.Layers(c.root)
	if err != nil {
		return nil
	}
	var all []string
	own := c.layer()
	for _, l := range layers {
		all = append(all, l.Name)
		if l.Dir == own || above && fleet.IsWithin(own, l.Dir) {
			out = append(out, l.Name)
		}
	}
	if own == "" || out == nil && !above {
		return all
	}
	return out
}

// clusterPatterns returns the IDs of clusters, and a pattern for each directory of clusters.
func (c *completer) clusterPatterns() []proposal {
	ids, err := load.ClusterIDs(c.root)
	if err != nil {
		return nil
	}
	out := words("cluster", ids)
	dirs := map[string]int{}
	for _, id := range ids {
		for dir := path.Dir(id); dir != "."; dir = path.Dir(dir) {
			dirs[dir]++
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		out = append(out, proposal{text: dir + "/*", detail: fmt.Sprintf("%d clusters", dirs[dir])})
	}
	return out
}

// chartKeys returns the keys below a value of a release, by the types of its charts.
func (c *completer) chartKeys(release string, value []string) []proposal {
	var out []proposal
	seen := map[*values.Type]bool{}
	c.each(release, func(_ *fleet.Cluster, r *fleet.Release) {
		t := c.types[r.Chart]
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		for _, key := range value {
			switch next := t.Fields[key]; {
			case next != nil:
				t = next
			case t.Elem != nil:
				t = t.Elem
			default:
				return
			}
		}
		for _, key := range t.Keys {
			if f := t.Fields[key]; !f.Unread {
				out = append(out, proposal{key, strings.Join((f.Kinds &^ values.Null).Names(), " or "), typeDoc(f)})
			}
		}
	})
	return sorted(out)
}

// typeDoc returns the documentation of a value in Markdown. It has no markup of the chart.
func typeDoc(t *values.Type) string {
	var parts []string
	if t.Doc != "" {
		parts = append(parts, quoted(t.Doc))
	}
	if t.Default != nil {
		parts = append(parts, "Default: "+codeSpan(jsonText(t.Default)))
	}
	return strings.Join(parts, "\n\n")
}

// kinds returns the kinds of Kubernetes and those that the clusters serve. A kind of several
// groups has its group behind it.
func (c *completer) kinds() []proposal {
	groups := map[string][]string{}
	for _, gk := range kube.GroupKinds() {
		groups[gk.Kind] = append(groups[gk.Kind], gk.Group)
	}
	for _, cluster := range c.clusters {
		for _, api := range cluster.APIs {
			if gv, err := schema.ParseGroupVersion(api.APIVersion); err == nil && !slices.Contains(groups[api.Kind], gv.Group) {
				groups[api.Kind] = append(groups[api.Kind], gv.Group)
			}
		}
	}
	var out []proposal
	for kind, in := range groups {
		for _, group := range in {
			text := kind
			if len(in) > 1 && group != "" {
				text += "." + group
			}
			out = append(out, proposal{text: text, detail: group})
		}
	}
	return sorted(out)
}

// objectKeys returns the keys at a path of the objects that a selector selects by its kinds.
func (c *completer) objectKeys(selector, path []string) []proposal {
	var out []proposal
	for _, s := range c.schemas(selector) {
		for _, key := range path {
			if s = below(s, key); s == nil {
				break
			}
		}
		if s != nil {
			for key, f := range s.Fields {
				out = append(out, proposal{text: key, detail: string(f.Type)})
			}
		}
	}
	return sorted(out)
}

// below returns the schema of a field, of an item or of a map's value.
func below(s *kube.Schema, key string) *kube.Schema {
	if f := s.Fields[key]; f != nil {
		return f
	}
	return s.Elem
}

// fieldPaths returns the paths of fields of the kinds that a rule selects, up to the key
// that the user is typing.
func (c *completer) fieldPaths(rule []string, typed string) []proposal {
	keys := strings.Split(typed, ".")
	keys = keys[:len(keys)-1]
	selectors := [][]string{append(slices.Clone(rule), "target"), append(slices.Clone(rule), "match")}
	var out []proposal
	for _, selector := range selectors {
		for _, w := range c.objectKeys(selector, keys) {
			w.text = fleet.FieldText(append(slices.Clone(keys), w.text))
			out = append(out, w)
		}
	}
	return sorted(out)
}

// pointers returns the JSON pointers to fields of the kinds that a patch selects, up to the key
// that the user is typing. They have no elements of lists: / and ~ are escaped.
func (c *completer) pointers(patch []string, typed string) []proposal {
	above := "/" + strings.TrimPrefix(typed[:strings.LastIndexByte(typed, '/')+1], "/")
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	out := c.objectKeys(append(slices.Clone(patch), "target"), fleet.PointerKeys(strings.TrimSuffix(above, "/")))
	for i := range out {
		out[i].text = above + escape.Replace(out[i].text)
	}
	return out
}

// schemas returns the schemas of the kinds that a selector at a path of the file names: in
// the newest version of Kubernetes, and those of known custom resources. A selector without
// kinds selects workloads, as most rules do.
func (c *completer) schemas(selector []string) []*kube.Schema {
	names := c.texts(c.syntax.Decls, append(slices.Clone(selector), "kinds"))
	if len(names) == 0 {
		names = []string{"Deployment", "StatefulSet", "DaemonSet"}
	}
	versions := kube.Versions()
	newest := versions[len(versions)-1]
	var out []*kube.Schema
	for _, name := range names {
		kind, group, _ := strings.Cut(name, ".")
		for _, gk := range kube.GroupKinds() {
			if gk.Kind != kind || group != "" && gk.Group != group {
				continue
			}
			for _, version := range newest.ServedIn(gk) {
				if s := newest.Schema(gk.WithVersion(version)); s != nil {
					out = append(out, s)
				}
			}
		}
		if _, s, known := kube.Custom(kind); known && s != nil {
			out = append(out, s)
		}
	}
	return out
}

// texts returns the literal texts of the list at a path of the declarations.
func (c *completer) texts(decls []ast.Decl, path []string) (out []string) {
	for _, d := range decls {
		f, ok := d.(*ast.Field)
		if !ok || c.key(f.Label) != path[0] {
			continue
		}
		switch v := f.Value.(type) {
		case *ast.StructLit:
			if len(path) > 1 {
				out = append(out, c.texts(v.Elts, path[1:])...)
			}
		case *ast.ListLit:
			for _, e := range v.Elts {
				if lit, ok := e.(*ast.BasicLit); ok && len(path) == 1 {
					if text, err := literal.Unquote(lit.Value); err == nil {
						out = append(out, text)
					}
				}
			}
		}
	}
	return out
}
