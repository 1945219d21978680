package importer

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Parameters are maps as in decoded JSON, but for labels, annotations and values of
// generators. These are maps of texts, as in Argo CD: a missing key of one is an empty text
// for templates. Functions of this file do not change their arguments.

// combined returns the parameters a with those of b, which override them.
func combined(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for key, v := range b {
		before, isTexts := out[key].(map[string]string)
		after, areTexts := v.(map[string]string)
		below, above := anyMap(out[key]), anyMap(v)
		switch {
		case isTexts && areTexts:
			both := maps.Clone(before)
			maps.Copy(both, after)
			out[key] = both
		case below != nil && above != nil:
			out[key] = combined(below, above)
		default:
			out[key] = v
		}
	}
	return out
}

// anyMap returns a map of texts or of any values as one of any values; nil for other values.
func anyMap(v any) map[string]any {
	texts, ok := v.(map[string]string)
	if !ok {
		m, _ := v.(map[string]any)
		return m
	}
	out := map[string]any{}
	for key, text := range texts {
		out[key] = text
	}
	return out
}

// flat returns the parameters by their paths, as texts: path.basename, path[0]. The
// parameter path is the path of the directory.
func flat(params map[string]any) map[string]string {
	out := map[string]string{}
	flatten(out, "", params)
	return out
}

func flatten(out map[string]string, prefix string, v any) {
	if m := anyMap(v); m != nil {
		for key, below := range m {
			flatten(out, strings.TrimPrefix(prefix+"."+key, "."), below)
		}
		segments := listAt(m, "segments")
		if segments != nil && prefix[strings.LastIndex(prefix, ".")+1:] == "path" {
			out[prefix] = textAt(m, "path")
			for i, segment := range segments {
				out[fmt.Sprintf("%s[%d]", prefix, i)] = fmt.Sprint(segment)
			}
		}
		return
	}
	if list, ok := v.([]any); ok {
		for i, below := range list {
			flatten(out, fmt.Sprintf("%s.%d", prefix, i), below)
		}
		return
	}
	out[prefix] = fmt.Sprint(v)
}

// selects reports whether a label selector matches labels.
func selects(selector map[string]any, labels map[string]string) bool {
	for key, want := range mapAt(selector, "matchLabels") {
		if of, ok := labels[key]; !ok || of != fmt.Sprint(want) {
			return false
		}
	}
	for _, e := range listAt(selector, "matchExpressions") {
		of, ok := labels[textAt(e, "key")]
		isIn := ok && slices.ContainsFunc(listAt(e, "values"), func(v any) bool { return fmt.Sprint(v) == of })
		matches := ok
		switch textAt(e, "operator") {
		case "In":
			matches = isIn
		case "NotIn":
			matches = !isIn
		case "DoesNotExist":
			matches = !ok
		}
		if !matches {
			return false
		}
	}
	return true
}

// normalized returns a text as a name that Kubernetes takes.
func normalized(text string) string {
	return strings.Trim(replaceOthers(strings.ToLower(text), "-.", '-'), "-.")
}

// notSlug matches characters that a slug does not have, and dashes between words.
var notSlug = regexp.MustCompile(`[^a-z0-9_]+`)

// slugified returns a text as a slug. The arguments are the maximum length, whether to cut
// after a word, and the text, which is the last one.
func slugified(args ...any) (string, error) {
	most, atWord := 50, true
	name, ok := "", false
	if len(args) > 0 {
		name, ok = args[len(args)-1].(string)
	}
	if len(args) > 1 {
		most, _ = args[0].(int)
	}
	if len(args) > 2 {
		atWord, _ = args[1].(bool)
	}
	if !ok || most <= 0 {
		return "", errors.New("slugify takes a length and a text")
	}
	slug := strings.Trim(notSlug.ReplaceAllString(normalized(name), "-"), "-_")
	if len(slug) <= most {
		return slug, nil
	}
	if i := strings.LastIndex(slug[:most+1], "-"); i >= 0 && atWord {
		return slug[:i], nil
	}
	return slug[:most], nil
}
