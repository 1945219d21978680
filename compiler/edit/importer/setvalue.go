package importer

import (
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// This file sets single values, as Helm does.

// setValue sets the value at a path of keys and list indices in place, as helm --set does,
// or as helm --set-string does if literal is true. A value that is not literal must not
// contain special characters of --set.
func setValue(values map[string]any, path, value string, literal bool) error {
	text := escaped.Replace(value)
	if text != value && !literal {
		return errors.New("the value has characters that are special to helm --set")
	}
	return set(values, path, text, literal)
}

// setList sets the list of texts at a path of keys and list indices in place, as helm --set
// NAME={A,B} does, or helm --set-string if it is literal.
func setList(values map[string]any, path string, texts []string, literal bool) error {
	list := diag.Each(texts, escaped.Replace)
	return set(values, path, "{"+strings.Join(list, ",")+"}", literal)
}

// escaped escapes the characters that have a meaning for helm --set.
var escaped = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `{`, `\{`, `}`, `\}`, `[`, `\[`, `]`, `\]`)

// set sets a value with the parser of helm --set, or of --set-string if it is literal.
func set(values map[string]any, path, value string, literal bool) error {
	if path == "" {
		return errors.New("the path is empty")
	}
	if strings.ContainsAny(path, ",={}") {
		return fmt.Errorf("the path %s has a character that is special to helm --set", path)
	}
	parse := strvals.ParseInto
	if literal {
		parse = strvals.ParseIntoString
	}
	if err := parse(path+"="+value, values); err != nil {
		return fmt.Errorf("the path %s cannot be set", path)
	}
	return nil
}
