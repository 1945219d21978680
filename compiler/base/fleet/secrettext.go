package fleet

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secretsOutsideValues returns the fields of a Secret outside of its values
// that contain a copy of a Secret, as kubectl's annotation does, or look like
// a key or token. Field names that look like a secret are not shown.
func secretsOutsideValues(o map[string]any) []string {
	var fields []string
	look := func(part []string, values any) {
		m, _ := values.(map[string]any)
		for key, v := range m {
			text, _ := v.(string)
			switch {
			case looksLikeSecret(key):
				fields = append(fields, "a key of "+FieldText(part))
			case part[0] == "metadata" && !isDigest(key) && (looksLikeSecret(text) || hasSecret(text)):
				fields = append(fields, FieldText(append(part[:len(part):len(part)], key)))
			}
		}
	}
	metadata, _ := o["metadata"].(map[string]any)
	look([]string{"metadata", "annotations"}, metadata["annotations"])
	look([]string{"metadata", "labels"}, metadata["labels"])
	look([]string{"data"}, o["data"])
	look([]string{"stringData"}, o["stringData"])
	if text, _ := o["type"].(string); looksLikeSecret(text) {
		fields = append(fields, "type")
	}
	return fields
}

// minRepeated is the shortest value of a Secret that is looked for in its metadata.
const minRepeated = 5

// repeatedValues returns the labels and annotations of an object that contain a value of a
// Secret as a word.
func repeatedValues(secret, o map[string]any) []string {
	var values []string
	secretFields(secret, func(text string) bool {
		if text = strings.TrimSpace(text); len(text) >= minRepeated && readable(text, false) && !isSetting(text) {
			values = append(values, text)
		}
		return false
	})
	var fields []string
	metadata, _ := o["metadata"].(map[string]any)
	for _, part := range []string{"annotations", "labels"} {
		texts, _ := metadata[part].(map[string]any)
		for key, v := range texts {
			text, _ := v.(string)
			if slices.ContainsFunc(values, func(value string) bool { return hasWord(text, value) }) {
				fields = append(fields, FieldText([]string{"metadata", part, key}))
			}
		}
	}
	return fields
}

// hasWord reports whether a text contains a word, with no letter or digit beside it.
func hasWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || classOf(rune(text[start-1])) == 0) && (end == len(text) || classOf(rune(text[end])) == 0) {
			return true
		}
		from = start + 1
	}
}

// secretName matches keys of values that are secret.
var secretName = regexp.MustCompile(`(?i)(password|passwd|passphrase|token|secret|api[-_.]?key|private[-_.]?key|secret[-_.]?key|access[-_.]?key)$`)

// NamesSecret reports whether a key suggests that its value is a secret.
func NamesSecret(key string) bool { return secretName.MatchString(key) }

// setting matches a switch, a number, a path, or a URL without credentials.
var setting = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|none|null|enabled|disabled|[0-9]+|/.*|[a-z][a-z0-9+.-]*://[^@]*)$`)

// isSetting reports whether a text is not a secret under any key.
func isSetting(text string) bool { return setting.MatchString(strings.TrimSpace(text)) }

// hostName matches the name of a host with a domain, with or without a port.
var hostName = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?$`)

// IsDistinctive reports whether a text that is equal to the value of a secret is a copy of it
// rather than a coincidence: it is long, with letters and with digits or symbols.
// Settings, names of hosts and certificates are not distinctive.
func IsDistinctive(value string) bool {
	const long, pem = 8, "-----BEGIN CERTIFICATE"
	if len(value) < long || isSetting(value) || hostName.MatchString(value) || strings.HasPrefix(value, pem) {
		return false
	}
	var seen [4]bool
	for _, r := range value {
		seen[classOf(r)] = true
	}
	return (seen[1] || seen[2]) && (seen[3] || strings.ContainsAny(value, "!#$%&*+=?^~<>{}[]()|;,"))
}

// isDigest reports whether the name of a label or annotation indicates that
// its value is a digest.
func isDigest(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"checksum", "digest", "hash", "sha256", "sha1"}, func(word string) bool { return strings.Contains(key, word) })
}

// hasSecret reports whether a text is JSON with a copy of a Secret whose values are
// readable, or with a patch of one, which has no kind.
func hasSecret(text string) bool {
	if text = strings.TrimSpace(text); text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	var v any
	return json.Unmarshal([]byte(text), &v) == nil && holdsSecret(v)
}

func holdsSecret(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, holdsSecret)
	case map[string]any:
		copied := v
		if _, hasKind := v["kind"]; !hasKind {
			copied = map[string]any{"apiVersion": "v1", "kind": "Secret", "data": v["data"], "stringData": v["stringData"]}
		}
		if len(Plaintext(&unstructured.Unstructured{Object: copied})) > 0 {
			return true
		}
		items, _ := v["items"].([]any)
		return slices.ContainsFunc(items, holdsSecret)
	}
	return false
}

// secretText matches private keys, JSON web tokens and the tokens of common
// services.
var secretText = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.|\bgh[pousr]_\w{30,}|\bgithub_pat_\w{30,}|` +
	`\bglpat-[\w-]{20,}|\bxox[abprs]-[\w-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bAGE-SECRET-KEY-1[0-9A-Z]{20,}|\bsk_live_\w{16,}|\bhv[sb]\.\w{20,}`)

// looksLikeSecret reports whether a text contains a private key, a token, or a
// long word that looks random.
func looksLikeSecret(text string) bool {
	if secretText.MatchString(text) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return classOf(r) == 0 }), isRandom)
}

// isRandom reports whether a word of letters and digits looks random: it is
// long and changes its character class often.
func isRandom(word string) bool {
	const long, digits = 16, 3
	var seen [4]int
	changes, last := 0, 0
	for _, r := range word {
		class := classOf(r)
		seen[class]++
		if class != last {
			changes++
		}
		last = class
	}
	return len(word) >= long && seen[1] > 0 && seen[2] > 0 && seen[3] >= digits && 3*changes >= len(word)
}

// classOf returns 1 for lower case letters, 2 for upper case letters, 3 for
// digits, 0 for others.
func classOf(r rune) int {
	switch {
	case 'a' <= r && r <= 'z':
		return 1
	case 'A' <= r && r <= 'Z':
		return 2
	case '0' <= r && r <= '9':
		return 3
	}
	return 0
}
