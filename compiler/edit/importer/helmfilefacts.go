package importer

import (
	"strings"
	"unicode"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// minFact is the length of the shortest value that is a fact of the cluster.
const minFact = 4

// facts makes the texts in the values of the environment facts of the cluster, to which
// strings of releases may refer. The name of a fact is the path of the value.
func (e *environmentRun) facts() {
	texts := map[string]string{}
	for _, d := range e.found {
		addTexts(texts, d.state.env.merged(), "")
	}
	seen := map[string]bool{} // names without case and separators
	for _, path := range sortedKeys(texts) {
		key := strings.ToLower(strings.ReplaceAll(path, "_", ""))
		if key == "" || seen[key] || unicode.IsDigit(rune(path[0])) {
			continue
		}
		seen[key] = true
		e.cluster.Facts[path] = texts[path]
	}
}

// addTexts adds the short texts in a value by their paths, with underscores between keys.
func addTexts(texts map[string]string, v any, path string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			addTexts(texts, v[key], strings.Trim(path+"_"+replaceOthers(key, "", '_'), "_"))
		}
	case string:
		if len(v) >= minFact && !strings.ContainsAny(v, "\n{") && !fleet.MayRefer(v) && !valsReference.MatchString(v) {
			texts[path] = v
		}
	}
}
