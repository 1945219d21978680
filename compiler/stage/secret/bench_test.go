package secret

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// BenchmarkCheck checks a cluster of 12 releases with 500 objects of 20 KB, of which each
// release has one Secret with a reference.
func BenchmarkCheck(b *testing.B) {
	c := &fleet.Cluster{ID: "dev", Secrets: []fleet.Secret{{Name: "db", SecretSource: fleet.SecretSource{Env: "DB"}}}}
	var objs []fleet.Object
	for i := range 12 {
		values := map[string]*fleet.Tree{"password": {Scalar: "((fleetc:db))"}}
		for j := range 500 {
			values[fmt.Sprintf("key%d", j)] = &fleet.Tree{Scalar: "a value of a chart"}
		}
		r := &fleet.Release{Name: fmt.Sprint("r", i), Values: fleet.Map(values)}
		c.Releases = append(c.Releases, r)
		for j := range 42 {
			data := map[string]any{}
			for k := range 200 {
				data[fmt.Sprintf("key%d", k)] = fmt.Sprintf("%0100d", j*k)
			}
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint(j)}, "data": data}}
			if j == 0 {
				o.SetKind("Secret")
				data["password"] = "((fleetc:db))"
			}
			objs = append(objs, fleet.Object{Unstructured: o, Release: r})
		}
	}
	b.Run("bind", func(b *testing.B) {
		for b.Loop() {
			if err := Bind(c, NewFiles(b.TempDir())); err != nil {
				b.Fatal(err)
			}
			c.Checks = nil
		}
	})
	b.Run("objects", func(b *testing.B) {
		for b.Loop() {
			if err := Check(c, objs, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
