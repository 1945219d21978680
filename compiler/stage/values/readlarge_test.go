package values

import (
	"fmt"
	"strings"
	"testing"
)

// TestReadsOfLargeCharts analyses charts whose analysis grows quickly with their
// size. If the analysis gives up, the chart has no types at all.
func TestReadsOfLargeCharts(t *testing.T) {
	components := func() string {
		var b strings.Builder
		b.WriteString("{{ $all := dict }}")
		for i := range 450 {
			fmt.Fprintf(&b, `{{ $_ := set $all "k%d" .Values.k%d }}`, i, i)
		}
		for range 60 {
			b.WriteString("{{ (index $all .Release.Name).image.tag.name.text }}")
		}
		return b.String()
	}
	for _, test := range []struct{ name, template, read string }{
		{"a component of many, by a computed name", components(), "k7.image.tag.name.text"},
		{"a name that is made longer in a loop", `
{{ $name := "" }}
{{ range $key, $port := .Values.ports }}
{{ if not (hasKey $.Values.known $name) }}{{ $name = printf "vm%s" $name }}{{ end }}
{{ $port.number }}{{ $name }}
{{ end }}`, "ports.*.number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := Reads(chartOf("app", map[string]string{"templates/x.yaml": test.template}))
			if r.GaveUp != "" {
				t.Fatalf("gave up: %s", r.GaveUp)
			}
			if _, ok := r.At(strings.Split(test.read, ".")...); !ok {
				t.Errorf("%s is not read", test.read)
			}
			if _, ok := r.At("other"); ok {
				t.Error("every key counts as read")
			}
		})
	}
}
