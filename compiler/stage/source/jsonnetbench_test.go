package source

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// components is a fleet of 100 components that share two libraries.
func components(b *testing.B) *JsonnetRenderer {
	var a txtar.Archive
	for i := range 100 {
		a.Files = append(a.Files, txtar.File{Name: fmt.Sprintf("c%d/main.jsonnet", i), Data: []byte(`
local k = import 'fleetc.libsonnet';
local shared = import 'shared/lib.libsonnet';
function(params, cluster)
  local web = k.container('web', params.image.name + ':' + params.image.tag) + k.withPort(8080) + k.withEnv({ A: 1, B: cluster.id });
  {
    deployment: k.deployment('web', [web]) + k.withReplicas(params.replicas),
    service: k.serviceFor(self.deployment),
    config: k.configMap('web', { ['f%d' % i]: shared.text(i) for i in std.range(1, 10) }),
    rules: [shared.rule('r%d' % i) for i in std.range(1, 10)],
  }
`)})
	}
	a.Files = append(a.Files, txtar.File{Name: "vendor/shared/lib.libsonnet", Data: []byte(`
{
  text(i):: std.join('\n', ['line ' + j + ' of ' + i for j in std.range(1, 20)]),
  rule(name):: { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata: { name: name }, spec: { groups: [{ name: name, rules: [{ alert: name, expr: 'up == 0' }] }] } },
` + unusedFunctions() + `}
`)})
	return rendererOf(b, string(txtar.Format(&a)))
}

// unusedFunctions makes a library as large as common public ones.
func unusedFunctions() string {
	var s strings.Builder
	for i := range 500 {
		fmt.Fprintf(&s, "  with%d(x, y=null):: { spec+: { field%d+: [{ name: x, value: if y == null then 'none' else y }] } },\n", i, i)
	}
	return s.String()
}

// BenchmarkComponents renders 100 components of one cluster.
func BenchmarkComponents(b *testing.B) {
	r := components(b)
	for b.Loop() {
		for i := range 100 {
			if _, err := r.Render(context.Background(), requestOf(fmt.Sprintf("c%d/main.jsonnet", i))); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkComponentsParallel does the same in as many goroutines as there are
// processors.
func BenchmarkComponentsParallel(b *testing.B) {
	r := components(b)
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			for range 100 {
				if _, err := r.Render(context.Background(), requestOf(fmt.Sprintf("c%d/main.jsonnet", next.Add(1)%100))); err != nil {
					b.Error(err)
				}
			}
		}
	})
}

// BenchmarkFirst renders one component with empty caches.
func BenchmarkFirst(b *testing.B) {
	dir := components(b)
	for b.Loop() {
		r := &JsonnetRenderer{Dir: dir.Dir, Library: dir.Library}
		if _, err := r.Render(context.Background(), requestOf("c1/main.jsonnet")); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEmpty renders nothing, to measure the overhead of a render.
func BenchmarkEmpty(b *testing.B) {
	r := rendererOf(b, "-- a.jsonnet --\nfunction(params) []\n")
	for b.Loop() {
		if _, err := r.Render(context.Background(), requestOf("a.jsonnet")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMeasure(b *testing.B) {
	text := []byte(strings.Repeat("local f(x) = { a+: [x, 'text', \"more\"] }; f(1), // comment\n", 1000))
	b.SetBytes(int64(len(text)))
	b.ResetTimer()
	for b.Loop() {
		measure(text, 1<<30, 1<<30)
	}
}
