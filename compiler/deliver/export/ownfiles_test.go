package export

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestListedForeign lists files with their digests in bundle.json: an export
// removes only those with the content of an export.
func TestListedForeign(t *testing.T) {
	object := textOf("p/a", "1")
	for name, test := range map[string]struct {
		file, text string
		removed    bool
	}{
		"an object of ours":         {"gone/pod-x-w.yaml", object, true},
		"an object in full YAML":    {"gone/pod-x-w.yaml", "metadata: {annotations: {fleetc.dev/cluster: p/a, fleetc.dev/fleet: example.com/fleet}}\n", true},
		"an object of others":       {"mine/service.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n", false},
		"at a place of ours":        {"web/pod-x-w.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: w\n  namespace: x\n", false},
		"of another cluster":        {"gone/pod-x-w.yaml", strings.Replace(object, "p/a", "p/b", 1), false},
		"of another fleet":          {"gone/pod-x-w.yaml", strings.Replace(object, "example.com/fleet", "example.com/other", 1), false},
		"marks in a text":           {"mine/notes.yaml", "notes: |\n  " + strings.ReplaceAll(object, "\n", "\n  "), false},
		"no YAML":                   {"mine/notes.yaml", "a: b: [\n", false},
		"nothing":                   {"mine/notes.yaml", "", false},
		"a list of our files":       {"web/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- pod-x-y.yaml\n", true},
		"a list of others' files":   {"web/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- mine.yaml\n", false},
		"a list of both":            {"web/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- pod-x-y.yaml\n- mine.yaml\n", false},
		"a list that does more":     {"web/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamePrefix: a-\nresources:\n- pod-x-y.yaml\n", false},
		"a list without files":      {"web/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n", false},
		"a list by another name":    {"web/list.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- pod-x-y.yaml\n", false},
		"another kind of list":      {"web/kustomization.yaml", "apiVersion: example.com/v1\nkind: Kustomization\nresources:\n- pod-x-y.yaml\n", false},
		"an object named as a list": {"web/kustomization.yaml", object, true},
	} {
		for _, retire := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				tree := newTree(t)
				b := bundle("p/a", "web/Pod/x/y=1")
				listed := *b
				listed.Files = []fleet.File{{Name: test.file, Data: []byte(test.text)}}
				mustExport(t, tree, true, &listed)
				next := b
				if retire {
					next = bundle("p/b", "web/Pod/x/y=1")
				}
				_, err := export(tree, true, next)
				if (err == nil) != test.removed {
					t.Errorf("removed: %v, and the error is %v", err == nil, err)
				}
				if _, there := files(t, filepath.Join(tree.Dir, "p"))["a/"+test.file]; there == test.removed {
					t.Errorf("the file is there: %v", there)
				}
				if want := test.file + ": bundle.json lists this file, but fleetc did not write it"; err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		}
	}
}
