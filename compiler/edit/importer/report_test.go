package importer

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/query/diff"
)

// TestReportJSON checks that the JSON form of a report has exactly the documented fields,
// and positions relative to the directory.
func TestReportJSON(t *testing.T) {
	dir := t.TempDir()
	place, err := placeIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	pos := diag.Pos{File: filepath.ToSlash(filepath.Join(dir, "..", "infra", "a.yaml")), Line: 3}
	r := Report{
		CUELines: 7, faults: diag.List{{Msg: "a fault"}}, mistakes: []Note{{Doc: "release web", Field: "image", Do: "not read"}},
		Proofs: []Proof{{Cluster: "dev", Release: "web", Origin: "release web", At: place(pos), Status: Different, Objects: 2, Reason: "why", Differences: []string{"x"}}},
	}
	r.describe(&Model{
		Tool: "flux", Documents: 1, Lines: 9, Clusters: []*Cluster{{ID: "dev"}},
		NotCarried: []Note{{Pos: pos, Doc: "HelmRelease web", Field: "spec.x", Do: "write it"}}, Mistakes: []Note{{Pos: pos, Doc: "HelmRelease db", Do: "wrong"}},
	}, &FilePlan{Written: []string{"a"}, Removed: []string{}, Edited: []string{"b"}, Same: []string{"c"}, sum: []byte("x")}, place)
	got, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
 "proven": false,
 "clusters": [
  "dev"
 ],
 "releases": [
  {
   "cluster": "dev",
   "release": "web",
   "from": "release web",
   "at": "../infra/a.yaml:3",
   "proof": "different",
   "objects": 2,
   "reason": "why",
   "differences": [
    "x"
   ]
  }
 ],
 "notCarried": [
  {
   "document": "HelmRelease",
   "field": "spec.x",
   "do": "write it",
   "at": [
    "../infra/a.yaml:3"
   ]
  }
 ],
 "mistakes": [
  {
   "document": "release web",
   "field": "image",
   "do": "not read",
   "at": [
    ""
   ]
  },
  {
   "document": "HelmRelease db",
   "do": "wrong",
   "at": [
    "../infra/a.yaml:3"
   ]
  }
 ],
 "faults": [
  "a fault"
 ],
 "written": [
  "a"
 ],
 "removed": [],
 "edited": [
  "b"
 ],
 "documents": 1,
 "lines": 9,
 "cueLines": 7
}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestGroupNotes checks that notes that differ only by the index of a list are one.
func TestGroupNotes(t *testing.T) {
	got := groupNotes([]Note{
		{Doc: "Application a", Field: "spec.sources.0.path", Do: "x"},
		{Doc: "Application b", Field: "spec.sources.1.path", Do: "x"},
		{Doc: "Application c", Field: "spec.sources.1.chart", Do: "x"},
	}, diag.Pos.String)
	if len(got) != 2 || got[0].Field != "spec.sources.*.path" || got[1].Field != "spec.sources.1.chart" {
		t.Fatal(got)
	}
}

// TestDifferences checks that differences have values as JSON.
func TestDifferences(t *testing.T) {
	fields := []diff.FieldChange{{Path: "data", Before: map[string]any{"a": "b"}, HasBefore: true}, {Path: "kind", Before: "a b", After: nil, HasBefore: true, HasAfter: true}}
	got := differences([]diff.Change{{ID: "ConfigMap a/a", Action: diff.Update, Fields: fields}})
	want := []string{`ConfigMap a/a data: {"a":"b"} -> absent`, "ConfigMap a/a kind: a b -> null"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
}
