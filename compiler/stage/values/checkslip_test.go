package values

import (
	"strings"
	"testing"
)

func TestSlipped(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want       bool
	}{
		{"reject_old_sampels", "reject_old_samples", true},
		{"aple", "apple", true},
		{"appple", "apple", true},
		{"amdin.enabled", "admin.enabled", true},
		{"kuberneets.io/os", "kubernetes.io/os", true},
		{"helm.hs/hook", "helm.sh/hook", true},
		{"applee", "apple", true},
		{"istributor", "distributor", true},
		{"fullNameOverride", "fullnameOverride", true},
		// Different names, not misspellings.
		{"apple", "apple", false},
		{"apples", "apple", false},
		{"LOG_LEVEL", "log_level", false},
		{"log_level", "LOG_LEVEL", false},
		{"port11", "port1", false},
		{"appl", "apple", false},
		{"ingester-b", "ingester-a", false},
		{"zone12", "zone21", false},
		{"pple", "apple", false},
		{"large", "xlarge", false},
		{"xapple", "apple", false},
		{"apxple", "apple", false},
		{"opple", "apple", false},
		{"worker-1-a", "worker-a", false},
		{"", "apple", false},
		{"apple", "", false},
		{"paple-x", "apple-y", false},
		{"port11", "port1", false},
		{"acd", "abcd", false},
		{"sidecarContaimers", "sidecarContainers", true},
		{"tineout1", "timeout1", true},
		{"tineout", "timeout", false},
		{"pool-a-large", "pool-b-large", false},
		{"sidecarContainerz", "sidecarContainers", false},
		{"ridecarContainers", "sidecarContainers", false},
	} {
		if got := slipped(c.text, c.word); got != c.want {
			t.Errorf("%q for %q: %v", c.text, c.word, got)
		}
	}
}

func TestSlippedAtEnd(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want       bool
	}{
		{"cheme", "scheme", true},
		{"clientI", "clientId", true},
		{"cerl", "cert", true},
		{"ame", "name", true},
		// Different names, not misspellings.
		{"name", "names", false},
		{"names", "name", false},
		{"https", "http", false},
		{"cert", "cert", false},
		{"certs", "certz", false},
		{"ur", "url", false},
		{"port1", "port2", false},
		{"", "scheme", false},
		{"xcheme", "scheme", false},
		{"zone-b", "zone-a", false},
		{"zoneB", "zoneA", false},
		{"DB_USED", "DB_USER", false},
		{"DB_USE", "DB_USER", false},
	} {
		if got := slippedAtEnd(c.text, c.word); got != c.want {
			t.Errorf("%q for %q: %v", c.text, c.word, got)
		}
	}
}

func TestSlippedFields(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want       bool
	}{
		{"prot", "port", true},
		{"ulr", "url", true},
		{"urrl", "url", true},
		{"nme", "name", true},
		{"Port", "port", true},
		{"acxess", "access", true},
		// Different names, not misspellings.
		{"ports", "port", false},
		{"part", "port", false},
		{"post", "port", false},
		{"cp", "cpu", false},
		{"gpu", "cpu", false},
		{"v2", "v1", false},
		{"PROT", "PORT", false},
		{"si", "is", false},
	} {
		if got := slippedField(c.text, c.word); got != c.want {
			t.Errorf("%q for %q: %v", c.text, c.word, got)
		}
	}
}

