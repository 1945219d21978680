package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// FuzzLay lays out random objects, stages and hooks. Both layouts contain each
// object once, are deterministic, and do not modify the input.
func FuzzLay(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3})
	f.Add([]byte{0x10, 0x25, 0x3a, 0x4f, 0x60, 0x75})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 50 {
			return
		}
		first := &fleet.Release{Name: "first", Namespace: "one", Stage: "base", Pos: diag.Pos{File: "first.cue", Line: 1, Col: 1}}
		c := &fleet.Cluster{ID: "dev", Stages: []string{"base", "empty", "apps"}, Releases: []*fleet.Release{db, first, web}}
		c.GitOps.ArgoCD.RepoURL = "https://git.example.com/clusters.git"
		b := &fleet.Bundle{Cluster: c}
		kinds := [][2]string{{"v1", "ConfigMap"}, {"apps/v1", "Deployment"}, {"v1", "Namespace"}, {"batch/v1", "Job"}}
		hooks := [][]string{nil, nil, {"pre-install,pre-upgrade", "1"}, {"post-install", "-2"}}
		for i, d := range data {
			kind := kinds[d&3]
			r := []*fleet.Release{first, web, db, web}[d>>4&3]
			b.Objects = append(b.Objects, made(r, kind[0], kind[1], fmt.Sprint("o", i), hooks[d>>2&3]...))
		}
		for _, o := range b.Objects {
			text, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			b.YAML = append(b.YAML, fleet.Text{text})
		}
		l := Layouter{
			Fleet: "example.com/infra", Encode: func(o map[string]any) ([]byte, error) { return json.Marshal(o) },
			Names: func(objs []fleet.Object) []string {
				out := make([]string, len(objs))
				for i, o := range objs {
					out[i] = o.GetName() + ".yaml"
				}
				return out
			},
		}
		before := fmt.Sprint(b.YAML)
		for _, layout := range []fleet.Layout{fleet.FluxLayout, fleet.ArgoLayout} {
			out, err := l.Lay(b, layout)
			if err != nil {
				continue
			}
			again, err := l.Lay(b, layout)
			if err != nil || fmt.Sprint(again.YAML, again.Dirs, again.Files) != fmt.Sprint(out.YAML, out.Dirs, out.Files) {
				t.Errorf("%s: %v the second time", layout, err)
			}
			if got, want := namesIn(out.Objects), namesIn(b.Objects); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", layout, got, want)
			}
		}
		var after []fleet.Text
		for _, o := range b.Objects {
			text, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			after = append(after, fleet.Text{text})
		}
		if fmt.Sprint(after) != before {
			t.Error("laying out changes what is laid out")
		}
	})
}

// namesIn returns the sorted names of objects.
func namesIn(objs []fleet.Object) []string {
	var out []string
	for _, o := range objs {
		out = append(out, o.GetName())
	}
	slices.Sort(out)
	return out
}
