package main

import (
	"fmt"
	"strings"
)

// words are the words of descriptions in generated schemas and dashboards.
var words = strings.Fields(`the desired state of each listener that serves requests for a zone is kept by its owner until
	the next rollout replaces it and traffic moves to other endpoints when a limit is reached an empty list selects
	all of them and null means that the operator chooses what fits the class of the workload in this namespace`)

// text returns n words, which depend on seed only.
func text(seed, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[(seed*31+i*(seed%7+1))%len(words)])
	}
	return b.String()
}

// crd returns a CustomResourceDefinition with about size bytes of YAML, as deep
// and as verbose as those of operators.
func crd(group, kind string, size int) string {
	plural := strings.ToLower(kind) + "s"
	b := &strings.Builder{}
	fmt.Fprintf(b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %s.%s
  annotations:
    controller-gen.kubebuilder.io/version: v0.19.0
spec:
  group: %[2]s
  names:
    kind: %s
    listKind: %[3]sList
    plural: %[1]s
    singular: %[4]s
    categories: [bench]
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
      additionalPrinterColumns:
        - name: Age
          type: date
          jsonPath: .metadata.creationTimestamp
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            apiVersion:
              type: string
            kind:
              type: string
            metadata:
              type: object
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
            spec:
              type: object
              properties:
`, plural, group, kind, strings.ToLower(kind))
	depth := 3
	if size < 70_000 {
		depth = 2
	}
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(b, "                section%d:\n", i)
		object(b, "                  ", len(kind)+i*13, depth)
	}
	return b.String()
}

// object writes the schema of an object with the given depth.
func object(b *strings.Builder, in string, seed, depth int) {
	describe(b, in, seed)
	fmt.Fprintf(b, "%stype: object\n%sproperties:\n", in, in)
	for i := range 3 + seed%3 {
		fmt.Fprintf(b, "%s  %s%d:\n", in, words[(seed+i*11)%len(words)], i)
		if depth > 0 && i < 2 {
			nested(b, in+"    ", seed*3+i, depth-1)
		} else {
			scalar(b, in+"    ", seed+i)
		}
	}
}

// nested writes the schema of an object, a list or a map.
func nested(b *strings.Builder, in string, seed, depth int) {
	switch seed % 3 {
	case 0:
		object(b, in, seed, depth)
	case 1:
		describe(b, in, seed)
		fmt.Fprintf(b, "%stype: array\n%sx-kubernetes-list-type: atomic\n%sitems:\n", in, in, in)
		object(b, in+"  ", seed+1, depth)
	default:
		describe(b, in, seed)
		fmt.Fprintf(b, "%stype: object\n%sadditionalProperties:\n", in, in)
		object(b, in+"  ", seed+2, depth)
	}
}

// scalar writes the schema of a scalar.
func scalar(b *strings.Builder, in string, seed int) {
	describe(b, in, seed)
	switch seed % 6 {
	case 0:
		fmt.Fprintf(b, "%stype: boolean\n", in)
	case 1:
		fmt.Fprintf(b, "%stype: integer\n%sformat: int32\n%sminimum: 0\n%smaximum: %d\n", in, in, in, in, 100+seed)
	case 2:
		fmt.Fprintf(b, "%stype: string\n%senum: [Always, IfNotPresent, Never]\n", in, in)
	case 3:
		fmt.Fprintf(b, "%sanyOf:\n%s  - type: integer\n%s  - type: string\n%sx-kubernetes-int-or-string: true\n", in, in, in, in)
	case 4:
		fmt.Fprintf(b, "%stype: array\n%sitems:\n%s  type: string\n", in, in, in)
	default:
		fmt.Fprintf(b, "%stype: string\n%spattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\n%smaxLength: 63\n", in, in, in)
	}
}

// describe writes a description of two lines.
func describe(b *strings.Builder, in string, seed int) {
	fmt.Fprintf(b, "%sdescription: |-\n%s  %s,\n%s  %s.\n", in, in, text(seed, 9+seed%8), in, text(seed+5, 12))
}

// dashboard returns the JSON of a dashboard of about size bytes. Its braces
// belong to the dashboard's language and not to templates.
func dashboard(name string, size int) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, `{"title": %q, "uid": %q, "timezone": "utc", "refresh": "30s", "tags": ["bench"], "panels": [`, name, name)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `
  {"id": %d, "type": "timeseries", "title": %q, "description": %q,
   "gridPos": {"h": 8, "w": 12, "x": %d, "y": %d},
   "fieldConfig": {"defaults": {"unit": "reqps", "custom": {"lineWidth": 1, "fillOpacity": %d, "showPoints": "never"}}, "overrides": []},
   "options": {"legend": {"displayMode": "table", "placement": "right", "calcs": ["mean", "max"]}, "tooltip": {"mode": "multi"}},
   "targets": [{"refId": "A", "expr": "sum by (instance, job) (rate(%s_total{cluster=\"$cluster\", namespace=~\"$namespace\"}[5m]))", "legendFormat": "{{instance}} / {{job}}"}]}`,
			i, text(i, 4), text(i+len(name), 14), i%2*12, i/2*8, i%30, strings.ReplaceAll(text(i, 3), " ", "_"))
	}
	b.WriteString("\n]}\n")
	return b.String()
}
