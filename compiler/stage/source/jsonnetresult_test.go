package source

import (
	"strings"
	"testing"
)

func TestResultFaults(t *testing.T) {
	const wanted = ": it must be a Kubernetes object, or a map or list of them [FL1503]"
	for _, test := range []struct {
		result string
		want   []string
	}{
		{"'x'", []string{"the result is a string" + wanted}},
		{"1", []string{"the result is a number" + wanted}},
		{"[true]", []string{"[0] is a boolean" + wanted}},
		{
			"{monitoring: {rules: [{apiVersion: 'v1', kind: 'A'}, {}, 'x'], 'a b': [[1]]}}",
			[]string{`.monitoring["a b"][0][0] is a number` + wanted, ".monitoring.rules[2] is a string" + wanted},
		},
		{"{a: {kind: 'Deployment', metadata: {name: 'x'}}}", []string{".a is an object with kind Deployment and no apiVersion [FL1503]"}},
		{"{a: {apiVersion: 'v1', metadata: {name: 'x'}}}", []string{".a is an object with apiVersion v1 and no kind [FL1503]"}},
		{"{a: {apiVersion: 1, kind: 'x'}}", []string{".a is an object with kind x and no apiVersion [FL1503]"}},
		{"{apiVersion: 'v1', kind: 'List', items: [1, {}, {kind: 'A'}]}", []string{".items[0] is a number: it must be an item of a List [FL1503]", ".items[2] is an object with kind A and no apiVersion [FL1503]"}},
		{"{a: function(x) x}", []string{".a is a function" + wanted}},
		{"function(x) x", []string{"the result is a function" + wanted}},
		{"std.range(1, 30)", []string{"[0] is a number" + wanted, "the result has more values that are not Kubernetes objects [FL1503]"}},
	} {
		r := rendererOf(t, "-- a.jsonnet --\nfunction(params) "+test.result+"\n")
		_, err := r.Render(t.Context(), requestOf("a.jsonnet"))
		got := textOfFaults(t, err)
		for _, want := range test.want {
			if !strings.Contains(got, "a.jsonnet: releases.app: "+want+"\n    environments/fleet.cue:7:2: and here\n") {
				t.Errorf("%s: got\n%s\nwant\n%s", test.result, got, want)
			}
		}
		if n := strings.Count(got, "releases.app"); n != len(test.want) && n != maxJsonnetFaults+1 {
			t.Errorf("%s: %d faults\n%s", test.result, n, got)
		}
	}
}
