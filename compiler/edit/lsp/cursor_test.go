package lsp

import (
	"fmt"
	"strings"
	"testing"
)

// The cursor has the path, the part and the reference at the mark in a text, also in one
// with a syntax error.
func TestCursor(t *testing.T) {
	for text, want := range map[string]string{
		"releases: web: val‸ues: replicas: 3\n":                                           "releases.web.values label",
		"‸releases: web: values: replicas: 3\n":                                           "releases label",
		"releases‸: web: values: replicas: 3\n":                                           "releases label",
		"releases: web: values: replicas: ‸3\n":                                           "releases.web.values.replicas value",
		"releases: web: values: replicas: 3‸\n":                                           "releases.web.values.replicas value",
		"releases: web: values: replicas:‸ 3\n":                                           "releases.web.values.replicas value",
		"releases: \"my-app\": defaults: prod: image: {tag: \"a‸\"}\n":                    "releases.my-app.defaults.prod.image.tag value",
		"releases: web: {\n\t‸\n\tvalues: a: 1\n}\n":                                      "releases.web between",
		"releases: web: {values: a: 1}‸\n":                                                " between",
		"cluster: labels: tier: \"a\"\n\n‸\n":                                             " between",
		"a: [1, {b: ‸2}]\n":                                                               "a.1.b value",
		"a: {b: 1} & {c: *‸2 | int}\n":                                                    "a.c value",
		"if x {\n\ta: b: ‸1\n}\n":                                                         "a.b value",
		"releases: [string]: namesp‸ace: \"a\"\n":                                         "releases.[string].namespace label",
		"a: releases.web.val‸ues.host\n":                                                  "a value releases.web.values",
		"a: releases.web.values.hos‸t\n":                                                  "a value releases.web.values.host",
		"a: \"x-\\(cluster.na‸me)\"\n":                                                    "a value cluster.name",
		"releases: web: {namespace: \"a\", values: b: name‸space}\n":                      "releases.web.values.b value releases.web.namespace",
		"let x = 1\na: x‸\n":                                                              "a value",
		"a: strin‸g\n":                                                                    "a value",
		"a: 1 // comm‸ent\n":                                                              " between comment",
		"releases: web: {\n\tvalues: {\n\t\treplicas: ‸\n\t\timage: tag: \"x\"\n\t}\n}\n": "releases.web.values.replicas value",
		"releases: web: {\n\tvalues: {\n\t\treplicas:\n\t\timage: tag: ‸\"x\"\n\t}\n}\n":  "releases.web.values.image.tag value",
		"releases: web: {\n\tvalues: {\n\t\trepl‸\n\t\timage: tag: \"x\"\n\t}\n":          "releases.web.values value repl",
		"releases: web: {\n\tvalues: {\n\t\ta: 1\n\ncluster: labels: ti‸er: \"a\"\n":      "cluster.labels.tier label",
		"releases: web: defaults: ‸":                                                      "releases.web.defaults value",
		"releases: web: defaults: {‸":                                                     "releases.web.defaults between",
		"releases: web: values: r: }\ncluster: labels: tier‸: \"a\"\n":                    "releases.web.values.r value",
		"releases: web: values: {a: \"b\nc: ‸1}\n":                                        "c value", // a brace is missing
		"‸": " between",
	} {
		before, after, _ := strings.Cut(text, "‸")
		c := newCursor("/fleet", "/fleet/environments/prod/env.cue", before+after, len(before))
		got := strings.Join(c.path, ".") + []string{" between", " label", " value"}[c.part]
		if c.reference != nil {
			got += " " + strings.Join(c.reference, ".")
		}
		if c.isComment {
			got += " comment"
		}
		if got != want {
			t.Errorf("%q is at %q, want %q", text, got, want)
		}
	}
}

// The range of the token is in UTF-16, and the layer is the directory of the file.
func TestCursorToken(t *testing.T) {
	text := "a: \"é𝄞\", b: 12\n"
	c := newCursor("/fleet", "/fleet/environments/prod/env.cue", text, strings.Index(text, "2"))
	if got := fmt.Sprint(c.token, " ", c.layer()); got != "{{0 13} {0 15}} environments/prod" {
		t.Errorf("the token and layer are %s", got)
	}
	if c := newCursor("/fleet", "/fleet/stacks/web.cue", text, 0); c.layer() != "" {
		t.Errorf("the layer of a package is %s", c.layer())
	}
	for path, want := range map[string]string{
		"releases web defaults prod a b": "[releases web values a b] prod",
		"releases web values a":          "[releases web values a] ",
		"releases web defaults":          "[releases web defaults] ",
	} {
		value, layer := valuePath(strings.Fields(path))
		if got := fmt.Sprintf("%v %s", value, layer); got != want {
			t.Errorf("the value of %s is %s, want %s", path, got, want)
		}
	}
}

// Every position of a text, and of each beginning of it, has a cursor.
func TestCursorEverywhere(t *testing.T) {
	text := "package fleet\n\nreleases: web: {\n\tvalues: {a: [1, {b: x.y[\"z\"]}], if c {d: \"\\(e.f)\"}}\n\t#D: {[string]: int}\n}\nfor k, v in m {(k): v}\nlet l = {n: 1} // é𝄞\n"
	for end := 0; end <= len(text); end += 3 {
		for at := 0; at <= end; at += 2 {
			if c := newCursor("/fleet", "/fleet/environments/a.cue", text[:end], at); len(c.nodes) == 0 {
				t.Fatalf("offset %d of %q has no nodes", at, text[:end])
			}
		}
	}
}

// TestCursorNested opens a document that is nested too deeply to walk.
func TestCursorNested(t *testing.T) {
	text := "package fleet\n\n" + strings.Repeat("a: ", 1_000_000) + "1\n"
	if c := newCursor("/fleet", "/fleet/environments/a.cue", text, len(text)-2); len(c.path) > 0 {
		t.Errorf("the path has %d fields", len(c.path))
	}
}
