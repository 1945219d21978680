package values

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A chartRoot is the dot of a chart's templates.
type chartRoot struct {
	id     int
	chart  *chart.Chart
	name   string // the alias, or the name
	full   string // its path in template names
	values *place
	subs   []*chartRoot
	extra  *object // keys that templates set in the dot itself
	files  *object
	tpls   []*chart.File // the files that contain templates
	self   *value
	stamp  int // the last union that contained it
}

// An entry is a template that Helm renders directly.
type entry struct {
	name     string
	template *template
	root     *chartRoot
}

const (
	maxRoots      = 512
	maxChartDepth = 32
)

func newInterpreter() *interpreter {
	r := &interpreter{
		objects:   map[objectKey]*object{},
		modified:  map[parse.Node]bool{},
		templates: map[string]*template{},
		texts:     map[string]*template{},
		calls:     map[string]*call{},
		kindTests: map[kindTest]bool{},
		call:      &call{},
		functions: functions(),
		shapes:    newShapes(),
		sinkAt:    map[parse.Node]*shape{},
		written:   map[*parse.TextNode]*value{},
	}
	r.values = r.newPlace(nil, "")
	return r
}

// addChart adds the chart, its dependencies and all their templates.
func (r *interpreter) addChart(c *chart.Chart) {
	if c == nil || c.Metadata == nil {
		return
	}
	r.shapes.addCRDs(c)
	r.addRoot(c, r.values, c.Metadata.Name, c.Metadata.Name, 0)
	r.addTemplates()
	for _, root := range r.roots {
		r.addTexts(root)
	}
}

// addRoot adds a chart whose values are at the place.
func (r *interpreter) addRoot(c *chart.Chart, at *place, name, full string, depth int) *chartRoot {
	root := &chartRoot{id: len(r.roots) + 1, chart: c, name: name, full: full, values: at}
	root.self = &value{roots: []*chartRoot{root}}
	at.root = root
	root.extra = r.made(root, "")
	root.files = r.made(root, "Files")
	root.files.files = root
	for _, f := range c.Files {
		if f != nil && bytes.Contains(f.Data, []byte("{{")) {
			root.tpls = append(root.tpls, f)
		}
	}
	r.roots = append(r.roots, root)
	if depth > maxChartDepth || len(r.roots) > maxRoots {
		r.giveUp("the chart has too many dependencies")
		return root
	}
	for _, d := range subcharts(c) {
		if d.declared != nil {
			r.addConditions(root, d)
		}
		below := r.child(at, d.name)
		if d.chart == nil {
			r.at = full + "/Chart.yaml"
			r.mark(below, Printed) // the missing dependency may read all its values
			continue
		}
		r.alias(r.child(below, "global"), r.child(at, "global").self)
		root.subs = append(root.subs, r.addRoot(d.chart, below, d.name, full+"/charts/"+d.name, depth+1))
	}
	r.at = ""
	return root
}

// A subchart is a direct dependency of a chart.
type subchart struct {
	name     string            // key of its values: the chart's name or alias
	declared *chart.Dependency // entry of Chart.yaml with this name; nil when there is none
	chart    *chart.Chart      // nil when the chart does not contain it
}

// subcharts pairs the dependencies of Chart.yaml with the charts in charts/, as Helm does:
// conditions, tags and imports of an entry are also for a chart of another version with its
// name.
func subcharts(c *chart.Chart) []subchart {
	var all []subchart
	fits := func(d *chart.Dependency, sub *chart.Chart) bool {
		return sub != nil && sub.Metadata != nil && d != nil && fleet.FitsDependency(d, sub)
	}
	for _, sub := range c.Dependencies() {
		if sub == nil || sub.Metadata == nil {
			continue
		}
		if !slices.ContainsFunc(c.Metadata.Dependencies, func(d *chart.Dependency) bool { return fits(d, sub) }) {
			all = append(all, subchart{name: sub.Name(), chart: sub})
		}
	}
	unlisted := len(all)
	for _, d := range c.Metadata.Dependencies {
		if d == nil {
			continue
		}
		found := subchart{name: fleet.DependencyKey(d), declared: d}
		if i := slices.IndexFunc(c.Dependencies(), func(sub *chart.Chart) bool { return fits(d, sub) }); i >= 0 {
			found.chart = c.Dependencies()[i]
		} else if i := slices.IndexFunc(all[:unlisted], func(o subchart) bool { return o.name == found.name }); i >= 0 {
			all[i].declared = d
			continue
		}
		all = append(all, found)
	}
	return all
}

// addConditions records the values that enable a dependency, and the values that
// the parent imports from it.
func (r *interpreter) addConditions(parent *chartRoot, d subchart) {
	r.at = parent.full + "/Chart.yaml"
	for condition := range strings.SplitSeq(strings.TrimSpace(d.declared.Condition), ",") {
		if condition != "" {
			r.mark(r.below(parent.values, strings.Split(condition, ".")...), Tested)
		}
	}
	for _, tag := range d.declared.Tags {
		r.mark(r.below(r.values, "tags", tag), Tested)
	}
	below := r.child(parent.values, d.name)
	for _, imported := range d.declared.ImportValues {
		switch imported := imported.(type) {
		case string:
			r.alias(parent.values, r.below(below, append([]string{"exports"}, strings.Split(imported, ".")...)...).self)
		case map[string]any:
			from, _ := imported["child"].(string)
			to, _ := imported["parent"].(string)
			target := parent.values
			if to != "." && to != "" {
				target = r.below(target, strings.Split(to, ".")...)
			}
			r.alias(target, r.below(below, strings.Split(from, ".")...).self)
		}
	}
}

// addTemplates parses the templates of all charts in Helm's order. Definitions
// of a chart replace those of its dependencies.
func (r *interpreter) addTemplates() {
	type file struct {
		name string
		data []byte
		root *chartRoot
	}
	var files []file
	for _, root := range r.roots {
		for _, f := range root.chart.Templates {
			library := root.chart.Metadata.Type == "library"
			if f == nil || library && !strings.HasPrefix(path.Base(f.Name), "_") {
				continue
			}
			files = append(files, file{path.Join(root.full, f.Name), f.Data, root})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(strings.Count(b.name, "/"), strings.Count(a.name, "/")), strings.Compare(b.name, a.name))
	})
	for _, f := range files {
		t := r.parse(f.name, string(f.data), true)
		if t == nil {
			r.giveUp("the template " + f.name + " does not parse")
			continue
		}
		r.templates[f.name] = t
		if !strings.HasPrefix(path.Base(f.name), "_") {
			r.entries = append(r.entries, entry{f.name, t, f.root})
		}
	}
}

// parse parses a text and adds the templates that it defines. With replaces,
// they replace existing templates of the same name. It returns nil when the text
// does not parse.
func (r *interpreter) parse(name, data string, replaces bool) *template {
	r.steps += len(data) / 64
	source := newSource(name, data)
	defined := map[string]*parse.Tree{}
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(data, "", "", defined); err != nil || tree.Root == nil {
		return nil
	}
	for n, t := range defined {
		if n == name || t.Root == nil {
			continue
		}
		if r.templates[n] == nil || replaces && !parse.IsEmptyTree(t.Root) {
			r.templates[n] = &template{tree: t, source: source}
		}
	}
	return &template{tree: tree, source: source}
}
