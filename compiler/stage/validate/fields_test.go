package validate

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
)

// decoded returns the object of a YAML document with integers as int64, like
// the renderer, or nil for an empty document.
func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var m map[string]any
	if err := utiljson.Unmarshal(data, &m); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return m
}

// documents returns the documents of a file.
func documents(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n---\n")
}

func object(m map[string]any) fleet.Object {
	return fleet.Object{Unstructured: &unstructured.Unstructured{Object: m}, Release: web}
}

// comment returns the faults of an error as in testdata: without object and
// release.
func comment(err error) string {
	var b strings.Builder
	for _, d := range diag.All(err) {
		msg := strings.Replace(d.Msg, " (release web)", "", 1)
		fmt.Fprintf(&b, "# %s\n", strings.Replace(msg, "; release web)", ")", 1))
		if d.Hint != "" {
			fmt.Fprintf(&b, "#   hint: %s\n", d.Hint)
		}
	}
	return b.String()
}

// Each invalid object has the faults in the comment before it.
func TestBad(t *testing.T) {
	docs := documents(t, "testdata/bad.yaml")
	if len(docs) < 60 {
		t.Errorf("%d objects", len(docs))
	}
	seen := map[string]bool{}
	for i, doc := range docs {
		if i == 0 {
			doc = doc[strings.Index(doc, "# spec."):] // after the comment of the file
		}
		m := decoded(t, doc)
		o := object(m)
		t.Run(o.GetName(), func(t *testing.T) {
			if seen[o.GetName()] {
				t.Fatal("two objects have the name")
			}
			seen[o.GetName()] = true
			version, want := "1.36", ""
			for line := range strings.Lines(doc) {
				if v, ok := strings.CutPrefix(line, "# kubernetes "); ok {
					version = strings.TrimSpace(v)
				} else if strings.HasPrefix(line, "#") {
					want += line
				}
			}
			err := checked(cluster(version), []fleet.Object{o})
			if got := comment(err); got != want || want == "" {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "hunter2") || strings.Contains(text, "123456") {
				t.Errorf("a secret is shown: %s", text)
			}
		})
	}
}

// Each valid object passes in every version that serves it.
func TestGood(t *testing.T) {
	for _, v := range kube.Versions() {
		var objs []fleet.Object
		for _, doc := range documents(t, "testdata/good.yaml") {
			objs = append(objs, object(decoded(t, doc)))
		}
		if err := checked(cluster(v.String()), objs); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// All objects of the example fleet pass in every version that serves them.
func TestExampleFleet(t *testing.T) {
	var objs []fleet.Object
	err := filepath.WalkDir("../../../testdata/golden", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		for _, doc := range documents(t, file) {
			if m := decoded(t, doc); m != nil {
				o := object(m)
				o.Template = file
				objs = append(objs, o)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, v := range kube.Versions() {
		for _, o := range objs {
			if v.Schema(o.GroupVersionKind()) == nil {
				continue
			}
			checked++
			if faults := fields(o, v, true); faults != nil {
				t.Errorf("%s: %v", v, faults)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d objects were checked", checked)
	}
}

// The reported faults of an object are deterministic, and limited.
func TestManyFaults(t *testing.T) {
	many := map[string]any{}
	for i := range 200 {
		many[fmt.Sprintf("key-%03d", i)] = int64(i)
	}
	run := func() diag.List {
		return diag.All(checked(cluster("1.36"), []fleet.Object{object(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": many,
		})}))
	}
	first := run()
	if len(first) != maxFaults {
		t.Fatalf("%d faults", len(first))
	}
	for i, want := range []string{"data.key-000 is a number (0), not a string (release web)", "data.key-001 is a number (1), not a string (release web)"} {
		if first[i].Msg != want {
			t.Errorf("fault %d is %q", i, first[i].Msg)
		}
	}
	if last := first[maxFaults-1]; last.Msg != "it has more faults (release web)" {
		t.Errorf("the last fault is %q", last.Msg)
	}
	for range 5 {
		if again := run(); !slices.EqualFunc(first, again, func(a, b *diag.Diag) bool { return a.Error() == b.Error() }) {
			t.Fatalf("the faults differ: %v and %v", first, again)
		}
	}
}

// Faults in the form of an object do not hide faults in its fields, and are
// reported once.
func TestFormAndFields(t *testing.T) {
	objs := objects(t, web, "{apiVersion: v1, kind: Service, metadata: {labels: {a: 1}}, spec: {typ: ClusterIP}}")
	want := `web.cue:3:1: Service: metadata.labels has a number under "a", not a string (release web, web/templates/all.yaml) [FL1603]
    hint: put it in quotes
    in prod/eu
web.cue:3:1: Service: metadata.name is missing (release web, web/templates/all.yaml) [FL1603]
    hint: set it
    in prod/eu
web.cue:3:1: Service: spec.typ is not a field of ServiceSpec in Kubernetes 1.36 (release web, web/templates/all.yaml) [FL1602]
    hint: did you mean type?
    in prod/eu
`
	if got := faults(t, checked(cluster("1.36"), objs)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The validation changes only the namespace.
func TestFieldsAreKept(t *testing.T) {
	for _, doc := range documents(t, "testdata/good.yaml") {
		o, before := object(decoded(t, doc)), object(decoded(t, doc))
		if err := checked(cluster("1.36"), []fleet.Object{o}); err != nil {
			t.Fatal(err)
		}
		before.SetNamespace(o.GetNamespace())
		got, _ := yaml.Marshal(o.Object)
		want, _ := yaml.Marshal(before.Object)
		if string(got) != string(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// No value in any field of any kind causes a panic.
func FuzzFields(f *testing.F) {
	v, _ := kube.Minor("1.36")
	kinds := v.Kinds()
	for _, file := range []string{"testdata/good.yaml", "testdata/bad.yaml"} {
		for _, doc := range documents(f, file) {
			m := decoded(f, doc)
			gvk := object(m).GroupVersionKind()
			i := slices.IndexFunc(kinds, func(k kube.Kind) bool { return k.GroupVersionKind == gvk })
			data, err := utiljson.Marshal(m)
			if err != nil || i < 0 {
				f.Fatal(gvk, err)
			}
			f.Add(uint16(i), data)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint16, text []byte) {
		var m map[string]any
		if utiljson.Unmarshal(text, &m) != nil || m == nil {
			return
		}
		k := kinds[int(kind)%len(kinds)]
		o := object(m)
		o.SetGroupVersionKind(k.GroupVersionKind)
		all := fields(o, v, true)
		if len(all) > maxFaults {
			t.Fatalf("%d faults", len(all))
		}
		for _, d := range all {
			if strings.ContainsAny(d.Msg+d.Hint, "\x00\x1b\n\r") {
				t.Fatalf("a message is not printable: %q", d.Msg)
			}
		}
	})
}

// BenchmarkFields checks the fields of 1,000 large Deployments, warm.
func BenchmarkFields(b *testing.B) {
	var objs []fleet.Object
	for range 1000 {
		objs = append(objs, object(decoded(b, documents(b, "testdata/good.yaml")[0])))
	}
	v, _ := kube.Minor("1.36")
	v.Schema(objs[0].GroupVersionKind())
	for b.Loop() {
		for _, o := range objs {
			if faults := fields(o, v, true); faults != nil {
				b.Fatal(faults)
			}
		}
	}
}
