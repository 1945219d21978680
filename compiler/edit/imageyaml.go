package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// readEdited returns the text of a file of the fleet with the edits.
func readEdited(root, file string, edits load.Edits) ([]byte, error) {
	if text, ok := edits[file]; ok {
		return text, nil
	}
	return ReadFile(root, file)
}

// scalars calls f for each scalar of the documents in a YAML file.
func scalars(text []byte, f func(n *yaml.Node)) error {
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			f(n)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	for doc, err := range fleet.YAMLDocuments(text) {
		if err != nil {
			return err
		}
		walk(doc)
	}
	return nil
}

// spliceScalar returns the text with a part of a scalar replaced; false if the scalar is
// not written in one line as it is.
func spliceScalar(text []byte, n *yaml.Node, before, after string) ([]byte, bool) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if n.Line < 1 || n.Line > len(lines) || strings.Count(n.Value, before) != 1 {
		return nil, false
	}
	start := 0
	for _, line := range lines[:n.Line-1] {
		start += len(line)
	}
	line := lines[n.Line-1]
	column := len(string([]rune(string(line))[:min(n.Column-1, len([]rune(string(line))))])) // yaml counts characters
	rest := line[column:]
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		rest = rest[min(1, len(rest)):]
		column++
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || n.Anchor != "" || !bytes.HasPrefix(rest, []byte(n.Value)) {
		return nil, false
	}
	next := strings.Replace(n.Value, before, after, 1)
	if n.Style == 0 && !isPlainText(next) {
		next = strconv.Quote(next) // tags have no characters that YAML escapes in another way
	}
	at := start + column
	return slices.Concat(text[:at], []byte(next), text[at+len(n.Value):]), true
}

// isPlainText reports whether YAML reads the text without quotes as this text, and not as a
// number or another value.
func isPlainText(text string) bool {
	var n yaml.Node
	err := yaml.Unmarshal([]byte(text), &n)
	return err == nil && len(n.Content) == 1 && n.Content[0].ShortTag() == "!!str" && n.Content[0].Value == text
}

// editYAML replaces a text in the scalar at a position of a YAML file.
func editYAML(root string, o operation, edits load.Edits) error {
	text, err := readEdited(root, o.at.File, edits)
	if err != nil {
		return err
	}
	var found []*yaml.Node
	err = scalars(text, func(n *yaml.Node) {
		if n.Line == o.at.Line && (o.at.Col == 0 || n.Column == o.at.Col) && strings.Contains(n.Value, o.before) {
			found = append(found, n)
		}
	})
	if err == nil && len(found) == 1 {
		if next, ok := spliceScalar(text, found[0], o.before, o.after); ok {
			edits[o.at.File] = next
			return nil
		}
	}
	return &diag.Diag{
		Code: diag.CodeCannotEdit, At: []diag.Pos{o.at},
		Msg:   fmt.Sprintf("the value %s is not written here as one plain or quoted string", diag.Visible(o.before, diag.MaxText)),
		Hint:  "change the image by hand",
		Cause: err,
	}
}

// kustomizationNames are the names of the file of a kustomization.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// editKustomization sets the tag of an image of a kustomization: newTag or digest of its
// entry in images, or else the image in a file of its resources.
func editKustomization(root string, o operation, edits load.Edits) (LineEdit, error) {
	before, after := fleet.ParseImage(o.before), fleet.ParseImage(o.after)
	seen := map[string]bool{}
	var visit func(dir string, depth int) (LineEdit, bool)
	visit = func(dir string, depth int) (LineEdit, bool) {
		const deepest = 16
		if seen[dir] || depth > deepest {
			return LineEdit{}, false
		}
		seen[dir] = true
		for _, name := range kustomizationNames {
			file := path.Join(dir, name)
			text, err := readEdited(root, file, edits)
			if err != nil {
				continue
			}
			var k kustomization
			if yaml.Unmarshal(text, &k) != nil {
				return LineEdit{}, false
			}
			if line, ok := k.setTag(file, text, before, after, edits); ok {
				return line, true
			}
			for _, resource := range slices.Concat(k.Resources, k.Bases, k.Components) {
				at := path.Join(dir, resource)
				if isYAML(at) {
					if line, ok := replaceScalar(root, at, o.before, o.after, edits); ok {
						return line, true
					}
				} else if line, ok := visit(at, depth+1); ok {
					return line, true
				}
			}
		}
		return LineEdit{}, false
	}
	if line, ok := visit(o.at.File, 0); ok {
		return line, nil
	}
	return LineEdit{}, &diag.Diag{
		Code: diag.CodeCannotEdit,
		At:   []diag.Pos{{File: o.at.File}},
		Msg:  "neither images of the kustomization nor its files set " + diag.Visible(o.before, diag.MaxText),
		Hint: fmt.Sprintf("add {name: %s, newTag: %q} to its images", before.Repository, after.Tag),
	}
}

