package validate

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// BenchmarkResources validates a thousand custom resources against a known CRD,
// with and without rules. The garbage collector is set as in cmd/fleetc.
func BenchmarkResources(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	rules := regexp.MustCompile(`(?m)^ +x-kubernetes-validations:\n( +- rule:.*\n( +(message|messageExpression|fieldPath):.*\n)*)+`)
	for _, bb := range []struct {
		name, crd string
	}{
		{"rules", widgets(b)},
		{"plain", rules.ReplaceAllString(widgets(b), "")},
	} {
		b.Run(bb.name, func(b *testing.B) {
			crd, crs, c := customObjects(b, bb.crd), thousand(b), customCluster("1.37")
			var k CRDChecker
			objs := append(crd, crs...)
			if err := k.Objects(c, objs, nil); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := k.Objects(c, objs, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// thousand returns a thousand custom resources.
func thousand(b *testing.B) []fleet.Object {
	var texts []string
	for i := range 1000 {
		texts = append(texts, widget(fmt.Sprintf("{size: %d, replicas: 2, mode: red, interval: 30s, labels: {a: b}, hosts: [a, b], "+
			"ports: [{name: a, number: 1}, {name: b, number: 2}], sources: [{name: a, git: x}], config: {any: {thing: [1, 2]}}, "+
			"template: {apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}}}", i)))
	}
	return customObjects(b, texts...)
}

// BenchmarkDefinition validates a new CRD and a cached one.
func BenchmarkDefinition(b *testing.B) {
	objs, c := customObjects(b, widgets(b)), customCluster("1.37")
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			var k CRDChecker
			if err := k.Objects(c, objs, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("met", func(b *testing.B) {
		var k CRDChecker
		for b.Loop() {
			if err := k.Objects(c, objs, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCompile compiles a schema and reports its memory.
func BenchmarkCompile(b *testing.B) {
	d, _ := read(customObjects(b, widgets(b))[0])
	compile := func() *compiledSchema {
		c := &compiledSchema{}
		if found := c.compile(d, "v1", newest()); len(found) > 0 {
			b.Fatal(found)
		}
		return c
	}
	compile()
	keep := make([]*compiledSchema, 50)
	before := heap()
	for i := range keep {
		keep[i] = compile()
	}
	each := float64(heap()-before) / float64(len(keep))
	for b.Loop() {
		compile()
	}
	b.ReportMetric(each, "kept-B/schema")
	runtime.KeepAlive(keep)
}

// heap returns the memory in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
