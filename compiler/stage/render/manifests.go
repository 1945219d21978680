package render

import (
	"cmp"
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

// This file takes apart what templates print, as Helm does: into documents, of
// which some are hooks, in the order in which Helm installs kinds. Helm
// decodes each document only for that; here it is decoded once.

// maxDocument is how many bytes one document may have. No server takes an object
// of a fifth of that.
const maxDocument = 8 << 20

// A document is one YAML document of a rendered chart.
type document struct {
	source  string              // the template, with the chart's name in front
	text    string              // as printed, unless it was recalled; of a file of the crds directory, all of it
	crd     bool                // whether it is of the crds directory
	kind    string              // empty when there is none
	hook    bool                // whether Helm would run it as a hook
	events  []release.HookEvent // on which
	objs    []*unstructured.Unstructured
	shared  bool    // whether others have the same objects
	errs    []error // what is wrong with it
	broken  error   // why Helm cannot tell what it is
	refused error   // why we do not take it
	passed  bool    // Helm passes over it
}

// documents returns the documents of rendered templates in the order in which
// helm template prints them: manifests, then hooks. Each page is read by the given
// function.
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
			case d.refused != nil:
				return nil, fmt.Errorf("%w, in %s", d.refused, source)
			}
			d.source = source
			if !d.passed {
				all = append(all, d)
			}
		}
	}
	order := map[string]int{}
	for i, kind := range releaseutil.InstallOrder {
		order[kind] = i + 1
	}
	slices.SortStableFunc(all, func(a, b document) int {
		switch i, j := order[a.kind], order[b.kind]; {
		case a.hook != b.hook && a.hook:
			return 1
		case a.hook != b.hook:
			return -1
		case i == 0 && j == 0:
			return strings.Compare(a.kind, b.kind)
		case i == 0 || j == 0:
			return cmp.Compare(j, i) // others come last
		default:
			return cmp.Compare(i, j)
		}
	})
	return all, nil
}

// split returns the documents of a file without the blanks around them. They
// are separated by lines that begin with three dashes. The break of a line
// that separates does not separate once more: of two such lines in a row, the
// second belongs to the document.
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

// lineEnd returns a document as helm template prints it: Helm cuts the last
// line break off, which a block scalar at the end is in need of, and prints
// one behind the document.
func lineEnd(text string) string { return text + "\n" }

// readDocument decodes a document and tells what it is. It does not keep the text.
func readDocument(text string) document {
	var d document
	if len(text) > maxDocument {
		d.refused = fmt.Errorf("renders a document of more than %d MiB", maxDocument>>20)
		return d
	}
	v, err := decode(lineEnd(text))
	if err == nil {
		var objs []map[string]any
		objs, err = objectsOf(v, text)
		d.objs = contents(objs)
	} else {
		err = errors.New("YAML that does not parse: " + yamlMessage(err))
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

// headFault is what is said of a document whose head cannot be decoded.
func headFault(err error) error {
	what := err.Error()
	if strings.HasPrefix(what, "error unmarshaling JSON") {
		return errors.New("a document that is no object, or whose apiVersion, kind or metadata is of another type than text and map")
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(what, "error converting YAML to JSON: "), "yaml: "))
}

// headOf returns the head of a decoded document. It reports false when that
// takes more than reading it off: fields of other types, or in other case.
func headOf(v any) (*releaseutil.SimpleHead, bool) {
	head := &releaseutil.SimpleHead{}
	if v == nil {
		return head, true
	}
	o, ok := v.(map[string]any)
	if !ok || oddCase(o, "apiVersion", "kind", "metadata") || !textOf(o, "apiVersion", &head.Version) || !textOf(o, "kind", &head.Kind) {
		return nil, false
	}
	if o["metadata"] == nil {
		return head, true
	}
	meta, ok := o["metadata"].(map[string]any)
	if !ok || oddCase(meta, "name", "annotations") {
		return nil, false
	}
	head.Metadata = &struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	}{}
	if !textOf(meta, "name", &head.Metadata.Name) {
		return nil, false
	}
	if meta["annotations"] == nil {
		return head, true
	}
	annotations, ok := meta["annotations"].(map[string]any)
	head.Metadata.Annotations = make(map[string]string, len(annotations))
	for k, v := range annotations {
		text, isText := v.(string)
		head.Metadata.Annotations[k], ok = text, ok && isText
	}
	return head, ok
}

// textOf sets to the text of a field. It reports false when it is no text.
func textOf(o map[string]any, key string, to *string) bool {
	v, ok := o[key].(string)
	*to = v
	return ok || o[key] == nil
}

// oddCase reports whether the object has one of the keys in another case.
func oddCase(o map[string]any, keys ...string) bool {
	for k := range o {
		for _, key := range keys {
			if k != key && strings.EqualFold(k, key) {
				return true
			}
		}
	}
	return false
}

// setHook sets on which events the document is to run. Helm passes over a hook
// of Helm 2 for CRDs, which charts that still have it bring in their crds
// directory as well. Others that it does not know are an error, since it drops
// them without a word.
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
			if d.passed = slices.Contains(all, "crd-install"); !d.passed {
				d.refused = fmt.Errorf("has an object with a %s annotation that names no hook of Helm's", release.HookAnnotation)
			}
			return
		}
		d.events = append(d.events, e)
	}
}

// wanted reports whether the document is part of the release's objects. Hooks
// that run on delete or rollback are not: an object in a bundle is applied,
// which would run them. Test hooks are when the release asks for them.
func (d document) wanted(r *fleet.Release) bool {
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

// aside reports whether the document is a hook that runs on delete or rollback,
// or as a test.
func (d document) aside() bool {
	return slices.ContainsFunc(d.events, func(e release.HookEvent) bool {
		switch e {
		case release.HookPreDelete, release.HookPostDelete, release.HookPreRollback, release.HookPostRollback, release.HookTest:
			return len(d.errs) == 0
		}
		return false
	})
}
