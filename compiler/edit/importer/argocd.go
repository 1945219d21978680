package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/stage/chart"
)

// ArgoCDOptions say what to read.
type ArgoCDOptions struct {
	Dir        string          // of the repository
	Clusters   []ClusterSource // sources are names or addresses; if empty, each destination of an Application is a cluster
	Secrets    *ArgoCDSecrets  // of clusters; nil for those in the repository
	AppOfApps  []string        // directories, relative to the repository, that make Applications
	Kubernetes string          // version of the clusters
	ProveWith  Programs

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

// An argoReader is the state of one call of ReadArgoCD.
type argoReader struct {
	*Repository  // kustomizations are written in the copy
	opts         ArgoCDOptions
	docs         []*Document // in the order of files
	apps         []*app
	clusters     map[string]*Cluster // by destination
	makes        map[string]bool     // whether the chart of a directory makes Applications
	changed      map[string]string   // why the document of an Application is not the whole truth, by its title
	added        map[string]diag.Pos // by the cluster, namespace and name of the Application
	destinations []*destination      // in cluster Secrets
}

// An app is an Application.
type app struct {
	content map[string]any
	doc     *Document
	depth   int      // number of Applications that make it
	prefix  []string // path of the Application in the document: spec.template for an ApplicationSet

	makesOthers bool // whether setObjects removed Applications or hooks of its sources
}

func (a *app) name() string  { return textAt(a.content, "metadata", "name") }
func (a *app) title() string { return application + " " + a.name() }

// ReadArgoCD reads the Applications of a repository. The error holds all faults of the files.
func ReadArgoCD(ctx context.Context, opts ArgoCDOptions) (model *Model, err error) {
	files, err := openRepository(ctx, opts.Dir, "name the directory of the repository with the Applications", argoTool, opts.Source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	r := &argoReader{Repository: files, opts: opts, clusters: map[string]*Cluster{}, makes: map[string]bool{}, changed: map[string]string{}, added: map[string]diag.Pos{}}
	if err := errors.Join(r.readSecrets(), r.walk()); err != nil {
		return nil, err
	}
	if err := r.applications(); err != nil {
		return nil, err
	}
	for _, dir := range opts.AppOfApps {
		r.apps = append(r.apps, r.rootApplication(dir))
	}
	return r.model, r.releases()
}

// walk parses the documents of all YAML files that are not in a chart.
func (r *argoReader) walk() error {
	return walkBelow(r.Work, func(file string, e fs.DirEntry) error {
		if e.IsDir() && (e.Name() == "templates" || e.Name() == "charts") && r.exists(path.Dir(file), "Chart.yaml") {
			return filepath.SkipDir
		}
		if e.IsDir() || !isYAML(file) {
			return nil
		}
		data, err := r.read(file)
		if err != nil {
			return err
		}
		before := len(r.docs)
		docs, invalid := readDocuments(r.Dir, file, data)
		for _, d := range docs {
			if isArgo(scalar(childNode(d.Node, "apiVersion")), d.Kind) {
				r.docs = append(r.docs, d)
			}
			if r.opts.Secrets == nil {
				r.addDestinations(d.Node)
			}
		}
		if invalid != nil && bytes.Contains(data, []byte(group+"/")) && bytes.Contains(data, []byte("kind: "+application)) {
			d := &Document{dir: filepath.ToSlash(r.Dir), File: file, Node: &yamlv3.Node{}}
			r.leaveOut(d, application, d.File, &diag.Diag{Code: diag.CodeImportInvalid, Msg: "not valid YAML: " + yamlReason(invalid), Hint: "correct the file"})
		}
		if len(r.docs) > before {
			r.model.Lines += strings.Count(string(data), "\n")
		}
		return nil
	})
}

// isArgo reports whether an object is an Application or ApplicationSet.
func isArgo(apiVersion, kind string) bool {
	return strings.HasPrefix(apiVersion, group+"/") && (kind == application || kind == applicationSet)
}

func isYAML(file string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(file)))
}

// applications collects the Applications of all documents. It leaves out documents with
// faults.
func (r *argoReader) applications() error {
	if len(r.docs)+len(r.opts.AppOfApps)+len(r.model.Dropped) == 0 {
		return &diag.Diag{
			Code: diag.CodeNothingToImport,
			Msg:  r.opts.Dir + " has no Application or ApplicationSet",
			Hint: "name the directory with the documents of Argo CD, or the chart that creates them with --app-of-apps",
		}
	}
	for _, d := range r.docs {
		r.model.Documents++
		content, err := contentOf(d.Node)
		at := d.At()
		if err == nil && textAt(content, "metadata", "name") == "" {
			at = d.At("metadata", "name")
			err = errors.New("metadata.name must be a string, in quotes if it is a word such as off")
		}
		if err != nil {
			r.leaveOut(d, d.Kind, d.Name, &diag.Diag{
				Code: diag.CodeImportInvalid, At: []diag.Pos{at},
				Msg:  "not a valid " + d.Kind + ": " + yamlReason(err),
				Hint: "correct the document",
			})
			continue
		}
		if d.Kind == application {
			r.apps = append(r.apps, &app{content: content, doc: d})
		} else if err := r.expand(d, content); err != nil {
			r.leaveOut(d, d.Kind, d.Name, err)
		}
	}
	return r.ctx.Err()
}

