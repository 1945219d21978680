package render

import "testing"

// TestHarmlessNow checks that a chart which only reads the clock to check a
// duration does not count as using the clock, and any other does. Both print
// the same as with Helm.
func TestHarmlessNow(t *testing.T) {
	for _, test := range []struct {
		template string
		timed    bool
	}{
		// The result is not read.
		{`{{ $_ := now | mustDateModify "1h" }}`, false},
		{`{{ $_ := now | mustDateModify "nonsense" }}`, false},
		{`{{ $_ := now | dateModify .Values.d }}`, false},
		{`{{ $_ := now | date_modify (.Values.d | toString) }}`, false},
		{`{{ $_ := mustDateModify "-1h" now }}`, false},
		{`{{ $_ := mustDateModify "nonsense" now }}`, false},
		{`{{ $d := "" }}{{ $_ := mustDateModify $d now }}`, false},
		{`{{ $_ := now }}`, false},
		{`{{ $_ := now | must_date_modify "1h" }}{{ $_ := set .Values "x" 1 }}`, false},
		{`{{ if .Values.d }}{{ $_ := now | mustDateModify .Values.d }}{{ end }}`, false},
		{`{{ range list "1h" "2h" }}{{ $_ := now | mustDateModify . }}{{ end }}`, false},
		{`{{ define "d" }}{{ $_ := now | mustDateModify . }}{{ . }}{{ end }}{{ include "d" "1h" }}{{ $_ := 1 }}{{ $_ }}`, false},
		{`{{ tpl "{{ $_ := now | mustDateModify \"1h\" }}" . }}`, false},
		{`{{ $x := now | mustDateModify "1h" }}{{ $x | date "2006" }}`, true},
		{`{{ $x := now | mustDateModify "1h" }}{{ ne $x ($x | dateModify "1h") }}`, true},
		{`{{ $x := now | mustDateModify "1h" }}{{ if $x }}{{ end }}`, true},
		{`{{ $x := now | mustDateModify "1h" }}{{ $x.Year }}`, true},
		{`{{ $x := now | mustDateModify "1h" }}{{ ($x).Year }}`, true},
		{`{{ $x := now | mustDateModify "1h" }}{{ with $x }}{{ .Year }}{{ end }}`, true},
		{`{{ $x := now | mustDateModify "1h" | date "2006" }}`, true},
		{`{{ $_ := now | date "2006" }}`, true},
		{`{{ $_ := now | mustDateModify (now | date "2006") }}`, true},
		{`{{ $_ := now.Year }}`, true},
		{`{{ $x := 1 }}{{ $x = now | mustDateModify "1h" }}`, true},
		{`{{ now | mustDateModify "1h" | kindOf }}`, true},
		{`{{ now | kindOf }}`, true},

		// The variable is compared with itself.
		{`{{ $now := now }}{{ if ne $now ($now | dateModify "1h") }}moved{{ end }}`, false},
		{`{{ $now := now }}{{ if ne $now ($now | dateModify "0s") }}moved{{ end }}`, false},
		{`{{ $now := now }}{{ if ne $now ($now | dateModify "nonsense") }}moved{{ end }}`, false},
		{`{{ $now := now }}{{ if eq ($now | mustDateModify "nonsense") $now }}moved{{ end }}`, false},
		{`{{ $now := now }}{{ eq (mustDateModify .Values.d $now) $now | quote }}`, false},
		{`{{ $now := now }}{{ if and .Values.d (ne $now ($now | dateModify .Values.d)) }}moved{{ else if eq $now ($now | dateModify "0s") }}same{{ end }}`, false},
		{`{{ $now := now }}{{ if ne $now ($now | dateModify "1h") }}{{ $now | date "2006" }}{{ end }}`, true},
		{`{{ $now := now }}{{ if ne $now ($now | dateModify "1h") }}{{ template "x" $now }}{{ end }}{{ define "x" }}{{ .Year }}{{ end }}`, true},
		{`{{ $now := now }}{{ $now = toDate "2006" "2020" }}{{ if ne $now ($now | dateModify "1h") }}moved{{ end }}`, true},
		{`{{ $now := now }}{{ $now := $now }}{{ if ne $now ($now | dateModify "1h") }}moved{{ end }}`, true},
		{`{{ $now := now }}{{ $x := toDate "2006" "2020" }}{{ if ne $now ($x | dateModify "1h") }}other{{ end }}`, true},
		{`{{ $now := now }}{{ if ne $now ($now | dateModify "1h" | dateModify "1h") }}moved{{ end }}`, true},
		{`{{ $now := now }}{{ if ne $now ($now | dateModify "1h") (toDate "2006" "2020") }}moved{{ end }}`, true},
		{`{{ $now := now }}{{ if ne ($now | dateModify "1h") (toDate "2006" "2020") }}moved{{ end }}`, true},
		{`{{ $now := now }}{{ if lt $now.Unix ($now | dateModify "1h").Unix }}moved{{ end }}`, true},
		{`{{ $now := now }}{{ if ne $now (now | dateModify "1h") }}moved{{ end }}`, true},
		{`{{ range $now := list now }}{{ ne $now ($now | dateModify "1h") }}{{ end }}`, true},
	} {
		t.Run(test.template, func(t *testing.T) {
			ch := chartOf("\n-- Chart.yaml --\n{apiVersion: v2, name: app, version: 1.0.0}\n-- values.yaml --\nd: 5m\n-- templates/a.yaml --\nx: " + test.template)
			sameEngines(t, cluster, releaseOf(t, ""), ch)
			s := new(Charts).source(ch)
			j := &job{cluster: cluster, release: releaseOf(t, ""), chart: ch, source: s, limits: new(Charts).limits()}
			in, err := j.input()
			if err != nil {
				t.Fatal(err)
			}
			l := newEntropy(clock(s))
			_, _, _, _ = j.documents(t.Context(), in, l, nil) // errors are compared above
			if l.usesClock != test.timed {
				t.Errorf("it asks for the time: %t", l.usesClock)
			}
		})
	}
}
