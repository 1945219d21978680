package validate

import (
	"strings"
	"testing"
)

func TestDataSize(t *testing.T) {
	text := strings.Repeat("a", maxData)
	folded := strings.Repeat(strings.Repeat("a", 76)+"\n", maxData/76)
	for name, tt := range map[string]struct {
		definition string
		object     map[string]any
		want       string
	}{
		"all there may be":       {core + "ConfigMap", map[string]any{"data": map[string]any{"a": text}}, ""},
		"one more":               {core + "ConfigMap", map[string]any{"data": map[string]any{"a": text, "b": "c"}}, "x.data is larger than 1 MiB in total;#   hint: split it;"},
		"text of a Secret":       {secret, map[string]any{"stringData": map[string]any{"a": text + "b"}}, "x.data is larger than 1 MiB in total;#   hint: split it;"},
		"data that is replaced":  {secret, map[string]any{"data": map[string]any{"a": text}, "stringData": map[string]any{"a": text}}, ""},
		"base64":                 {secret, map[string]any{"data": map[string]any{"a": text}}, ""},
		"folded base64":          {core + "ConfigMap", map[string]any{"binaryData": map[string]any{"a": folded + folded[:len(folded)/4]}}, ""},
		"base64 of too many":     {secret, map[string]any{"data": map[string]any{"a": text + text}}, "x.data is larger than 1 MiB in total;#   hint: split it;"},
		"data of another type":   {secret, map[string]any{"data": []any{"a"}}, ""},
		"values of another type": {secret, map[string]any{"data": map[string]any{"a": int64(3)}}, ""},
	} {
		got := messages(func(w *walk) { w.data(tt.definition, tt.object) })
		if got = strings.TrimPrefix(got, "# "); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

func TestSecretKeys(t *testing.T) {
	for kind, want := range map[string]string{
		"":                               "",
		"Opaque":                         "",
		"kubernetes.io/tls":              "x.data[\"tls.crt\"] x.data[\"tls.key\"]",
		"kubernetes.io/dockerconfigjson": "x.data[\".dockerconfigjson\"]",
		"kubernetes.io/dockercfg":        "x.data[\".dockercfg\"]",
		"kubernetes.io/ssh-auth":         "x.data.ssh-privatekey",
	} {
		got := messages(func(w *walk) { w.data(secret, map[string]any{"type": kind}) })
		for path := range strings.FieldsSeq(want) {
			if !strings.Contains(got, path+" is missing, which a Secret of type "+kind+" must have") {
				t.Errorf("%s: %s", kind, got)
			}
		}
		if want == "" && got != "" {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
