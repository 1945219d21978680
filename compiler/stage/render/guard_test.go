package render

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// TestBounded renders charts that would never end or use all memory.
func TestBounded(t *testing.T) {
	const (
		endless = "templates need too many steps; a loop may be endless"
		large   = "templates produce a value of more than 64 MiB"
		much    = "templates produce more than 51 MiB of text and lists"
		inside  = "templates write a value that contains itself"
		deep    = "templates include each other endlessly"
	)
	cyclic := `{{ $d := dict }}{{ $_ := set $d "x" $d }}`
	ifs := func(n int, inner string) string {
		return strings.Repeat("{{ if 1 }}", n) + inner + strings.Repeat("{{ end }}", n)
	}
	ranges := func(n int, inner string) string {
		return strings.Repeat("{{ range list 1 }}", n) + inner + strings.Repeat("{{ end }}", n)
	}
	// A value that is small in memory, but 2^40 texts when it is printed.
	laughs := `{{ $l := list "x" }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}`
	for _, test := range []struct{ name, template, want string }{
		{"a long list", `{{ range until 1000000000 }}x{{ end }}`, "1:9: " + large},
		{"a long number", `{{ range 1000000000000 }}{{ end }}`, "1:9: " + endless},
		{"steps that wrap", `{{ untilStep 0 9223372036854775807 9223372036854775806 }}`, "1:3: templates count to 9223372036854775807"},
		{"seq", `{{ seq 1 1 1000000000 }}`, "1:3: " + large},
		{"ranges in ranges", `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`, "1:33: " + endless},
		{"ranges that print", `{{ range until 100000 }}{{ range until 1000 }}0123456789{{ end }}{{ end }}`, "a.yaml: templates render more than 3 MiB"},
		{"a template in itself", `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "1:28: " + deep},
		{"an include in itself", `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, `1:19: template "a" includes itself endlessly`},
		{
			"an include of many", `{{ define "a" }}{{ include .x . }}{{ end }}{{ define "b" }}{{ $x := include "a" (dict "x" "b") }}{{ end }}{{ include "a" (dict "x" "b") }}`,
			`1:68: template "a" includes itself endlessly`,
		},
		{"an include that doubles", `{{ define "a" }}{{ if lt (int .) 60 }}{{ include "a" (add1 .) }}{{ include "a" (add1 .) }}{{ end }}{{ end }}{{ include "a" 0 }}`, endless},
		{"tpl in itself", `{{ $_ := set . "t" "{{ tpl .t . }}" }}{{ tpl .t . }}`, "gotpl:1:3: " + deep},
		{"tpl that defines itself", `{{ tpl "{{ define \"x\" }}{{ template \"x\" }}{{ end }}{{ template \"x\" }}" . }}`, "gotpl:1:28: " + deep},
		{"templates in many blocks", `{{ define "a" }}` + ifs(200, `{{ template "a" }}`) + `{{ end }}{{ template "a" }}`, "1:2028: " + deep},
		{"templates in many ranges", `{{ define "a" }}` + ranges(200, `{{ template "a" }}`) + `{{ end }}{{ template "a" }}`, "1:3628: " + deep},
		{"ranges in many ranges", ranges(5000, "x"), deep},
		{"pipelines in pipelines", `{{ define "a" }}{{ ` + strings.Repeat("(default 1 ", 300) + `(include .x (dict "x" "b"))` + strings.Repeat(")", 300) + ` }}{{ end }}{{ define "b" }}{{ template "a" (dict "x" "b") }}{{ end }}{{ include "b" . }}`, deep},
		{"blocks in blocks", strings.Repeat("{{ if 1 }}", 100_000), "parse error at (app/templates/a.yaml:1): more than 20000 blocks"},
		{"tpl of blocks in blocks", `{{ tpl (repeat 100000 "{{ if 1 }}") . }}`, "more than 20000 blocks"},
		{"a long text", `{{ repeat 1000000000 "x" }}`, "1:3: " + large},
		{"a text that doubles", `{{ $x := "x" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}`, "1:43: " + much},
		{"many long texts", `{{ $d := dict }}{{ range until 1000 }}{{ $_ := set $d (toString .) (repeat 10000000 "x") }}{{ end }}`, "1:68: " + much},
		{"many long texts of files", `{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) ($.Files.Get "big.txt") }}{{ end }}`, "1:70: " + endless},
		{"lines of files", `{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) ($.Files.Lines "big.txt") }}{{ end }}`, "1:70: " + much},
		{"files as maps", `{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) $.Files.AsConfig }}{{ end }}`, "1:70: " + endless},
		{"wide indents", `{{ indent 1000000000 "x" }}`, "1:3: " + large},
		{"wide lines", `{{ nindent 1000 (repeat 100000 "\n") }}`, "1:3: " + large},
		{"replacing by more", `{{ replace "x" (repeat 10000 "y") (repeat 10000 "x") }}`, "1:3: " + large},
		{"joining with more", `{{ join (repeat 10000 "y") (until 10000) }}`, "1:3: " + large},
		{"wide formats", `{{ printf (repeat 1000 "%1000000d") 1 }}`, "1:3: " + large},
		{"formats of an argument", `{{ printf (repeat 100000 "%[1]s") (repeat 10000 "x") }}`, "1:3: " + large},
		{"wrapping", `{{ wrapWith 1 (repeat 10000 "y") (repeat 10000 "x ") }}`, "1:3: " + large},
		{"random text", `{{ randAlphaNum 1000000000 }}`, "1:3: " + large},
		{"random bytes", `{{ randBytes 1000000000 }}`, "1:3: " + large},
		{"keys", `{{ range until 1000 }}{{ $x := genPrivateKey "rsa" }}{{ end }}`, "1:31: " + endless},
		{"passwords", `{{ range until 1000 }}{{ $x := derivePassword 1 "long" "a" "b" "c" }}{{ end }}`, "1:31: " + endless},
		{"splitting", `{{ splitList "" (repeat 10000000 "x") }}`, "1:3: " + much},
		{"lists that grow", `{{ $l := list }}{{ range until 100000 }}{{ $l = append $l . }}{{ end }}`, "1:48: " + much},
		{"comparing all", `{{ uniq (until 100000) }}`, "1:3: " + endless},
		{"a value in itself, printed", cyclic + `{{ $d }}`, "1:44: " + inside},
		{"a value in itself, as text", cyclic + `{{ $d | toString }}`, "1:49: " + inside},
		{"a value in itself, as YAML", cyclic + `{{ toYamlPretty $d }}`, "1:44: " + inside},
		{"a value in itself, as TOML", cyclic + `{{ toToml $d }}`, "1:44: " + inside},
		{"a value in itself, as number", cyclic + `{{ int $d }}`, "1:44: " + inside},
		{"a value in itself, copied", cyclic + `{{ $_ := deepCopy $d }}`, "1:50: " + inside},
		{"a value in itself, merged", cyclic + `{{ $e := dict }}{{ $_ := set $e "x" $e }}{{ $_ := merge $d $e }}`, "1:91: templates merge a value that contains itself"},
		{"a value in itself, compared", cyclic + `{{ eq $d $d }}`, "1:44: " + inside},
		{"a value in itself, compared at last", cyclic + `{{ $d | ne list }}`, "1:49: " + inside},
		{"a value in itself in a list, compared", cyclic + `{{ list $d | eq 1 nil (list $d) }}`, "incompatible types for comparison"},
		{"a value in itself as an index", cyclic + `{{ slice (list $d) $d }}`, "1:44: " + inside},
		{"a value that grows when compared", laughs + `{{ eq $l $l }}`, "1:73: " + large},
		{"a value that grows when printed", laughs + `{{ $l }}`, "1:73: " + large},
		{"a value that grows as JSON", laughs + `{{ toJson $l }}`, "1:73: " + large},
		{"a pattern", `{{ .Files.Glob (repeat 100 "*a") }}`, "1:9: executing \"app/templates/a.yaml\" at <.Files.Glob>: error calling Glob: the pattern has too many wildcards"},
		{"an expression", `{{ regexMatch (repeat 500 "(a|b|ab)*") (repeat 1000000 "ab") }}`, "1:3: " + endless},
		{"replacing expressions", `{{ regexReplaceAll "x" (repeat 100000 "x") (repeat 100000 "y") }}`, "1:3: " + large},
	} {
		t.Run(test.name, func(t *testing.T) {
			ch := chartOf("-- big.txt --\n" + strings.Repeat("0123456789\n", 20_000) + "-- templates/a.yaml --\n" + test.template + "\n")
			fewer := limits{steps: maxSteps / 20, made: maxMade / 20, output: maxOutput / 20}
			if strings.HasSuffix(test.want, endless) { // takes all steps
				fewer.steps, fewer.made = maxSteps/200, maxMade/200
			}
			res, err := (&Charts{testLimits: fewer}).Release(t.Context(), cluster, releaseOf(t, ""), ch, nil)
			var d *diag.Diag
			if !errors.As(err, &d) || !strings.Contains(d.Msg, test.want) || len(d.Msg) > 2000 {
				t.Errorf("%d objects, %v, want %s", len(res.Objects), err, test.want)
			}
		})
	}
}

