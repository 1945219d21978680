package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/chart"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// This file renders charts that make Applications: the app of apps pattern.

// maxArgoDepth is the maximum number of nested Applications that make each other.
const maxArgoDepth = 8

// rootApplication returns an Application for a directory that makes Applications.
func (r *argoReader) rootApplication(dir string) *app {
	return &app{
		doc: &Document{dir: filepath.ToSlash(r.Dir), File: path.Join(dir, "Chart.yaml")},
		content: map[string]any{
			"apiVersion": group + "/v1alpha1", "kind": application, "metadata": map[string]any{"name": path.Base(dir)},
			"spec": map[string]any{"source": map[string]any{"path": dir}, "destination": map[string]any{"server": inCluster, "namespace": "argocd"}},
		},
	}
}

// made reports whether an Application is a chart of the repository whose templates make
// Applications.
func (r *argoReader) made(a *app) bool {
	for _, s := range r.sources(a) {
		dir := path.Clean(s.path)
		if s.path == "" || textAt(s.spec, "chart") != "" || !filepath.IsLocal(filepath.FromSlash(dir)) || !r.exists(dir, "Chart.yaml") {
			continue
		}
		if r.makesApplications(dir) {
			return true
		}
	}
	return false
}

// makesApplications reports whether the chart of a directory has templates of Applications.
func (r *argoReader) makesApplications(dir string) bool {
	if makes, ok := r.makes[dir]; ok {
		return makes
	}
	r.makes[dir] = false
	templates := path.Join(dir, "templates")
	_ = walkBelow(filepath.Join(r.Work, filepath.FromSlash(templates)), func(name string, _ fs.DirEntry) error {
		data, err := r.read(path.Join(templates, name))
		if bytes.Contains(data, []byte(group+"/")) && bytes.Contains(data, []byte("kind: "+application)) {
			r.makes[dir] = true
			return fs.SkipAll
		}
		return err
	}) // a directory that is missing makes nothing
	return r.makes[dir]
}

// nested adds the Applications that the charts of an Application make. Their other objects
// are noted.
func (r *argoReader) nested(a *app) error {
	if a.depth >= maxArgoDepth {
		return r.fault(diag.CodeImportCycle, a, []string{"spec"}, "Applications create each other, more than "+fmt.Sprint(maxArgoDepth)+" levels deep", "remove the cycle")
	}
	for _, s := range r.sources(a) {
		dir, err := r.directory(s)
		if err != nil {
			return err
		}
		out := &Release{Name: s.name, Namespace: textAt(a.content, "spec", "destination", "namespace")}
		if err := r.helm(s, out); err != nil {
			return err
		}
		source := r.opts.Source(r.Work)
		found, err := source.Resolve(r.ctx, chart.Request{Ref: "./" + dir})
		if err != nil {
			return err
		}
		ch, err := source.Chart(r.ctx, found.Ref)
		if err != nil {
			return err
		}
		values, err := treeOf(out.Values.Value())
		if err != nil {
			return err
		}
		charts := &render.Charts{}
		c := &fleet.Cluster{ID: "argocd", Name: "argocd", KubeVersion: r.opts.Kubernetes}
		c, apis := out.Target.versions(c, kube.Capabilities(r.opts.Kubernetes))
		fr := &fleet.Release{Name: out.Name, Namespace: cmp.Or(out.Target.Namespace, out.Namespace), Chart: ch.Ref, Values: values}
		made, err := charts.Release(r.ctx, c, fr, ch, apis)
		if err != nil {
			return err
		}
		for _, o := range made.Objects {
			switch kind := o.GetKind(); {
			case !isArgo(o.GetAPIVersion(), kind):
				r.note(a, s.at("path"), "the chart also creates "+o.ID()+": write it as a release")
			case kind == application:
				r.apps = append(r.apps, &app{content: plainNumbers(o.Object), doc: a.doc, depth: a.depth + 1, prefix: a.prefix})
			default:
				before := len(r.apps)
				if err := r.expand(a.doc, plainNumbers(o.Object)); err != nil {
					r.leaveOut(a.doc, applicationSet, o.GetName(), err)
				}
				for _, made := range r.apps[before:] {
					made.depth = a.depth + 1
				}
			}
		}
	}
	return nil
}