// leaveOut leaves out an Application or ApplicationSet with a fault, and lists its faults.
func (r *argoReader) leaveOut(d *Document, kind, name string, err error) {
	title, at := kind+" "+name, d.At()
	r.model.Dropped = append(r.model.Dropped, &Release{Name: nameOf(name), Origin: title, Pos: at, Unproven: r.model.LeaveOut(title, at, err)})
}

// releases adds the releases of all Applications to their clusters. It returns the faults
// of documents that are left out if nothing else is left.
func (r *argoReader) releases() error {
	for i := 0; i < len(r.apps); i++ { // charts may add more
		a := r.apps[i]
		err := applicationTypes.check("Argo CD", a.content, func(field ...string) diag.Pos { return r.at(a, field) })
		if err = cmp.Or(err, r.override(a)); err != nil {
			r.drop(a, nil, err)
			continue
		}
		if r.made(a) {
			if err := r.nested(a); err != nil {
				r.drop(a, nil, err)
			}
			continue
		}
		c, err := r.cluster(a)
		if err != nil {
			r.drop(a, nil, err)
		}
		if c == nil {
			continue
		}
		r.model.Note(accountFor(a.content, a.title(), applicationTable, func(field ...string) diag.Pos { return r.at(a, field) })...)
		if err := r.add(a, c); err != nil {
			r.drop(a, c, err)
		}
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.model.Clusters = slices.Collect(maps.Values(r.clusters))
	for _, c := range r.model.Clusters {
		for _, one := range c.Releases {
			one.useHelmName(c.Releases)
			one.Unproven = cmp.Or(one.Unproven, r.changed[one.Origin])
		}
	}
	if err := r.model.Faults(); err != nil {
		return err
	}
	if len(r.apps) == 0 {
		return &diag.Diag{
			Code: diag.CodeNothingToImport, Msg: "the ApplicationSets in " + r.opts.Dir + " make no Application",
			Hint: "name the root directory of their repository: paths of generators are relative to it",
		}
	}
	if len(r.model.Clusters) == 0 {
		return &diag.Diag{
			Code: diag.CodeNothingToImport, Msg: "no Application has a destination of --cluster",
			Hint: "name the destinations of the Applications, such as --cluster ID=" + r.destinationOf(r.apps[0]).name + ", or leave --cluster out",
		}
	}
	return nil
}

// add adds the releases of an Application to a cluster.
func (r *argoReader) add(a *app, c *Cluster) error {
	var out []*Release
	sources := r.sources(a)
	if len(sources) == 0 {
		return r.fault(diag.CodeImportUnsupported, a, []string{"spec"}, "the Application has no source", "write source or sources: fleetc import does not read sourceHydrator")
	}
	isTaken := false
	for _, s := range sources {
		made, err := r.fill(s)
		if err != nil {
			return err
		}
		for _, one := range made {
			r.ownership(a, one)
			name := one.Name
			if hasName(c.Releases, name) { // of another Application, perhaps in another namespace
				isTaken = true
				one.Name, one.helmName = nameOf(a.name()), cmp.Or(one.helmName, name)
			}
			for i := 2; hasName(out, one.Name) || hasName(c.Releases, one.Name); i++ {
				one.Name, one.helmName = fmt.Sprintf("%.50s-%d", name, i), cmp.Or(one.helmName, name)
			}
			out = append(out, one)
		}
	}
	key := c.ID + " " + cmp.Or(textAt(a.content, "metadata", "namespace"), "argocd") + "/" + a.name()
	if at, ok := r.added[key]; ok && isTaken {
		d := r.fault(diag.CodeImportCluster, a, []string{"metadata", "name"}, "the cluster "+c.ID+" has two Applications "+a.name()+" in one namespace", "rename one of them")
		d.At = append(d.At, at)
		return d
	}
	r.added[key] = r.at(a, nil)
	if len(out) == 0 && !a.makesOthers {
		c.Dropped = append(c.Dropped, r.leftOut(a, "its sources have no objects"))
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

// drop leaves out an Application with a fault, and lists its faults. c is nil when its
// cluster is unknown.
func (r *argoReader) drop(a *app, c *Cluster, err error) {
	out := r.leftOut(a, "")
	out.LeftOut, out.Unproven = false, r.model.LeaveOut(a.title(), out.Pos, err)
	if c == nil {
		r.model.Dropped = append(r.model.Dropped, out)
		return
	}
	c.Dropped = append(c.Dropped, out)
}

// leftOut returns the row of an Application that has no releases.
func (r *argoReader) leftOut(a *app, reason string) *Release {
	return &Release{
		Name: nameOf(a.name()), Namespace: textAt(a.content, "spec", "destination", "namespace"), Origin: a.title(), Pos: r.at(a, nil),
		Unproven: reason, LeftOut: true,
	}
}

// at returns the position of a field of an Application.
func (r *argoReader) at(a *app, field []string) diag.Pos {
	return a.doc.At(slices.Concat(a.prefix, field)...)
}

func (r *argoReader) fault(code diag.Code, a *app, field []string, msg, hint string) *diag.Diag {
	return &diag.Diag{Code: code, At: []diag.Pos{r.at(a, field)}, Path: strings.Join(field, "."), Msg: msg, Hint: hint}
}

// note adds a field that is not carried.
func (r *argoReader) note(a *app, field []string, do string) {
	r.model.Note(Note{Pos: r.at(a, field), Doc: a.title(), Field: strings.Join(field, "."), Do: do})
}