func TestSlips(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":      "config: {timeout: 1s, server: {port: 1}, tls: x, labels: {a: b}}\nroutes: {main: {a: 1}, canary: {a: 1}}\nsinks: [{name: x, access: y}]\nmixed: {enabled: false, a: 1}\n",
		"templates/x.yaml": "{{ toYaml .Values.config }}{{ range $name, $r := .Values.routes }}{{ $name }}: {{ $r.a }}{{ end }}{{ toYaml .Values.sinks }}{{ if .Values.mixed.enabled }}{{ range $k, $v := .Values.mixed }}{{ $k }}{{ end }}{{ end }}",
	}))
	for text, want := range map[string]string{
		"sinks: [{name: a, acess: b}]":                      "sinks[0].acess: access",
		"sinks: [{name: a, path: b}, text]":                 "",
		"sinks: [{acess: b, access: c}]":                    "",
		"sinks: [{acess: '{{ .Values.sinks }}'}]":           "sinks[0].acess: access",
		"mixed: {emabled: true}":                            "mixed.emabled: enabled",
		"config: {tiemout: '{{ .Values.config }}'}":         "config.tiemout: timeout", // names another value
		"config: {tiemout: 2s}":                             "config.tiemout: timeout",
		"config: {timeot: 2s}":                              "config.timeot: timeout",
		"config: {tiemout: {a: 1}}":                         "", // a map where text is
		"config: {tiemout: 2s, timeout: 1s}":                "", // both
		"config: {tsl: y}":                                  "config.tsl: tls",
		"config: {own: 1, server: {prot: 2}}":               "config.server.prot: port",
		"config: {own: 1, server: {part: 2}}":               "", // another word
		"config: {tiemout: '{{ .Values.config.tiemout }}'}": "", // it says itself that it is read
		"routes: {mian: {a: 1}}":                            "", // too short for a name of the user
		"routes: {canray: {a: 1}}":                          "routes.canray: canary",
	} {
		wanted := ""
		if path, meant, ok := strings.Cut(want, ": "); ok {
			wanted = "values." + path + ": no such value: any key is allowed here, but this is most likely a misspelt " + meant + "\n    hint: did you mean " + meant + "?\n"
		}
		got := faults(typ.Check(tree(t, "v.yaml", text), nil))
		if wanted == "" && got != "" || !strings.HasSuffix(got, wanted) {
			t.Errorf("%s: got\n%s\nwant\n%s", text, got, wanted)
		}
	}
}

// TestSlipsOfDeclaredKeys has maps with keys that templates iterate over. The schema
// names those of tls, and allows any others for names.
func TestSlipsOfDeclaredKeys(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":        "tls: {cert: a, key: b, scheme: c}\nnames: {cert: a, scheme: c}\n",
		"values.schema.json": `{"properties": {"tls": {"properties": {"cert": {"type": "string"}, "key": {"type": "string"}, "scheme": {"type": "string"}}}, "names": {"properties": {"cert": {"type": "string"}}, "additionalProperties": {"type": "string"}}}}`,
		"templates/x.yaml":   "{{ range $k, $v := .Values.tls }}{{ $k }}: {{ $v }}{{ end }}{{ range $k, $v := .Values.names }}{{ $k }}: {{ $v }}{{ end }}",
	}))
	for _, fine := range []string{"tls: {certs: x}", "tls: {ca: x}", "tls: {cerl: x, cert: y}", "names: {cerl: x, ccert: y, cheme: z}"} {
		if got := typ.Check(tree(t, "v.yaml", fine), nil); len(got) > 0 {
			t.Error(fine, faults(got))
		}
	}
	wrongly(t, typ, []string{"tls: {cerl: x} -> did you mean cert?", "tls: {ccert: x} -> did you mean cert?", "tls: {cheme: x} -> did you mean scheme?"})
}

// TestSchemaChoices checks that the hint for a value of the wrong type, and for a missing one,
// has the choices of the chart's schema.
func TestSchemaChoices(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml": "mode: fast\nlevel:\n",
		"values.schema.json": `{"required": ["mode"], "properties": {"mode": {"$ref": "#/definitions/mode"}, "level": {"type": "string", "enum": ["low", "high"]}},
			"definitions": {"mode": {"enum": ["fast", "slow"]}}}`,
		"templates/x.yaml": "a: {{ .Values.mode }} {{ .Values.level }}",
	}))
	wrongly(t, typ, []string{
		`{mode: null, level: low} -> set mode to one of "fast", "slow"`,
		`mode: slow -> use one of "low", "high"`,
	})
}
