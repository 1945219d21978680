package values

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// chartOf returns a chart with the files. Files are templates by default, unless
// their names show another purpose.
func chartOf(name string, files map[string]string) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: "1.0.0"}}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		f := &chart.File{Name: file, Data: []byte(files[file])}
		if strings.HasPrefix(file, "templates/") {
			c.Templates = append(c.Templates, f)
		} else {
			c.Files = append(c.Files, f)
		}
	}
	return c
}

// flat returns the paths of the tree in order, each with the letters of its
// modes.
func flat(n *Read, path string) []string {
	if n == nil {
		return nil
	}
	letters := ""
	for i, letter := range []string{"T", "P", "R", "D"} {
		if n.Mode&(1<<i) != 0 {
			letters += letter
		}
	}
	var all []string
	if path != "" && (letters != "" || len(n.Keys) == 0 && n.Any == nil) {
		all = append(all, path+" "+letters)
	}
	for _, key := range slices.Sorted(maps.Keys(n.Keys)) {
		all = append(all, flat(n.Keys[key], strings.TrimPrefix(path+"."+key, "."))...)
	}
	return append(all, flat(n.Any, strings.TrimPrefix(path+".*", "."))...)
}

func TestReads(t *testing.T) {
	for _, test := range []struct{ name, template, want string }{
		{"print", `{{ .Values.a }} {{ .Values.b.c | quote }}`, "a P; b.c P"},
		{"not used", `{{ $x := .Values.a }}{{/* .Values.b */}}{{ .Release.Name }}{{ .Chart.Version }}`, ""},
		{"if", `{{ if .Values.a }}{{ .Values.b }}{{ else if eq .Values.c 1 }}{{ .Values.d }}{{ else }}{{ .Values.e }}{{ end }}`, "a T; b P; c T; d P; e P"},
		{"with", `{{ with .Values.a }}{{ .b }}{{ $.Values.c }}{{ else with .Values.d }}{{ .e }}{{ else }}{{ .Values.f }}{{ end }}`, "a T; a.b P; c P; d T; d.e P; f P"},
		{"with variable", `{{ with $x := .Values.a }}{{ $x.b }}{{ end }}`, "a T; a.b P"},
		{"range", `{{ range .Values.a }}{{ .b }}{{ end }}`, "a TR; a.*.b P"},
		{"range of some keys", `{{ range $k, $v := .Values.a }}{{ if and (has $k (list "b" "c")) (hasKey $.Values $k) }}{{ index $.Values $k }}{{ end }}{{ end }}`, "a TR; a.* ; b TP; c TP"},
		{"range of one key", `{{ range $k, $v := .Values.a }}{{ if eq $k "b" "c" }}{{ index $.Values $k }}{{ else }}{{ index $.Values.d $k }}{{ end }}{{ end }}`, "a TR; a.* ; b P; c P; d.* P"},
		{"an assigned key", `{{ range $k, $v := .Values.a }}{{ if eq $k "b" }}{{ $k = "c" }}{{ end }}{{ index $.Values $k }}{{ end }}`, "a TPR; a.* ; c P; * P"},
		{"range of keys", `{{ range $k, $v := .Values.a }}{{ $k }}{{ $v.b }}{{ if $v.c }}{{ break }}{{ end }}{{ continue }}{{ end }}`, "a TR; a.*.b P; a.*.c T"},
		{"range of keys alone", `{{ range $k, $v := .Values.a }}{{ $k }}{{ end }}`, "a TR; a.* "},
		{"range of a list", `{{ range $i, $x := list .Values.a (dict "b" .Values.c) }}{{ $x.b }}{{ end }}`, "a.b P; c P"},
		{"range of a dict", `{{ range $k, $v := dict "a" 1 "b" 2 }}{{ index $.Values $k }}{{ end }}`, "a P; b P"},
		{"range of a number", `{{ range $i := 3 }}{{ $i }}{{ $.Values.a }}{{ end }}{{ range until 2 }}{{ . }}{{ else }}{{ .Values.b }}{{ end }}`, "a P; b P"},
		{"range assigns", `{{ $x := .Values.a }}{{ range $x = .Values.l }}{{ end }}{{ $x.b }}`, "a.b P; l TR; l.*.b P"},
		{"assignment", `{{ $x := .Values.a }}{{ if .Values.s }}{{ $x = .Values.b }}{{ end }}{{ $x.c }}`, "a.c P; b.c P; s T"},
		{"scope", `{{ $x := .Values.a }}{{ if true }}{{ $x := .Values.b }}{{ $x.c }}{{ end }}{{ $x.d }}`, "a.d P; b.c P"},
		{"template", `{{ template "t" .Values.a }}{{ define "t" }}{{ .b }}{{ end }}`, "a.b P"},
		{"include", `{{ define "t" }}{{ .x.b }}{{ $.y }}{{ end }}{{ include "t" (dict "x" .Values.a "y" .Values.c) }}`, "a.b P; c P"},
		{"computed name", `{{ define "t.a" }}{{ .x }}{{ end }}{{ define "t.b" }}{{ .y }}{{ end }}{{ define "u" }}{{ .z }}{{ end }}{{ include (printf "t.%s" .Values.kind) .Values.v }}`, "kind P; v.x P; v.y P"},
		{"name from a template", `{{ define "t" }}{{ .x }}{{ end }}{{ define "u" }}{{ .x }}{{ end }}{{ define "n" }}t{{ end }}{{ include (include "n" .) .Values.v }}`, "v.x P"},
		{"block", `{{ block "t" .Values.a }}{{ .b }}{{ end }}`, "a.b P"},
		{"dict", `{{ $d := dict "a" (dict "b" .Values.c) }}{{ $d.a.b.d }}{{ $d.x }}`, "c.d P"},
		{"dict printed", `{{ dict "a" .Values.b | toYaml }}`, "b P"},
		{"list index", `{{ $l := list . .Values.a }}{{ (index $l 0).Values.b }}{{ (index $l 1).c }}{{ (first $l).Values.d }}{{ (last $l).e }}`, "a.c P; a.e P; b P; d P"},
		{"list of values", `{{ (first .Values.l).a }}{{ (index .Values.l 0).b }}{{ index .Values.l .Values.i "c" }}`, "i T; l T; l.*.a P; l.*.b P; l.*.c P"},
		{"index", `{{ index .Values "a" "b-c" }}{{ (index .Values.m .Release.Name).d }}`, "a.b-c P; m.*.d P"},
		{"get", `{{ (get .Values "a").b }}{{ if hasKey .Values.c "d" }}{{ end }}`, "a.b P; c.d T"},
		{"dig", `{{ dig "a" "b" .Values.d (.Values.c | default dict) }}{{ dig "x" "y" .Values.AsMap }}`, "c T; c.a.b P; d P; x P"},
		{"pluck", `{{ (first (pluck "a" .Values.b .Values.c)).d }}`, "b.a.d P; c.a.d P"},
		{"keys and values", `{{ range keys .Values.a | sortAlpha }}{{ index $.Values.a . "b" }}{{ end }}{{ range values .Values.c }}{{ .d }}{{ end }}`, "a TR; a.*.b P; c.*.d P"},
		{"merge", `{{ $m := merge (dict) .Values.a .Values.b }}{{ $m.c }}{{ $n := mustMergeOverwrite (deepCopy .Values.d) .Values.e }}{{ $n.f }}{{ .Values.d.g }}`, "a.c P; b.c P; d.f P; d.g P; e.f P"},
		{"merge modifies", `{{ $_ := merge .Values.a .Values.b }}{{ .Values.a.c }}`, "a.c P; b.c P"},
		{"set", `{{ $_ := set .Values.a "x" .Values.b }}{{ .Values.a.x.y }}{{ $d := dict }}{{ $_ := set $d "k" .Values.c }}{{ $d.k.z }}`, "a.x.y P; b.y P; c.z P"},
		{"set at its own key", `{{ $o := deepCopy .Values.a }}{{ range $k := .Values.l }}{{ $_ := set $o $k (dig $k nil $o) }}{{ end }}{{ $o.x.y }}{{ toYaml $o.z }}`, "a.x.y P; a.z P; l TR; l.* T"},
		{"set and print", `{{ $_ := set .Values.a "x" .Values.b }}{{ toYaml .Values.a }}`, "a P; b P"},
		{"print and set", `{{ $d := dict }}{{ toYaml $d }}{{ $_ := set $d "k" .Values.c }}`, "c P"},
		{"set values", `{{ $_ := set $ "Values" (mustMergeOverwrite .Values.defaults .Values) }}{{ .Values.a }}`, "a P; defaults.a P"},
		{"omit and pick", `{{ $o := omit .Values.a "x" }}{{ $o.b }}{{ toYaml (pick .Values.c "d" "e") }}{{ $_ := unset .Values.f "g" }}`, "a.b P; c.d P; c.e P"},
		{"default", `{{ (.Values.a | default .Values.b).c }}{{ coalesce .Values.d .Values.e }}{{ or .Values.f .Values.g }}`, "a T; a.c P; b T; b.c P; d TP; e TP; f TP; g TP"},
		{"ternary", `{{ (ternary .Values.a .Values.b .Values.c).d }}`, "a.d P; b.d P; c T"},
		{"round trip", `{{ $x := toYaml .Values.a | fromYaml }}{{ $x.b }}{{ $y := include "t" . | fromJson }}{{ $y.d }}{{ define "t" }}{{ toJson .Values.c }}{{ end }}`, "a.b P; c.d P"},
		{"round trip of a part", `{{ $y := include "t" . | fromYaml }}{{ $y.d }}{{ define "t" }}x: {{ toJson .Values.c }}{{ end }}`, "c P"},
		{"round trip dropped", `{{ $_ := toYaml .Values.a }}`, ""},
		{"concat", `{{ range concat .Values.a (list .Values.b) | uniq }}{{ .c }}{{ end }}{{ range append .Values.d .Values.e }}{{ .f }}{{ end }}{{ range without .Values.g "x" }}{{ .h }}{{ end }}`, "a T; a.*.c P; b.c P; d T; d.*.f P; e.f P; g TR; g.* T; g.*.h P"},
		{"has", `{{ if has "x" .Values.a }}{{ end }}{{ if contains "x" .Values.b }}{{ end }}`, "a T; a.* P; b T"},
		{"split", `{{ range splitList "," "a,b" }}{{ index $.Values . "c" }}{{ end }}`, "a.c P; b.c P"},
		{"cases of texts", `{{ index .Values ("query-front_end" | replace "-" "_" | camelcase | untitle) "c" }}{{ index .Values (snakecase "oneTwo") "d" }}{{ index .Values (title "e") (nospace "f g") }}`, "E.fg P; one_two.d P; queryFrontEnd.c P"},
		{"texts", `{{ index .Values (printf "%s-%s" "a" "b" | upper | trimSuffix "B" | replace "-" "_") "c" }}`, "A_.c P"},
		{"chart name", `{{ index .Values .Chart.Name "c" }}`, "app.c P"},
		{"subtle keys", `{{ (.Values.a).b }}{{ .Values.PathValue "c.d" }}{{ (.Values.Table "e").f }}`, "a.b P; c.d P; e.f P"},
		{"required", `{{ (required "no" .Values.a).b }}{{ fail .Values.c }}`, "a T; a.b P; c P"},
		{"lookup", `{{ (lookup "v1" "Secret" .Values.ns "x").data }}`, "ns P"},
		{"unknown function", `{{ genSignedCert .Values.a (list .Values.b) nil 365 (dict "x" .Values.c) }}`, "a P; b P; c P"},
		{"tpl of a constant", `{{ tpl "{{ .Values.a }}" . }}{{ tpl .Values.b (dict "x" .Values.c) }}{{ tpl "{{ define \"n\" }}{{ .d }}{{ end }}{{ include \"n\" .Values }}" $ }}`, "a P; b P; d P"},
		{"dump", `{{ toYaml .Values | sha256sum }}{{ .Values.a }}{{ toJson $ }}`, "a P"},
		{"kinds", `{{ if kindIs "map" .Values.a }}{{ .Values.a.b }}{{ else if gt (len .Values.c) 1 }}{{ end }}`, "a T; a.b P; c T"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := Reads(chartOf("app", map[string]string{"templates/main.yaml": test.template}))
			if got := strings.Join(flat(r, ""), "; "); got != test.want || r.GaveUp != "" {
				got = got[:min(len(got), 1000)]
				t.Errorf("%s\n got %s\nwant %s\n%s", test.template, got, test.want, r.GaveUp)
			}
		})
	}
}

