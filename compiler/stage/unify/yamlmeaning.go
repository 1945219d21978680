package unify

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A yamlFile is an embedded YAML file. CUE reads it as YAML 1.2, and Helm as YAML 1.1.
type yamlFile struct {
	data   []byte
	lines  []string
	leaves map[[2]int]yamlLeaf // by line and column, as CUE counts them: [yamlFile.places]
}

// A yamlLeaf is a scalar, an empty map or an empty list of a YAML file, with the keys above it: nil
// for an element of a list.
type yamlLeaf struct {
	node *yaml.Node
	keys []*yaml.Node
}

// checkYAMLMeanings returns a fault for each value and key of a cluster that Helm reads from
// an embedded YAML file as something else than CUE.
func (e *evaluation) checkYAMLMeanings(c *fleet.Cluster) error {
	var faults diag.List
	files := map[string]*yamlFile{}
	seen := map[string]bool{} // keys with a fault
	for _, r := range c.Releases {
		for i, t := range append([]*fleet.Tree{r.Values}, r.Objects...) {
			above := []string{"values"}
			if i > 0 {
				above = []string{"objects", r.ObjectKey(i - 1)}
			}
			t.EachLeaf(func(at []string, leaf *fleet.Tree) {
				pos := leaf.Pos
				e.embedded.pos(&pos)
				text, isText := leaf.Scalar.(string)
				f := e.yamlFile(files, pos.File, isText && mayDiffer.MatchString(text) || slices.ContainsFunc(at, mayDiffer.MatchString) || slices.Contains(at, "null"))
				s, ok := f.leaves[[2]int{pos.Line, pos.Col}]
				if !ok {
					return
				}
				_, value := helmReading(s.node)
				if text == s.node.Value && value != text {
					faults.Add(f.misread(s.node, pos.File, r.Path(append(above, fleet.FieldText(at))...), "", diag.AsJSON(value), "a string"))
				}
				for n := len(at); n > 0 && n > len(at)-len(s.keys); n-- {
					key, name := s.keys[len(s.keys)-1-len(at)+n], at[n-1]
					if key == nil {
						continue
					}
					read, _ := helmReading(key)
					isNull := name == "null" && key.ShortTag() == "!!null"
					if octal := "0o" + strings.TrimPrefix(key.Value, "0"); !isNull && name != key.Value && name != octal {
						break // the value has moved
					}
					if path := r.Path(append(above, fleet.FieldText(at[:n]))...); (isNull || name != read) && !seen[path] {
						seen[path] = true
						d := f.misread(key, pos.File, path, "the key ", read, strconv.Quote(name))
						if isNull {
							d.Msg, d.Fixes = `Helm and Kubernetes do not accept null as a key, and CUE reads it as "null"`, nil
							d.Hint = `write "null" for the string, or remove the key`
						}
						faults.Add(d)
					}
				}
			})
		}
	}
	return faults.Err()
}

// misread returns the fault of a node that Helm reads as something else than CUE.
func (f *yamlFile) misread(n *yaml.Node, file, path, what, helm, cue string) *diag.Diag {
	text, line := []rune(n.Value), []rune(f.lines[n.Line-1])
	before := string(line[:min(n.Column-1, len(line))])
	d := &diag.Diag{
		Code: diag.CodeYAMLWord, Path: path,
		At:   []diag.Pos{{File: file, Line: n.Line, Col: len(before) + 1}},
		Msg:  fmt.Sprintf("Helm and Kubernetes read %s%s as %s, and CUE reads it as %s", what, string(text), helm, cue),
		Hint: fmt.Sprintf("write %s, or %q for the string", helm, string(text)),
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.Hint = "write " + helm + " without " + n.ShortTag()
		return d
	}
	d.At[0].Col += max(0, strings.Index(f.lines[n.Line-1][len(before):], n.Value)) // behind an anchor
	for _, to := range []string{helm, strconv.Quote(n.Value)} {
		d.Fixes = append(d.Fixes, diag.Fix{Kind: diag.FixSource, Old: n.Value, New: to})
	}
	return d
}

