package importer

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// textSetting matches a value of --state-values-set-string, which may have quotes.
var textSetting = regexp.MustCompile(`(?:,|^)([^\s=]+)=(['"][^'"]*['"]|[^,]+)`)

// ParseHelmfileSet returns the values of the flags --state-values-set and --state-values-set-string
// of helmfile, such as a.b=1,c=2.
func ParseHelmfileSet(settings, texts []string) (map[string]any, error) {
	out := map[string]any{}
	add := func(flag, setting, key, value string, literal bool) error {
		err := setValue(out, key, value, literal)
		if err == nil && key != "" && !strings.ContainsAny(key, "[]") {
			return nil
		}
		return &diag.Diag{
			Code: diag.CodeFlagValue,
			Msg:  fmt.Sprintf("%s does not accept %q", flag, diag.Visible(setting, diag.MaxText)),
			Hint: "write NAME=VALUE, as in image.tag=v2; write lists into a file, and name it with --state-values-file", Cause: err,
		}
	}
	for _, setting := range texts {
		found := textSetting.FindAllStringSubmatch(setting, -1)
		if len(found) == 0 {
			found = [][]string{{"", "", ""}}
		}
		for _, m := range found {
			if err := add("--state-values-set-string", setting, m[1], m[2], true); err != nil {
				return nil, err
			}
		}
	}
	for _, setting := range settings {
		for part := range strings.SplitSeq(setting, ",") {
			key, value, ok := strings.Cut(part, "=")
			if !ok {
				key = ""
			}
			if err := add("--state-values-set", setting, key, value, false); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// valueFiles returns the files with values of the command line.
func (r *helmfileReader) valueFiles() ([]item, error) {
	var out []item
	for _, name := range r.opts.ValueFiles {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		file, err := r.place("", abs)
		if err != nil || !r.isFile(file) {
			return nil, &diag.Diag{
				Code:  diag.CodeImportFile,
				Msg:   diag.Visible(name, diag.MaxText) + " is not a file of the repository",
				Hint:  "name a file in the git repository of the helmfile",
				Cause: err,
			}
		}
		out = append(out, item{value: file})
	}
	return out, nil
}
