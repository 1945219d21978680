package values

import (
	"slices"
	"testing"
)

// TestInferredByName has values whose kind follows from the name, but not from
// the template alone.
func TestInferredByName(t *testing.T) {
	for _, c := range []inference{
		{
			"a switch that is printed", "metrics: {enabled: false}\n", "args: [--metrics={{ .Values.metrics.enabled }}]",
			[]string{`metrics: {enabled: "true"}`, `metrics: {enabled: "false"}`, "metrics: {enabled: true}", `metrics: {enabled: "{{ .Values.x }}"}`},
			[]string{`metrics: {enabled: "yes"} -> write true or false`, "metrics: {enabled: 1} -> the chart expects a bool"},
		},
		{
			"a switch that is printed and tested", "debugEnabled: false\n", "{{ if .Values.debugEnabled }}a: 1{{ end }}\nargs: [--debug={{ .Values.debugEnabled }}]",
			[]string{`debugEnabled: "true"`, "debugEnabled: false"},
			[]string{`debugEnabled: "false" -> write false without quotes`, `debugEnabled: "off" -> write true or false`},
		},
		{
			"true", "checkCert: true\n", `args: [--check={{ .Values.checkCert }}]`,
			[]string{`checkCert: "false"`},
			[]string{`checkCert: "strict" -> the chart expects a bool`},
		},
		{
			"false that stands for nothing", "sampleLimit: false\n", "{{ with .Values.sampleLimit }}args: [--limit={{ . }}]{{ end }}",
			[]string{"sampleLimit: 100", `sampleLimit: "10MB"`, `sampleLimit: "false"`, "sampleLimit: true"},
			nil,
		},
		{
			"a switch that has further words", "tlsEnabled: true\n", `args: [--tls={{ if eq (toString .Values.tlsEnabled) "auto" }}x{{ end }}]{{ if eq .Values.tlsEnabled "auto" }}{{ end }}`,
			[]string{"tlsEnabled: auto"},
			nil,
		},
		{
			"annotations and labels", "podAnnotations: {}\nextraLabels: {}\n", `{{ toYaml .Values.podAnnotations }}{{ toYaml .Values.extraLabels }}`,
			[]string{"podAnnotations: {a: b}", `podAnnotations: "a: b"`, `podAnnotations: ""`},
			[]string{"podAnnotations: [{name: a}] -> prints it where a map is expected", "extraLabels: text -> prints it where a map is expected"},
		},
		{
			"lists", "image: {pullSecrets: []}\nextraArgs: []\n", `{{ range .Values.image.pullSecrets }}- {{ . }}{{ end }}{{ range .Values.extraArgs }}- {{ . }}{{ end }}`,
			[]string{"image: {pullSecrets: [a]}", "extraArgs: [a]"},
			[]string{"image: {pullSecrets: {a: b}} -> expects a list", "extraArgs: {a: b} -> expects a list"},
		},
	} {
		c.test(t)
	}
}

func TestWordsIn(t *testing.T) {
	for key, want := range map[string][]string{
		"enabled": {"enabled"}, "serviceMonitorEnabled": {"service", "monitor", "enabled"}, "enable_compression": {"enable", "compression"},
		"useTLS": {"use", "tls"}, "": nil, "a-b": {"a", "b"}, "-": nil,
	} {
		if got := wordsIn(key); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}
