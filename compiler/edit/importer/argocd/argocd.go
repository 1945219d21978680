// Package argocd reads the Applications and ApplicationSets in a repository into a model
// for import. It expands ApplicationSets, and computes values and objects as Argo CD's
// repo server does, from the files of one repository. It does not use a cluster or the
// network: a generator that asks a cluster or a forge is reported, not expanded.
package argocd

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/edit/importer"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// Options say what to read.
type Options struct {
	Dir        string                   // of the repository
	Clusters   []importer.ClusterSource // sources are names or addresses; if empty, each destination of an Application is a cluster
	AppOfApps  []string                 // directories, relative to the repository, that make Applications
	Kubernetes string                   // version of the clusters
	ProveWith  importer.Programs

	// Source returns a source for the charts of a directory.
	Source func(root string) *chart.Source
}

// inCluster is the address of the cluster in which Argo CD runs.
const inCluster = "https://kubernetes.default.svc"

// The group and the kinds of Argo CD.
const (
	group          = "argoproj.io"
	application    = "Application"
	applicationSet = "ApplicationSet"
)

// A reader is the state of one call of Read.
type reader struct {
	*importer.Repository // kustomizations are written in the copy
	ctx                  context.Context
	opts                 Options
	docs                 []*importer.Document // in the order of files
	apps                 []*app
	model                *importer.Model
	clusters             map[string]*importer.Cluster // by destination
	makes                map[string]bool              // whether the chart of a directory makes Applications
}

// An app is an Application.
type app struct {
	content map[string]any
	doc     *importer.Document
	depth   int      // number of Applications that make it
	prefix  []string // path of the Application in the document: spec.template for an ApplicationSet
}

func (a *app) name() string  { return importer.TextAt(a.content, "metadata", "name") }
func (a *app) title() string { return application + " " + a.name() }

// Read reads the Applications of a repository. The error holds all faults of the files.
func Read(ctx context.Context, opts Options) (*importer.Model, error) {
	files, err := importer.OpenRepository(ctx, opts.Dir, "name the directory of the repository with the Applications")
	if err != nil {
		return nil, err
	}
	defer files.Close()
	r := &reader{
		Repository: files, ctx: ctx, opts: opts, model: &importer.Model{Tool: "argocd"}, clusters: map[string]*importer.Cluster{}, makes: map[string]bool{},
	}
	if err := r.walk(); err != nil {
		return nil, err
	}
	err = r.applications()
	for _, dir := range opts.AppOfApps {
		r.apps = append(r.apps, rootApplication(dir))
	}
	if len(r.apps) == 0 {
		return nil, err
	}
	var faults diag.List
	faults.Add(err)
	faults.Add(r.releases())
	return r.model, faults.Err()
}

// walk parses the documents of all YAML files that are not in a chart.
func (r *reader) walk() error {
	return filepath.WalkDir(r.Work, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(file), "Chart.yaml")); err == nil && e.IsDir() && (e.Name() == "templates" || e.Name() == "charts") {
			return filepath.SkipDir
		}
		if e.IsDir() || !isYAML(file) {
			return nil
		}
		data, err := r.read(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(r.Work, file)
		if err != nil {
			return err
		}
		for _, d := range importer.Documents(filepath.ToSlash(rel), data) {
			if (d.Kind == application || d.Kind == applicationSet) && strings.HasPrefix(scalarOf(d, "apiVersion"), group+"/") {
				r.docs = append(r.docs, d)
				r.model.Lines += strings.Count(string(data), "\n")
			}
		}
		return nil
	})
}

// read reads a regular file of the copy.
func (r *reader) read(file string) ([]byte, error) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // links that lead nowhere are not read
	}
	return os.ReadFile(file)
}

func isYAML(file string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(file)))
}

func scalarOf(d *importer.Document, key string) string {
	if n := importer.Child(d.Node, key); n != nil {
		return n.Value
	}
	return ""
}

// applications collects the Applications of all documents.
func (r *reader) applications() error {
	var faults diag.List
	for _, d := range r.docs {
		r.model.Documents++
		var content map[string]any
		if err := d.Node.Decode(&content); err != nil {
			faults.Add(&diag.Diag{Code: diag.CodeImportInvalid, At: []diag.Pos{d.At(r.Dir, nil)}, Msg: "not a valid " + d.Kind + ": " + importer.YAMLReason(err), Hint: "correct the document"})
			continue
		}
		content = plain(content)
		if d.Kind == applicationSet {
			faults.Add(r.expand(d, content))
			continue
		}
		r.apps = append(r.apps, &app{content: content, doc: d})
	}
	if len(r.docs)+len(r.opts.AppOfApps) == 0 {
		return &diag.Diag{Code: diag.CodeNothingToImport, Msg: r.opts.Dir + " has no Application or ApplicationSet", Hint: "name the directory with the documents of Argo CD, or the chart that creates them with --app-of-apps"}
	}
	return faults.Err()
}

// plain returns a map with numbers and keys as in decoded JSON.
func plain(content map[string]any) map[string]any {
	data, err := yaml.Marshal(content)
	out := map[string]any{}
	if err != nil || yaml.Unmarshal(data, &out) != nil {
		return content
	}
	return out
}

