package load

import (
	"strings"
	"testing"
)

func TestModuleFaults(t *testing.T) {
	const module, language = `module: "example.com/infra"` + "\n", `language: version: "v0.17.0"` + "\n"
	for text, want := range map[string]string{
		module + `language: version: "0.17"`:                       `cue.mod/module.cue:2:20: language version "0.17" in module.cue is not valid semantic version`,
		module + `language: version: "v0.17"`:                      `cue.mod/module.cue:2:20: language version v0.17 is not canonical`,
		module + `language: version: "v99.0.0"`:                    `cue.mod/module.cue:2:20: language version "v99.0.0" declared in module.cue is too new`,
		module + `langage: version: "v0.17.0"`:                     `cue.mod/module.cue: no language version declared in module.cue`,
		module + language + `dep: {}`:                              `cue.mod/module.cue:3:1: dep: field not allowed`,
		module + language + `deps: "example.com/lib@v0": v: "1.2"`: `cue.mod/module.cue:3:7: cannot make version from module "example.com/lib@v0", version "1.2"`,
		module + language + `deps: "example.com/lib": v: "v0.1.2"`: `cue.mod/module.cue:3:7: no major version in "example.com/lib"`,
		language + `module: "example.com/infra@v1.2"`:              `cue.mod/module.cue:2:9: module path example.com/infra@v1.2 should contain the major version only`,
		language + `module: "Example com"`:                         `cue.mod/module.cue:2:9: module path "Example com" is not valid`,
		language + `module: "example.com/infra`:                    `cue.mod/module.cue:2:9: string literal not terminated`,
	} {
		_, err := modulePath([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}
