package source

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzBuild tests that no kustomization crashes the program or reads unreported
// files. The kustomization may refer to x.yaml.
func FuzzBuild(f *testing.F) {
	const object = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a, image: a}]}}}\n"
	for _, archive := range good(f) {
		for _, file := range txtar.Parse(archive).Files {
			if IsKustomization(file.Name) {
				f.Add(string(file.Data), object)
			}
		}
	}
	for _, text := range places {
		text, _, _ = strings.Cut(strings.ReplaceAll(text, "ADDRESS", "x.yaml"), "\n-- ")
		f.Add(text, object)
	}
	f.Setenv("PATH", f.TempDir())
	f.Fuzz(func(t *testing.T, kustomization, object string) {
		if len(kustomization)+len(object) > 20_000 || strings.Contains(kustomization+object, "\n-- ") {
			return
		}
		root := unpack(t, []byte("-- app/kustomization.yaml --\n"+kustomization+"\n-- app/x.yaml --\n"+object+"\n"))
		objs, reads, err := BuildKustomization(t.Context(), root, "app", release(), KustomizeInputs{})
		if err != nil && objs != nil {
			t.Error("objects with an error")
		}
		for _, r := range reads {
			if r != "app/x.yaml" && r != "app/kustomization.yaml" {
				t.Errorf("read %s", r)
			}
		}
	})
}
