package validate

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxData is the maximum size of the data of a Secret or ConfigMap.
const maxData = 1 << 20

// data checks the keys and the size of a Secret or ConfigMap.
func (w *walk) data(definition string, m map[string]any) {
	size := 0
	for _, part := range []string{"data", "binaryData", "stringData"} {
		for k, v := range w.each(mapOf(m[part])) {
			if len(validation.IsConfigMapKey(k)) > 0 {
				w.add("", "is not a valid key: it must be "+keyName, part, inKey(k))
			}
			text, _ := v.(string)
			encoded := part == "binaryData" || part == "data" && definition == secret
			if _, over := mapOf(m["stringData"])[k]; over && part == "data" {
				continue // overridden by stringData
			}
			size += sizeOf(text, encoded)
		}
	}
	for k := range w.each(mapOf(m["binaryData"])) {
		if _, twice := mapOf(m["data"])[k]; twice {
			w.add("leave one of them out", "is also in data", "binaryData", inKey(k))
		}
	}
	if size > maxData {
		w.add("split it", "is larger than 1 MiB in total", "data")
	}
	if definition != secret {
		return
	}
	kind, _ := m["type"].(string)
	for _, key := range secretKeys[kind] {
		_, inData := mapOf(m["data"])[key]
		_, inText := mapOf(m["stringData"])[key]
		if !inData && !inText {
			w.add("set it, or use another type", "is missing, which a Secret of type "+kind+" must have", "data", inKey(key))
		}
	}
}

// sizeOf returns the decoded size of a text.
func sizeOf(text string, encoded bool) int {
	if !encoded {
		return len(text)
	}
	// Base64 may contain line ends.
	return (len(text) - strings.Count(text, "\n") - strings.Count(text, "\r") - strings.Count(text, "=")) * 3 / 4
}

// secretKeys are the required keys by type of Secret.
var secretKeys = map[string][]string{
	"kubernetes.io/tls":              {"tls.crt", "tls.key"},
	"kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/dockercfg":        {".dockercfg"},
	"kubernetes.io/ssh-auth":         {"ssh-privatekey"},
}
