package unify

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// yamlWord matches the plain scalars that YAML 1.1, and so Helm and Kubernetes, read as
// bools, and CUE as strings: https://yaml.org/type/bool.html.
var yamlWord = regexp.MustCompile(`^(y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$`)

// checkYAMLWords returns a fault for each value and object of a cluster that an embedded YAML
// file writes as a word that Helm reads as a bool.
func (e *evaluation) checkYAMLWords(c *fleet.Cluster) error {
	var faults diag.List
	for _, r := range c.Releases {
		for i, t := range append([]*fleet.Tree{r.Values}, r.Objects...) {
			above := []string{"values"}
			if i > 0 {
				above = []string{"objects", r.ObjectKey(i - 1)}
			}
			t.EachScalar(func(path []string, scalar *fleet.Tree) {
				text, _ := scalar.Scalar.(string)
				pos := scalar.Pos
				e.embedded.pos(&pos)
				if !yamlWord.MatchString(text) || !e.isPlain(pos, text) {
					return
				}
				value := "false"
				if strings.ContainsAny(text[:1], "yY") || strings.EqualFold(text, "on") {
					value = "true"
				}
				faults.Add(&diag.Diag{
					Code: diag.CodeYAMLWord,
					At:   []diag.Pos{pos}, Path: r.Path(append(above, fleet.FieldText(path))...), Msg: "Helm and Kubernetes read " + text + " as " + value + ", and CUE reads it as a string",
					Hint: "write " + value + `, or "` + text + `" for the string`,
					Fixes: []diag.Fix{
						{Kind: diag.FixSource, Old: text, New: value},
						{Kind: diag.FixSource, Old: text, New: `"` + text + `"`},
					},
				})
			})
		}
	}
	return faults.Err()
}

// isPlain reports whether a YAML file of the fleet has a text without quotes at a position.
func (e *evaluation) isPlain(pos diag.Pos, text string) bool {
	if ext := filepath.Ext(pos.File); ext != ".yaml" && ext != ".yml" || pos.Line == 0 || pos.Col == 0 {
		return false
	}
	tree, err := os.OpenRoot(e.root)
	if err != nil {
		return false
	}
	defer tree.Close()
	data, err := tree.ReadFile(filepath.FromSlash(pos.File))
	lines := strings.Split(string(data), "\n")
	if err != nil || len(lines) < pos.Line || len(lines[pos.Line-1]) < pos.Col {
		return false // the file has changed
	}
	return strings.HasPrefix(lines[pos.Line-1][pos.Col-1:], text)
}