// A kustomization has the fields of a kustomization that matter for images.
type kustomization struct {
	Resources  []string               `yaml:"resources"`
	Bases      []string               `yaml:"bases"`
	Components []string               `yaml:"components"`
	Images     []map[string]yaml.Node `yaml:"images"`
}

// setTag sets the tag of the entry for an image.
func (k *kustomization) setTag(file string, text []byte, before, after fleet.ImageReference, edits load.Edits) (LineEdit, bool) {
	for _, entry := range k.Images {
		name, newName := entry["name"], entry["newName"]
		if newName.Value != before.Repository && (newName.Value != "" || name.Value != before.Repository) {
			continue
		}
		tag, digest := entry["newTag"], entry["digest"]
		changes := []scalarChange{{"newTag", &tag, strings.TrimPrefix(before.Suffix(), ":"), strings.TrimPrefix(after.Suffix(), ":")}}
		switch {
		case digest.Value != "" && tag.Value != "":
			changes = []scalarChange{{"newTag", &tag, before.Tag, after.Tag}, {"digest", &digest, before.Digest, after.Digest}}
		case digest.Value != "":
			changes = []scalarChange{{"digest", &digest, before.Digest, after.Digest}}
		}
		if line, ok := applyScalars(file, text, changes, edits); ok {
			return line, true
		}
	}
	return LineEdit{}, false
}

// A scalarChange is a change of the whole text of a scalar.
type scalarChange struct {
	key           string
	node          *yaml.Node
	before, after string
}

// applyScalars changes scalars of a file, the last one first; false if one of them has
// another text, or is not written in one line.
func applyScalars(file string, text []byte, changes []scalarChange, edits load.Edits) (LineEdit, bool) {
	slices.SortFunc(changes, func(a, b scalarChange) int {
		return cmp.Or(cmp.Compare(b.node.Line, a.node.Line), cmp.Compare(b.node.Column, a.node.Column))
	})
	for _, c := range changes {
		var ok bool
		if c.before == "" || c.node.Value != c.before {
			return LineEdit{}, false
		}
		if text, ok = spliceScalar(text, c.node, c.before, c.after); !ok {
			return LineEdit{}, false
		}
	}
	edits[file] = text
	first := changes[len(changes)-1]
	return LineEdit{Pos: diag.Pos{File: file, Line: first.node.Line, Col: first.node.Column}, Path: "images." + first.key, Before: first.before, After: first.after}, true
}

// replaceScalar replaces all scalars of a YAML file that are a text.
func replaceScalar(root, file, before, after string, edits load.Edits) (LineEdit, bool) {
	text, err := readEdited(root, file, edits)
	if err != nil {
		return LineEdit{}, false
	}
	var found []*yaml.Node
	if scalars(text, func(n *yaml.Node) {
		if n.Value == before {
			found = append(found, n)
		}
	}) != nil || len(found) == 0 {
		return LineEdit{}, false
	}
	for _, n := range slices.Backward(found) {
		var ok bool
		if text, ok = spliceScalar(text, n, before, after); !ok {
			return LineEdit{}, false
		}
	}
	edits[file] = text
	return LineEdit{Pos: diag.Pos{File: file, Line: found[0].Line, Col: found[0].Column}, Before: before, After: after}, true
}

// editOnce replaces a text in quotes that a file has once.
func editOnce(root string, o operation, edits load.Edits) (LineEdit, error) {
	text, err := readEdited(root, o.at.File, edits)
	if err != nil {
		return LineEdit{}, err
	}
	at, count := 0, 0
	for _, quote := range []string{"'", `"`} {
		if n := bytes.Count(text, []byte(quote+o.before+quote)); n > 0 {
			count += n
			at = bytes.Index(text, []byte(quote+o.before+quote)) + 1
		}
	}
	if count != 1 {
		return LineEdit{}, &diag.Diag{
			Code: diag.CodeCannotEdit,
			At:   []diag.Pos{{File: o.at.File}}, Msg: fmt.Sprintf("the file contains %s %d times", diag.Visible(o.before, diag.MaxText), count),
			Hint: "make the image a parameter of the file, and set it in values",
		}
	}
	edits[o.at.File] = slices.Concat(text[:at], []byte(o.after), text[at+len(o.before):])
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	return LineEdit{Pos: diag.Pos{File: o.at.File, Line: line, Col: at - bytes.LastIndexByte(text[:at], '\n') - 1}, Before: o.before, After: o.after}, nil
}
