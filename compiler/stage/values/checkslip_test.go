package values

import "testing"

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
		{"xapple", "apple", false},
		{"apxple", "apple", false},
		{"opple", "apple", false},
		{"worker-1-a", "worker-a", false},
		{"", "apple", false},
		{"apple", "", false},
		{"paple-x", "apple-y", false},
		{"port11", "port1", false},
		{"acd", "abcd", true},
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

func TestSlips(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":      "config: {timeout: 1s, server: {port: 1}, tls: x, labels: {a: b}}\n",
		"templates/x.yaml": "{{ toYaml .Values.config }}",
	}))
	const msg = "v.yaml:1:10: values.config.%: no such value: any key can stand here, but this is most likely timeout misspelt\n    hint: did you mean timeout?\n"
	for text, want := range map[string]string{
		"config: {tiemout: 2s}":                             "tiemout",
		"config: {timeot: 2s}":                              "timeot",
		"config: {tiemout: {a: 1}}":                         "", // a map where text is
		"config: {tiemout: 2s, timeout: 1s}":                "", // both
		"config: {tsl: y}":                                  "", // too short
		"config: {own: 1, server: {prot: 2}}":               "",
		"config: {tiemout: '{{ .Values.config.tiemout }}'}": "", // it says itself that it is read
	} {
		wanted := ""
		if want != "" {
			wanted = msg[:len("v.yaml:1:10: values.config.")] + want + msg[len("v.yaml:1:10: values.config.%"):]
		}
		if got := faults(typ.Check(tree(t, "v.yaml", text), nil, nil)); got != wanted {
			t.Errorf("%s: got\n%s\nwant\n%s", text, got, wanted)
		}
	}
}