// releases adds the releases of all Applications to their clusters.
func (r *reader) releases() error {
	var faults, broken diag.List
	for i := 0; i < len(r.apps); i++ { // charts may add more
		a := r.apps[i]
		if r.made(a) {
			faults.Add(r.nested(a))
			continue
		}
		c := r.cluster(a)
		if c == nil {
			continue
		}
		r.account(a)
		if err := r.add(a, c); err != nil {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			broken.Add(err)
			r.drop(a, c, err)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(r.clusters)), func(c *importer.Cluster) bool { return len(c.Releases) > 0 }) {
		faults = append(faults, broken...)
	}
	for _, c := range r.clusters {
		byName := func(a, b *importer.Release) int { return cmp.Compare(a.Name, b.Name) }
		slices.SortFunc(c.Releases, byName)
		slices.SortStableFunc(c.Dropped, byName)
		r.model.Clusters = append(r.model.Clusters, c)
	}
	slices.SortFunc(r.model.Clusters, func(a, b *importer.Cluster) int { return cmp.Compare(a.ID, b.ID) })
	if len(r.model.Clusters) == 0 {
		faults.Add(&diag.Diag{Code: diag.CodeNothingToImport, Msg: "no Application has a destination of the import", Hint: "write --cluster ID=NAME for the destinations, or leave --cluster out"})
	}
	return faults.Err()
}

// add adds the releases of an Application to a cluster.
func (r *reader) add(a *app, c *importer.Cluster) error {
	out, err := r.release(a)
	if err != nil {
		return err
	}
	for _, one := range out {
		isSame := func(other *importer.Release) bool { return other.Name == one.Name }
		if i := slices.IndexFunc(c.Releases, isSame); i >= 0 {
			d := r.fault(diag.CodeImportCluster, a, []string{"metadata", "name"}, "two Applications of the cluster "+c.ID+" are called "+one.Name, "rename one of them")
			d.At = append(d.At, c.Releases[i].Pos)
			return d
		}
	}
	for _, one := range out {
		if one.Chart == nil && one.Objects == nil {
			c.Dropped = append(c.Dropped, one)
			continue
		}
		c.Releases = append(c.Releases, one)
	}
	return nil
}

// drop leaves out an Application with a fault, and lists its faults.
func (r *reader) drop(a *app, c *importer.Cluster, err error) {
	all := diag.All(err)
	at := r.at(a, nil)
	for _, d := range all {
		note := importer.Note{Pos: at, Doc: a.title(), Field: d.Path, Do: d.Msg + ": " + d.Hint}
		if len(d.At) > 0 {
			note.Pos = d.At[0]
		}
		r.model.Note(note)
	}
	c.Dropped = append(c.Dropped, &importer.Release{Name: importer.NameOf(a.name()), Namespace: importer.TextAt(a.content, "spec", "destination", "namespace"), Origin: a.title(), Pos: at, Unproven: all[0].Msg})
}

// cluster returns the cluster of an Application's destination; nil for a destination that
// is not imported.
func (r *reader) cluster(a *app) *importer.Cluster {
	name := cmp.Or(importer.TextAt(a.content, "spec", "destination", "name"), importer.TextAt(a.content, "spec", "destination", "server"), inCluster)
	if name == "in-cluster" {
		name = inCluster
	}
	if c := r.clusters[name]; c != nil {
		return c
	}
	id := ""
	for _, d := range r.opts.Clusters {
		if d.Source == name || d.Source == "in-cluster" && name == inCluster {
			id = d.ID
		}
	}
	if id == "" && len(r.opts.Clusters) > 0 {
		r.note(a, []string{"spec", "destination"}, "its destination "+name+" is not a cluster of the import: add --cluster ID="+name)
		return nil
	}
	c := &importer.Cluster{ID: cmp.Or(id, clusterID(name)), Kubernetes: r.opts.Kubernetes, Facts: map[string]string{}}
	r.clusters[name] = c
	return c
}

// clusterID returns an ID for the name or address of a destination.
func clusterID(name string) string {
	if name == inCluster {
		return "in-cluster"
	}
	return cmp.Or(importer.IDOf(strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")), "cluster")
}

// at returns the position of a field of an Application.
func (r *reader) at(a *app, field []string) diag.Pos {
	return a.doc.At(r.Dir, slices.Concat(a.prefix, field))
}

func (r *reader) fault(code diag.Code, a *app, field []string, msg, hint string) *diag.Diag {
	return &diag.Diag{Code: code, At: []diag.Pos{r.at(a, field)}, Path: strings.Join(field, "."), Msg: msg, Hint: hint}
}

// note adds a field that is not carried.
func (r *reader) note(a *app, field []string, do string) {
	r.model.Note(importer.Note{Pos: r.at(a, field), Doc: a.title(), Field: strings.Join(field, "."), Do: do})
}

// account adds the fields of an Application that are not carried.
func (r *reader) account(a *app) {
	for _, n := range importer.Account(a.content, a.title(), applicationTable, func(field []string) diag.Pos { return r.at(a, field) }) {
		r.note(a, strings.Split(n.Field, "."), n.Do)
	}
}
