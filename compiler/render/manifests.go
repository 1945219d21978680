package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/fleet"
)

// This file takes apart what templates print, as Helm does: into documents, of
// which some are hooks, in the order in which Helm installs kinds. Helm
// decodes each document only for that; here it is decoded once.

// maxDocument is how many bytes one document may have. No server takes an object
// of a fifth of that.
const maxDocument = 8 << 20

// A document is one YAML document of a rendered chart.
type document struct {
	source string              // the template, with the chart's name in front
	text   string              // as printed; of a file of the crds directory, all of it
	kind   string              // empty when there is none
	hook   bool                // whether the rest of Helm would run it as a hook
	events []release.HookEvent // on which
	objs   []map[string]any
	errs   []error // what is wrong with it
}

// documents returns the documents of rendered templates in the order in which
// helm template prints them: manifests, then hooks. known are documents that
// were decoded before, by their text.
func documents(ctx context.Context, rendered map[string]string, known map[string]document) ([]document, error) {
	var all []document
	for _, source := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(source, "NOTES.txt") {
			continue
		}
		for _, text := range split(rendered[source]) {
			if d, ok := known[text]; ok && d.source == source {
				all = append(all, d)
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if len(text) > maxDocument {
				return nil, fmt.Errorf("renders a document of more than %d MiB, in %s", maxDocument>>20, source)
			}
			d := document{source: source, text: text}
			head, err := d.decode()
			if err != nil {
				return nil, fmt.Errorf("renders YAML that does not parse: %s: %w", source, err)
			}
			known, err := d.asHook(head)
			if err != nil {
				return nil, err
			}
			if known {
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

// decode decodes the document and returns its head. It is an error when Helm
// cannot tell the head; what else is wrong is the document's own fault.
func (d *document) decode() (*releaseutil.SimpleHead, error) {
	v, err := decode(lineEnd(d.text))
	if err != nil {
		d.errs = []error{errors.New("YAML that does not parse: " + yamlMessage(err))}
	} else if objs, err := objectsOf(v, d.text); err != nil {
		d.errs = []error{err}
	} else {
		d.objs = objs
	}
	head, ok := headOf(v)
	if err == nil && ok {
		d.kind = head.Kind
		return head, nil
	}
	head = &releaseutil.SimpleHead{}
	if err := yaml.Unmarshal([]byte(d.text), head); err != nil {
		return nil, headFault(err)
	}
	d.kind = head.Kind
	return head, nil
}

// headFault is what is said of a document whose head cannot be decoded.
func headFault(err error) error {
	what := err.Error()
	if strings.HasPrefix(what, "error unmarshaling JSON") {
		return errors.New("a document that is no object, or whose apiVersion, kind or metadata is of another type than text and map")
	}
	what = strings.TrimPrefix(strings.TrimPrefix(what, "error converting YAML to JSON: "), "yaml: ")
	return errors.New(what)
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

// asHook sets on which events the document is to run. It reports false when
// Helm passes over it: a hook of Helm 2 for CRDs, which charts that still have
// it bring in their crds directory as well. Others that Helm does not know are
// an error, since it drops them without a word.
func (d *document) asHook(head *releaseutil.SimpleHead) (known bool, err error) {
	if head.Metadata == nil {
		return true, nil
	}
	names, ok := head.Metadata.Annotations[release.HookAnnotation]
	if !ok {
		return true, nil
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
			if slices.Contains(all, "crd-install") {
				return false, nil
			}
			return false, fmt.Errorf("has an object with a %s annotation that names no hook of Helm's, in %s", release.HookAnnotation, d.source)
		}
		d.events = append(d.events, e)
	}
	return true, nil
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
