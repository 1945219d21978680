package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// other matches documents that kubectl splits differently: content after a
// separator or after the end of a document.
var other = regexp.MustCompile(`(?m)^(\.\.\.|---[ \t]*[^\s#]|%)|\r|^\x{feff}`)

// decodeManifests returns the objects of a file as kubectl's libraries decode it.
func decodeManifests(data []byte) ([]map[string]any, error) {
	var out []map[string]any
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		var o map[string]any
		if err := utiljson.Unmarshal(raw, &o); err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		s := manifestTree{release: manifestRelease()}
		s.add("x", o, place{})
		for _, obj := range s.objects {
			out = append(out, obj.Object)
		}
	}
}

// TestDecodesAsKubectl compares the files of the golden test.
func TestDecodesAsKubectl(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/all.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		root := t.TempDir()
		write(t, filepath.Join(root, filepath.Base(f.Name)), f.Data)
		want, err := decodeManifests(f.Data)
		if err != nil || len(want) == 0 {
			continue
		}
		objs, _, err := ReadManifests(root, filepath.Base(f.Name), manifestRelease())
		if got := contents(objs); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\nwant %v\n%v", f.Name, got, want, err)
		}
	}
}

// FuzzRead tests that no file crashes the program, that objects equal those of
// kubectl, and that faults have a line.
func FuzzRead(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/all.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		f.Add(file.Data, filepath.Ext(file.Name) == ".json")
	}
	for _, text := range []string{"a: b\na: c\n", "x: &x [*x]\n", "--- a\n...\n%YAML 1.1\n---\nb", "\xff\xfe", "? {}\n: a", "{apiVersion: v1, kind: AList, items: [1]}", "[[[["} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, isJSON bool) {
		root, name := t.TempDir(), "x.yaml"
		if isJSON {
			name = "x.json"
		}
		if err := os.WriteFile(filepath.Join(root, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		objs, reads, err := ReadManifests(root, name, manifestRelease())
		if len(reads) != 1 || (err == nil) != (len(objs) > 0) {
			t.Fatalf("%d objects, read %v, %v", len(objs), reads, err)
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, d := range diag.All(err) {
			if d.At[0].File == name && (d.At[0].Line < 1 || d.At[0].Line > lines+1) {
				t.Errorf("line %d of %d: %v", d.At[0].Line, lines, d)
			}
		}
		for _, o := range objs {
			if o.GetAPIVersion() == "" || o.GetKind() == "" || o.Pos.Line < 1 || o.Pos.Line > lines || o.Pos.Col < 1 {
				t.Errorf("%s at %s", o.ID(), o.Pos)
			}
			o.DeepCopy()
		}
		if err != nil || other.Match(data) {
			return
		}
		want, err := decodeManifests(data)
		if got := contents(objs); err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	})
}