// TestDefaultLimits checks the default limits.
func TestDefaultLimits(t *testing.T) {
	for template, want := range map[string]string{
		`{{ uniq (until 1000000) }}`:                                          "templates need too many steps; a loop may be endless",
		`{{ range until 20 }}{{ $x := list (repeat 60000000 "x") }}{{ end }}`: "templates produce more than 1024 MiB of text and lists",
		`{{ repeat 60000000 "x" }}{{ repeat 60000000 "x" }}`:                  "templates render more than 64 MiB",
		`{{ repeat 9000000 "x" }}`:                                            "renders a document of more than 8 MiB, in app/templates/a.yaml",
	} {
		_, err := new(Charts).Release(t.Context(), cluster, releaseOf(t, ""), chartOf("-- templates/a.yaml --\n"+template), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", template, err, want)
		}
	}
}

// TestCancelled checks that a rendering ends with its context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	done := make(chan error)
	go func() {
		close(started)
		_, err := new(Charts).Release(ctx, cluster, releaseOf(t, ""), chartOf("-- templates/a.yaml --\n{{ range 100000000000 }}{{ end }}"), nil)
		done <- err
	}()
	<-started
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTooLong checks the message for templates that take too long.
func TestTooLong(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errTooLong)
	ch := chartOf("-- templates/a.yaml --\n{{ range 100000000000 }}{{ end }}")
	s := new(Charts).source(ch)
	all := renderables(instance(s.chart), nil)
	e, err := s.engine(ctx, new(Charts).limits(), newEntropy(clock(s)), all)
	if err == nil {
		_, err = e.render(all, nil, nil)
	}
	if err == nil || err.Error() != "app/templates/a.yaml: templates take too long" {
		t.Error(err)
	}
}

// TestBlocks checks that every block is counted in any notation.
func TestBlocks(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "{{ .x }} if": 0, "{{if 1}}{{end}}": 1, "{{-  range .x}}{{else if 2}}{{else}}{{end}}": 3, "{{\n\twith(1)}}{{end}}": 1,
		"{{define \"x\"}}{{block \"y\" .}}{{end}}{{end}}": 2, "{{/* {{if */}}": 1,
	} {
		if got := blocks(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
