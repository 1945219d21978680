package unify

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkCluster evaluates a cluster of twelve releases, each with defaults
// in three layers and a policy.
func BenchmarkCluster(b *testing.B) {
	files := map[string]*strings.Builder{"root": {}, "prod": {}, "eu": {}}
	for i := range 12 {
		fmt.Fprintf(files["root"], "releases: r%d: {namespace: \"n\", objects: [#cm], values: replicas?: >=1}\n", i)
		for layer, text := range files {
			fmt.Fprintf(text, "releases: r%d: defaults: %s: {replicas: %d", i, layer, len(layer))
			for j := range 3 {
				fmt.Fprintf(text, ", part%d: {name: %q, list: [1, 2, 3], nested: deep: {er: true, n%s: %d}}", j, layer, layer, j)
			}
			text.WriteString("}\n")
		}
	}
	var archive strings.Builder
	for _, layer := range []string{"root", "prod", "eu"} {
		fmt.Fprintf(&archive, "-- %s.cue --\n%s", layer, files[layer])
	}
	root, layers, instances := loaded(b, archive.String())
	b.ReportAllocs()
	for b.Loop() {
		c, err := Cluster(root, "prod/eu", layers, instances[len(instances)-1])
		if err != nil || len(c.Releases) != 12 {
			b.Fatal(err)
		}
	}
}
