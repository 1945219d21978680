package importer

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This file reads helmfiles of version 0, which executes the templates of all helmfiles.
// They see the values of the environment in the same part.

// isOldFile reports whether a helmfile without the extension .gotmpl is for version 0: it
// is not YAML before its templates are executed, or has templates where version 1 does not
// execute them.
func isOldFile(text string) bool {
	if !strings.Contains(text, "{{") {
		return false
	}
	if strings.Contains(text, "{{`") {
		return true
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var content map[string]any
		if err := decoder.Decode(&content); err != nil {
			return err.Error() != "EOF"
		}
		for key, v := range content {
			if !slices.Contains([]string{"releases", "templates", "hooks"}, key) && hasTemplate(v) {
				return true
			}
		}
	}
}

// hasTemplate reports whether a text in a value has a template.
func hasTemplate(v any) bool {
	text, err := yaml.Marshal(v)
	return err == nil && strings.Contains(string(text), "{{")
}

// firstPass returns the environment that the templates of a part see: with the values that
// the part itself adds, as far as it can be evaluated without them.
func (e *environmentRun) firstPass(t templateText, env environment, takesBases bool) environment {
	out, _ := e.run(t, e.fileData(env, env.merged()), true) // the second pass reports errors
	text := strings.ReplaceAll(out.text, "<no value>", "")
	s, content, err := e.parse(t.file, []byte(text), out.lines)
	if err != nil {
		return env
	}
	st, err := e.newState(t.dir, s, content)
	if err != nil {
		return env
	}
	if takesBases {
		if st, err = e.overBases(t.dir, st, env); err != nil {
			return env
		}
	}
	more, err := e.loadEnvironment(st, env)
	if err != nil {
		return env
	}
	return more
}
