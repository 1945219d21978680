package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file splits the output of templates into documents as Helm does, finds
// hooks, and sorts kinds in Helm's install order. Each document is decoded
// once.

// maxDocument is the size limit of one document. No API server accepts an
// object of a fifth of that size.
const maxDocument = 8 << 20

// A document is one YAML document of a rendered chart.
type document struct {
	source   string              // the template path, with the chart's name in front
	text     string              // as printed; the whole file for a crds directory; empty in a cached page
	crd      bool                // whether the document is in a crds directory
	kind     string              // empty when unknown
	hook     bool                // whether Helm would run it as a hook
	events   []release.HookEvent // the events of the hook
	objs     []*unstructured.Unstructured
	shared   bool    // whether other releases share the objects
	errs     []error // invalid objects
	twice    error   // keys that a map has twice; the objects have the last values
	broken   error   // why Helm cannot read the kind and metadata
	rejected error   // why fleetc rejects the document
	skipped  bool    // whether Helm ignores the document
}

// documents returns the documents of rendered templates in the order of helm
// template: manifests, then hooks. The function read returns the documents of
// a page.
func documents(rendered map[string]page, read func(page) []document) ([]document, error) {
	var all []document
	for _, source := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(source, "NOTES.txt") {
			continue
		}
		for _, d := range read(rendered[source]) {
			switch {
			case d.broken != nil:
				return nil, fmt.Errorf("renders YAML that does not parse: %s: %w", source, d.broken)
			case d.rejected != nil:
				return nil, fmt.Errorf("%w, in %s", d.rejected, source)
			}
			d.source = source
			if !d.skipped {
				all = append(all, d)
			}
		}
	}
	order, last := map[string]int{}, len(releaseutil.InstallOrder)+1
	for i, kind := range releaseutil.InstallOrder {
		order[kind] = i + 1
	}
	rank := func(d document) int {
		n := cmp.Or(order[d.kind], last) // unknown kinds come last
		if d.hook {
			n += last
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b document) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.kind, b.kind))
	})
	return all, nil
}

// split returns the trimmed documents of a file. Lines that start with three
// dashes separate documents. As in Helm, the line break after a separator
// cannot start the next one: the second of two separators in a row belongs to
// the document.
func split(content string) []string {
	const blank = " \t\n\f\r"
	var docs []string
	add := func(d string) {
		if d != "" {
			docs = append(docs, strings.TrimSpace(d))
		}
	}
	rest := strings.TrimSpace(content)
	if first, ok := strings.CutPrefix(rest, "---"); ok {
		rest = strings.TrimLeft(first, blank)
	}
	for {
		doc, next, found := strings.Cut(rest, "\n---")
		if !found {
			break
		}
		add(strings.TrimRight(doc, blank))
		rest = strings.TrimLeft(next, blank)
	}
	add(rest)
	return docs
}

// lineEnd returns a document as helm template prints it: Helm trims the last
// line break, which a block scalar at the end needs, and prints one after the
// document.
func lineEnd(text string) string { return text + "\n" }

// readDocument decodes a document and finds its kind and hook events. It does
// not set the text.
func readDocument(text string) document {
	var d document
	if len(text) > maxDocument {
		d.rejected = fmt.Errorf("renders a document of more than %d MiB", maxDocument>>20)
		return d
	}
	v, err := decode(lineEnd(text))
	if fleet.IsDuplicateKey(err) {
		if last, lastErr := decodeLast(lineEnd(text)); lastErr == nil {
			v, d.twice, err = last, err, nil
		}
	}
	if err == nil {
		var objs []map[string]any
		objs, err = objectsOf(v, text)
		d.objs = contents(objs)
	} else {
		err = invalidYAML(err)
	}
	if err != nil {
		d.errs = []error{err}
	}
	head, ok := headOf(v)
	if err != nil || !ok {
		head = &releaseutil.SimpleHead{}
		if err := yaml.Unmarshal([]byte(text), head); err != nil {
			d.broken = headFault(err)
			return d
		}
	}
	d.kind = head.Kind
	if head.Metadata != nil {
		d.setHook(head.Metadata.Annotations)
	}
	return d
}

// headFault returns the error for a document whose kind or metadata cannot be
// decoded.
func headFault(err error) error {
	what := err.Error()
	if strings.HasPrefix(what, "error unmarshaling JSON") {
		return errors.New("a document that is not an object, or has an apiVersion or kind that is not a string, or metadata that is not a map")
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(what, "error converting YAML to JSON: "), "yaml: "))
}

// headOf returns kind and metadata of a decoded document. It reports false
// when the fields have unexpected types, which needs a full decoder.
func headOf(v any) (*releaseutil.SimpleHead, bool) {
	o, _ := v.(map[string]any)
	fields := map[string]any{}
	for k, e := range o {
		if slices.ContainsFunc([]string{"apiVersion", "kind", "metadata"}, func(name string) bool { return strings.EqualFold(k, name) }) {
			fields[k] = e
		}
	}
	head := &releaseutil.SimpleHead{}
	data, err := json.Marshal(fields)
	return head, err == nil && json.Unmarshal(data, head) == nil
}

// setHook sets the events of a hook. It skips Helm 2's crd-install hooks, as
// Helm does: charts that still have them also ship a crds directory. Helm
// silently drops other unknown hooks; they are rejected here.
func (d *document) setHook(annotations map[string]string) {
	names, ok := annotations[release.HookAnnotation]
	if !ok {
		return
	}
	d.hook = true
	all := strings.Split(names, ",")
	for i, name := range all {
		all[i] = strings.ToLower(strings.TrimSpace(name))
	}
	for _, name := range all {
		e := release.HookEvent(name)
		switch e {
		case "test-success":
			e = release.HookTest
		case release.HookPreInstall, release.HookPostInstall, release.HookPreDelete, release.HookPostDelete, release.HookTest,
			release.HookPreUpgrade, release.HookPostUpgrade, release.HookPreRollback, release.HookPostRollback:
		default:
			if d.skipped = slices.Contains(all, "crd-install"); !d.skipped {
				d.rejected = fmt.Errorf("has an object whose %s annotation names an unknown hook", release.HookAnnotation)
			}
			return
		}
		d.events = append(d.events, e)
	}
}

// isApplied reports whether the document is one of the release's applied
// objects. Hooks for delete and rollback are not, since an apply would run
// them. Test hooks are when the release sets tests.
func (d document) isApplied(r *fleet.Release) bool {
	if !d.hook {
		return true
	}
	return slices.ContainsFunc(d.events, func(e release.HookEvent) bool {
		switch e {
		case release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade:
			return true
		case release.HookTest:
			return r.Tests
		}
		return false
	})
}

// isUnapplied reports whether the document is a hook for delete, rollback or
// tests.
func (d document) isUnapplied() bool {
	return slices.ContainsFunc(d.events, func(e release.HookEvent) bool {
		switch e {
		case release.HookPreDelete, release.HookPostDelete, release.HookPreRollback, release.HookPostRollback, release.HookTest:
			return len(d.errs) == 0 && d.twice == nil
		}
		return false
	})
}