// TestReadsAgainAndAgain has loops that read more in each round. The interpreter
// distinguishes only the first rounds.
func TestReadsAgainAndAgain(t *testing.T) {
	for _, test := range []struct{ name, template, read, unread string }{
		{"loop", `{{ $x := .Values }}{{ range list "a" "b" }}{{ $x = index $x . }}{{ end }}{{ $x.c }}`, "a.b.c", "c a.c b.c d a.d b.a.c"},
		{"loop with a condition", `{{ $x := .Values }}{{ range list "a" "b" }}{{ if $x.on }}{{ $x = index $x . }}{{ end }}{{ end }}{{ $x.c }}`, "c a.c b.c a.b.c", "d a.d b.a.c"},
		{"map", `{{ range $k, $v := dict "a" .Values.x "b" .Values.y }}{{ (index $.Values $k).c }}{{ $v.d }}{{ end }}`, "a.c b.c x.d y.d", "c.c x.c"},
		{"paths", `{{ define "t" }}{{ range .sections }}{{ $x := $.context.Values }}{{ range split "." . }}{{ $x = index $x . }}{{ end }}{{ if not (index $x "res") }}{{ end }}{{ end }}{{ end }}` +
			`{{ include "t" (dict "sections" (append (list "a.b" "c" "d.e.f") "g") "context" $) }}`, "a.b.res c.res d.e.f.res g.res", "res a.res d.res a.b.other c.b.res"},
		{"keys of all values", `{{ range $k, $v := .Values }}{{ $keys := ternary (list $k) $k (kindIs "string" $k) }}{{ $x := $.Values }}{{ range $keys }}{{ $x = index $x . }}{{ end }}{{ $x.name }}{{ end }}`, "a.name b.name", "a.other a.b.name"},
		{"list of lists", `{{ $x := .Values }}{{ range $k := list "a" (list "b") }}{{ $x = index $x $k }}{{ end }}{{ $x.c }}`, "a.c", "d b.c"},
		{"first of a text", `{{ $k := "a" }}{{ if kindIs "slice" $k }}{{ $k = first $k }}{{ end }}{{ (index .Values $k).c }}`, "a.c", "b.c"},
		{"dot", `{{ define "t" }}{{ $v := (.helm).Values | default .Values }}{{ $v.a }}{{ (index $v .key).b }}{{ end }}{{ include "t" . }}{{ include "t" (dict "helm" . "key" "k") }}`, "a k.b", "x.b k.c"},
		{"key set", `{{ define "t" }}{{ (index .Values .key).b }}{{ $_ := unset . "key" }}{{ end }}{{ template "t" (set . "key" "k") }}`, "k.b", "x.b k.c"},
		{"path", `{{ $x := .Values }}{{ range splitList "." "a.b.c" }}{{ $x = get $x . }}{{ end }}{{ $x }}`, "a.b.c", ""},
		{"file", `{{ if .Values.once }}{{ include (print $.Template.BasePath "/main.yaml") (dict "Values" .Values.a) }}{{ end }}`, "once a.once a.a.a.once", "b"},
		{"recursion", `{{ define "t" }}{{ if .x }}{{ .v.a }}{{ include "t" (dict "x" .x.next "v" .v) }}{{ end }}{{ end }}{{ include "t" (dict "x" .Values.x "v" .Values) }}`, "a x.next x.next.next.next.next", "b x.other v"},
		{"tree", `{{ define "t" }}{{ range $k, $v := . }}{{ $k }}{{ $v.leaf }}{{ include "t" $v.kids }}{{ end }}{{ end }}{{ include "t" .Values.x }}`, "x.a.leaf x.a.kids.b.kids.c.leaf", "y x.a.other x.a.kids.b.other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := Reads(chartOf("app", map[string]string{"templates/main.yaml": test.template}))
			if r.GaveUp != "" {
				t.Errorf("gave up: %s", r.GaveUp)
			}
			for _, path := range strings.Fields(test.read) {
				if _, ok := r.At(strings.Split(path, ".")...); !ok {
					t.Errorf("%s is not read", path)
				}
			}
			for _, path := range strings.Fields(test.unread) {
				if n, ok := r.At(strings.Split(path, ".")...); ok {
					t.Errorf("%s is read: %+v", path, n)
				}
			}
		})
	}
}