// mayDiffer matches the scalars without quotes that YAML 1.1 can read as something else than
// a string or a decimal integer: https://yaml.org/type.
var mayDiffer = regexp.MustCompile(`^(?:[-+]?(?:0[-+.:_0-9a-fA-FxXoO]+|[1-9][0-9]*[-+.:_eE][-+.:_0-9eE]*|\.[0-9][-+_0-9eE]*)|[-+][0-9]+|(?i:y|yes|n|no|on|off))$`)

// helmReading returns what Helm reads for a scalar, as a key and as a value.
func helmReading(n *yaml.Node) (key string, value any) {
	text := n.Value
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		text = n.ShortTag() + " " + strconv.Quote(text)
	case n.Style != 0 || !mayDiffer.MatchString(text):
		return text, text
	}
	var read map[string]any
	if sigsyaml.Unmarshal([]byte("? "+text+"\n: "+text+"\n"), &read) == nil {
		for k, v := range read {
			return k, v
		}
	}
	return n.Value, n.Value
}

// yamlFile returns the YAML file of the fleet with the name, from a cache. It is empty for
// other files, and for one that cannot be read. Parsing is slow: it is also empty for a file
// without tags in which no value or key was found so far that may differ.
func (e *evaluation) yamlFile(files map[string]*yamlFile, name string, differs bool) *yamlFile {
	if path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
		return &yamlFile{}
	}
	f, ok := files[name]
	if !ok {
		f = &yamlFile{}
		if tree, err := os.OpenRoot(e.root); err == nil {
			data, _ := tree.ReadFile(filepath.FromSlash(name))
			f.data = diag.Decoded(data)
			_ = tree.Close()
		}
		files[name], differs = f, differs || bytes.Contains(f.data, []byte("!"))
	}
	if differs && f.leaves == nil {
		f.leaves = map[[2]int]yamlLeaf{}
		var n yaml.Node
		if yaml.Unmarshal(f.data, &n) == nil {
			f.lines = strings.Split(string(f.data), "\n")
			f.add(&n, nil)
		}
	}
	return f
}

// add adds the leaves of a node with the keys above it.
func (f *yamlFile) add(n *yaml.Node, keys []*yaml.Node) {
	if len(n.Content) == 0 && n.Kind != yaml.AliasNode {
		for _, place := range f.places(n, keys) {
			f.leaves[place] = yamlLeaf{n, keys}
		}
	}
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.DocumentNode:
			f.add(c, keys)
		case n.Kind == yaml.SequenceNode:
			f.add(c, append(slices.Clip(keys), nil))
		case i%2 == 1 && n.Content[i-1].Value == "<<":
			f.add(c, keys)
		case i%2 == 1:
			f.add(c, append(slices.Clip(keys), n.Content[i-1]))
		}
	}
}

// places returns the lines and columns at which CUE may see a leaf: an empty map also at its key,
// and an empty list with an anchor at the next bracket, even in a comment.
func (f *yamlFile) places(n *yaml.Node, keys []*yaml.Node) [][2]int {
	out := [][2]int{{n.Line, n.Column}}
	if key := len(keys) - 1; n.Kind == yaml.MappingNode && key >= 0 && keys[key] != nil {
		out = append(out, [2]int{keys[key].Line, keys[key].Column})
	}
	if n.Kind != yaml.SequenceNode || n.Anchor == "" {
		return out
	}
	from := n.Column - 1
	for i, line := range f.lines[n.Line-1:] {
		text := []rune(line)
		from = min(from, len(text))
		if before, _, found := strings.Cut(string(text[from:]), "["); found {
			return append(out, [2]int{n.Line + i, from + len([]rune(before)) + 1})
		}
		from = 0
	}
	return out
}
