package render

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// helmSplit splits a file as Helm does.
func helmSplit(content string) []string {
	docs := releaseutil.SplitManifests(content)
	keys := slices.Collect(maps.Keys(docs))
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	var out []string
	for _, k := range keys {
		out = append(out, docs[k])
	}
	return out
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "---", "a", "---\na\n---\nb\n", "a\n---\n---\nb", "a\n---b\n----\nc", " \n--- x\r\n---\r\n\f---", "a---\n b\n  ---\nc", "\v\n---\n\v\n---\n\u00a0", "a\n\n \n---\n\n---"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := split(s), helmSplit(s); !slices.Equal(got, want) {
			t.Errorf("%q: %q, Helm %q", s, got, want)
		}
	})
}

// decodeByJSON decodes YAML by JSON, as Kubernetes' libraries do.
func decodeByJSON(text string) (any, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var v any
	err = utiljson.Unmarshal(data, &v)
	return v, err
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"", "a: 1", "[1, 1.0, 1e3, 1e20, 1e30, -0.0, 0x1f, 0o7, 1_000, 9223372036854775807, 18446744073709551615, 1152921504606846977.0, .5, 1e-7]",
		"{1: a, true: b, 1.5: c, null: d}", "{1: a, '1': b}", "a: !!binary aGVsbG8=", "a: !!binary /w==", "2001-01-01: 2001-01-01T00:00:00Z", "a: &x {b: 1}\nc: *x\nd: {<<: *x}", "a: &x {b: 1}\nc: {<<: *x, b: 2}\nd: {b: 1, <<: *x}",
		"a: .nan", "a: .inf", "a: 1\na: [1]\nb: {c: 1.0, c: 2001-01-01, 1: d}", "\"\\xff\": \"\\ud800\"", "a: 1\na: 2", "- - a\n  - b: [~, null, '', \"x\"]", "a: |\n  x\n\n", "a: yes\nb: Off", "!!timestamp 2001-01-01", "'a'", "a: !!float 1", "!x {a: b}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := decode(s)
		if fleet.IsDuplicateKey(err) {
			got, err = decodeLast(s)
		}
		want, wantErr := decodeByJSON(s)
		if _, inexact := errors.AsType[*inexactError](err); inexact {
			err = nil // the library rounds the number
		}
		if err != nil && wantErr == nil && strings.Contains(err.Error(), "already set in map") {
			return // 1 and "1" are one key in JSON: the library uses one of them at random
		}
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, %v, want %#v, %v", s, got, err, want, wantErr)
		}
	})
}

// FuzzDocuments compares the order of documents and the detected hooks with
// Helm's.
func FuzzDocuments(f *testing.F) {
	f.Add("kind: Service\n---\nkind: Namespace\n---\nkind: Zebra\n---\nkind: Ape\n---\n# none", "kind: Secret\n---\nkind: Job\nmetadata: {annotations: {helm.sh/hook: \"pre-install, TEST\"}}")
	f.Add("Kind: x\nkind: y", "kind: 1\nmetadata: {name: 1, annotations: {helm.sh/hook: test-success, x: 1}}")
	f.Add("kind: [a]", "[a]")
	f.Add("metadata: {annotations: {helm.sh/hook: crd-install}}", "metadata:")
	f.Add("metadata: {Annotations: {helm.sh/hook: test}}", "METADATA: {annotations: {helm.sh/hook: test}}")
	f.Add("metadata: {annotations: {helm.sh/hook: null}}", "{kind: ~, metadata: ~}")
	f.Add("a: 1\na: 2", "kind: a\nkind: b")
	f.Fuzz(func(t *testing.T, a, b string) {
		files := map[string]string{"x/templates/a.yaml": a, "x/templates/b.yaml": b}
		pages := map[string]page{}
		for name, text := range files {
			pages[name] = page{text: text}
		}
		docs, err := documents(pages, func(p page) (docs []document) {
			for _, text := range split(p.text) {
				d := readDocument(text)
				d.text = text
				docs = append(docs, d)
			}
			return docs
		})
		var hooks, manifests, want []string
		captureLog(func() {
			h, m, wantErr := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
			if wantErr != nil && err == nil {
				t.Errorf("%q %q: no error, want %v", a, b, wantErr)
			}
			if wantErr == nil && err != nil && !strings.Contains(err.Error(), "names an unknown hook") {
				t.Errorf("%q %q: %v", a, b, err)
			}
			for _, m := range m {
				manifests = append(manifests, m.Name+m.Head.Kind+m.Content)
			}
			for _, h := range h {
				hooks = append(hooks, h.Path+h.Kind+fmt.Sprint(h.Events)+h.Manifest)
			}
		})
		if err != nil {
			return
		}
		want = slices.Concat(manifests, hooks)
		var got []string
		for _, d := range docs {
			if d.hook {
				got = append(got, d.source+d.kind+fmt.Sprint(d.events)+d.text)
			} else {
				got = append(got, d.source+d.kind+d.text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q %q:\n got %q\nwant %q", a, b, got, want)
		}
	})
}