func TestReadsOfFilesAndValues(t *testing.T) {
	c := chartOf("app", map[string]string{
		"templates/_helpers.tpl": `{{ define "used" }}{{ .Values.used }}{{ end }}{{ .Values.partial }}{{ define "unused" }}{{ .Values.unused }}{{ end }}`,
		"templates/a.yaml":       `{{ include "used" . }}{{ tpl .Values.text (dict "v" .Values.inText) }}{{ tpl (.Files.Get "f.conf") (dict "Values" .Values.inFile) }}`,
		"templates/NOTES.txt":    `{{ .Values.used }}{{ .Values.noted }}`,
		"templates/tests/t.yaml": `{{ .Values.tested }}`,
		"f.conf":                 `{{ .Values.file }}`,
		"README.md":              `{{ .Values.readme }}`,
	})
	c.Values = map[string]any{"text": "x {{ .v.a }}", "other": []any{map[string]any{"k": "{{ .Values.string }}"}}, "broken": "{{ .Values.bro.ken"}
	r := Reads(c)
	want := "bro.ken P; file P; inFile.file P; inText.a P; noted P; string P; tested P; text P; used P"
	if got := strings.Join(flat(r, ""), "; "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for path, where := range map[string]string{
		"used": "app/templates/_helpers.tpl:1", "noted": "app/templates/NOTES.txt:1", "file": "app/f.conf:1",
		"string": "app/values.yaml:1", "tested": "app/templates/tests/t.yaml:1",
	} {
		if n, ok := r.At(path); !ok || n.Where != where {
			t.Errorf("%s: %+v, want %s", path, n, where)
		}
	}
}

func TestReadsOfDependencies(t *testing.T) {
	inner := chartOf("inner", map[string]string{"templates/i.yaml": `{{ .Values.global.deep }}{{ .Values.i }}`})
	library := chartOf("library", map[string]string{
		"templates/_l.tpl": `{{ define "lib" }}{{ .Values.byLibrary }}{{ end }}{{ define "name" }}{{ .Values.wrong }}{{ end }}`,
		"templates/x.yaml": `{{ .Values.never }}`,
	})
	library.Metadata.Type = "library"
	sub := chartOf("sub", map[string]string{"templates/s.yaml": "\n{{ .Values.s }}{{ .Values.global.g }}{{ include \"lib\" . }}{{ include \"name\" . }}"})
	sub.Metadata.Dependencies = []*chart.Dependency{{Name: "inner", Version: "*", Condition: "inner.enabled"}}
	sub.AddDependency(inner)
	c := chartOf("app", map[string]string{
		"templates/_h.tpl": `{{ define "name" }}{{ .Values.name }}{{ end }}`,
		"templates/a.yaml": `{{ .Values.imported.x }}{{ .Values.y.z }}{{ (.Subcharts.one).Values.viaSub }}`,
	})
	c.Metadata.Dependencies = []*chart.Dependency{
		{Name: "sub", Version: "1.x", Alias: "one", Condition: "one.enabled,global.one", Tags: []string{"t"}, ImportValues: []any{
			map[string]any{"child": "data.in", "parent": "imported"}, "exported",
		}},
		{Name: "library", Version: "*"},
		{Name: "missing", Version: "*"},
	}
	c.AddDependency(sub, library)
	c.AddDependency(chartOf("extra", map[string]string{"templates/e.yaml": `{{ .Values.e }}`}))
	r := Reads(c)
	got := flat(r, "")
	for _, line := range []string{
		"extra.e P", "global.deep P", "global.g P", "global.one T", "imported.x P", "missing P", "tags.t T", "y.z P",
		"one.byLibrary P", "one.data.in.x P", "one.enabled T", "one.exports.exported.y.z P", "one.global.g P", "one.name P",
		"one.inner.enabled T", "one.inner.global.deep P", "one.inner.i P", "one.global.deep P", "one.s P", "one.viaSub P",
	} {
		if !slices.Contains(got, line) {
			t.Errorf("%s is missing", line)
		}
	}
	for _, path := range []string{"one.wrong", "library.never", "library.byLibrary", "sub.s", "name", "s", "one.t", "one.tags"} {
		if n, ok := r.At(strings.Split(path, ".")...); ok {
			t.Errorf("%s is read: %+v", path, n)
		}
	}
	if n, _ := r.At("one", "inner", "i"); n == nil || n.Where != "app/charts/one/charts/inner/templates/i.yaml:1" {
		t.Errorf("one.inner.i: %+v", n)
	}
	if n, _ := r.At("one", "s"); n == nil || n.Where != "app/charts/one/templates/s.yaml:2" {
		t.Errorf("one.s: %+v", n)
	}
}

// At returns the node of the path, and whether templates read the value there or
// a value below it. It prefers the node of the exact keys to that of any key.
// Below a printed value everything counts as read, and the node is the printed
// one. When a template prints all values of a chart at once, as some charts do
// for support, that does not count as a read of each.
func (r *Read) At(path ...string) (n *Read, ok bool) {
	if r == nil {
		return nil, false
	}
	var printed *Read
	n = r
	for _, key := range path {
		if n.Mode&Printed != 0 {
			printed = n
		}
		next := n.Keys[key]
		if next == nil {
			next = n.Any
		}
		if next == nil {
			return printed, printed != nil
		}
		n = next
	}
	return n, true
}

func TestAt(t *testing.T) {
	r := Reads(chartOf("app", map[string]string{"templates/a.yaml": `
		{{ toYaml .Values.free }}{{ .Values.free.known.x }}
		{{ range .Values.each }}{{ .a }}{{ end }}{{ .Values.each.one.b }}{{ .Values.leaf }}`}))
	for path, want := range map[string]string{
		"free": "P", "free.any.thing": "P", "free.known": "", "free.known.x": "P", "free.known.y.z": "P",
		"each.two.a": "P", "each.two.b": "-", "each.one.a": "P", "each.one.b": "P", "each.one.c": "-", "none": "-", "leaf": "P", "each.two": "",
	} {
		n, ok := r.At(strings.Split(path, ".")...)
		got := "-"
		if ok {
			got = strings.TrimPrefix(flat(&Read{Mode: n.Mode}, "x")[0], "x ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if _, ok := (*Read)(nil).At("a"); ok {
		t.Error("nothing reads a")
	}
}

func TestDumped(t *testing.T) {
	r := Reads(chartOf("app", map[string]string{"templates/a.yaml": `{{ toYaml .Values | sha256sum }}{{ .Values.a }}`}))
	if _, ok := r.At("b"); ok || r.Mode != Dumped {
		t.Errorf("mode %b, b is read: %t", r.Mode, ok)
	}
}

func TestGivesUp(t *testing.T) {
	deep := strings.Repeat("{{ if .Values.x }}", 3000) + strings.Repeat("{{ end }}", 3000)
	for name, template := range map[string]string{"deep": deep, "broken": "{{ if }}"} {
		t.Run(name, func(t *testing.T) {
			r := Reads(chartOf("app", map[string]string{"templates/a.yaml": template}))
			if _, ok := r.At("any", "thing"); !ok || r.GaveUp == "" || r.Mode&Printed == 0 {
				t.Errorf("gave up: %q, mode %b", r.GaveUp, r.Mode)
			}
		})
	}
}

func TestGivesUpInTime(t *testing.T) {
	r := newInterpreter()
	r.addChart(chartOf("app", map[string]string{"templates/a.yaml": strings.Repeat("{{ .Values.a }}", 100)}))
	r.steps = maxSteps - 50
	r.run()
	if n := r.tree(); n.GaveUp == "" || n.Mode&Printed == 0 {
		t.Errorf("mode %b, gave up: %q", n.Mode, n.GaveUp)
	}
}

// TestBounded has charts whose reads multiply. The analysis must terminate, and
// no read value may count as unread.
func TestBounded(t *testing.T) {
	for name, template := range map[string]string{
		"walk":    `{{ define "w" }}{{ range $k, $v := . }}{{ include "w" $v }}{{ end }}{{ . }}{{ end }}{{ include "w" .Values }}`,
		"nest":    `{{ $d := dict }}{{ range .Values.l }}{{ $d = dict "d" $d "v" . }}{{ end }}{{ toYaml $d }}`,
		"itself":  `{{ $d := dict "v" .Values.a }}{{ $_ := set $d "self" $d }}{{ $d.self.self.v.b }}{{ toYaml $d }}`,
		"values":  `{{ $_ := set .Values "x" .Values }}{{ $_ := merge .Values .Values.a .Values.x }}{{ .Values.x.a.x.x.a.b }}`,
		"append":  `{{ $l := list }}{{ range .Values.l }}{{ $l = append $l (list $l .) }}{{ end }}{{ toYaml $l }}`,
		"names":   `{{ $n := "a" }}{{ range .Values.l }}{{ $n = printf "%s.%s" $n . }}{{ end }}{{ index .Values $n }}`,
		"forever": `{{ define "f" }}{{ include "f" (dict "x" .) }}{{ .Values.a }}{{ end }}{{ include "f" . }}`,
		"two":     `{{ define "f" }}{{ include "g" (dict "x" .x.a "y" (list .)) }}{{ end }}{{ define "g" }}{{ include "f" (dict "x" .x.b "y" .) }}{{ .x.c }}{{ end }}{{ include "f" (dict "x" .Values) }}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := Reads(chartOf("app", map[string]string{"templates/a.yaml": template}))
			if r.GaveUp != "" {
				t.Errorf("gave up: %s", r.GaveUp)
			}
			if len(flat(r, "")) == 0 {
				t.Error("reads nothing")
			}
			if got := flat(r, ""); len(got) > 20000 {
				t.Errorf("%d paths", len(got))
			}
		})
	}
}

// TestRepeatedUnion has a template that passes a union to a function many times. The memory
// depends on the distinct members of the result, not on the number of arguments.
func TestRepeatedUnion(t *testing.T) {
	var names strings.Builder
	for i := range 512 {
		fmt.Fprintf(&names, " .Values.a%d", i)
	}
	template := "{{ $b := or" + names.String() + " }}{{ or" + strings.Repeat(" $b", 20_000) + " }}"
	c := chartOf("app", map[string]string{"templates/a.yaml": template})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := Reads(c)
	runtime.ReadMemStats(&after)
	if r.GaveUp != "" || r.Keys["a511"] == nil {
		t.Errorf("gave up: %q", r.GaveUp)
	}
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 64 {
		t.Errorf("%d MiB", n)
	}
}

// TestMultiplies has charts that only the limit on steps stops.
func TestMultiplies(t *testing.T) {
	var calls, vars, loops strings.Builder
	for i := range 40 {
		fmt.Fprintf(&calls, `{{ define "t%d" }}{{ include "t%d" (dict "x" .) }}{{ include "t%d" (dict "y" .) }}{{ end }}`, i, i+1, i+1)
		fmt.Fprintf(&loops, `{{ range $k%d, $v%d := .Values.a%d }}{{ $x = list $x $v%d }}{{ $_ := set $.Values $x $v%d }}{{ $_ := merge $.Values.m $v%d }}`, i, i, i, i, i, i)
	}
	for i := range 3000 {
		fmt.Fprintf(&vars, `{{ $x%d := dict "a" .Values.a%d }}{{ $_ := merge $x%d $.Values.y }}{{ $_ := set .Values.z "k%d" $x%d }}`, i, i, i, i, i)
	}
	for name, template := range map[string]string{
		"calls": calls.String() + `{{ define "t40" }}{{ .Values.a }}{{ end }}{{ include "t0" . }}`,
		"vars":  vars.String() + `{{ range .Values.z }}{{ range .a }}{{ .b }}{{ toYaml $ }}{{ end }}{{ end }}`,
		"loops": `{{ $x := list }}` + loops.String() + strings.Repeat("{{ end }}", 40),
		"tpl":   `{{ range .Values.l }}{{ tpl (printf "%s{{ tpl %q . }}" . "{{ .Values.x }}") (dict "Values" . "x" $) }}{{ end }}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := Reads(chartOf("app", map[string]string{"templates/a.yaml": template}))
			if n, ok := r.At("z", "k1", "a", "b"); !ok && name == "vars" {
				t.Errorf("not read: %+v", n)
			}
			t.Log(r.GaveUp)
		})
	}
}

func FuzzReads(f *testing.F) {
	for _, pattern := range []string{"*/templates/*.yaml", "*/templates/*.tpl", "monitoring/charts/*/templates/*"} {
		files, err := filepath.Glob(filepath.Join("../../../testdata/charts", pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			dir := filepath.Dir(filepath.Dir(file))
			c, err := loader.LoadDir(dir)
			if err != nil {
				continue
			}
			for _, template := range c.Templates {
				if strings.HasSuffix(file, template.Name) {
					f.Add(string(template.Data))
				}
			}
		}
	}
	f.Add(`{{ define "w" }}{{ range $k, $v := . }}{{ include "w" $v }}{{ end }}{{ end }}{{ include "w" .Values }}`)
	f.Fuzz(func(t *testing.T, data string) {
		c := chartOf("app", map[string]string{"templates/a.yaml": data, "f.conf": data})
		c.Values = map[string]any{"a": data, "b": map[string]any{"c": "{{ .Values.d }}"}}
		c.Metadata.Dependencies = []*chart.Dependency{{Name: "sub", Version: "*"}}
		c.AddDependency(chartOf("sub", map[string]string{"templates/b.yaml": data}))
		first, again := flat(Reads(c), "."), flat(Reads(c), ".")
		if !slices.Equal(first, again) {
			t.Errorf("not the same twice:\n%v\n%v", first, again)
		}
	})
}

func BenchmarkReads(b *testing.B) {
	for _, s := range specimens(b) {
		b.Run(s.name, func(b *testing.B) {
			c := s.load(b)
			for b.Loop() {
				Reads(c)
			}
		})
	}
}
