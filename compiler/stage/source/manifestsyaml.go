package source

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// yaml adds the objects of a document. It parses twice: for positions, and like
// kubectl, whose YAML version differs, for example for yes.
func (s *manifestTree) yaml(t *text, d document) {
	var doc yaml.Node
	if err := yaml.Unmarshal(d.data, &doc); err != nil {
		s.unparsed(t, d, err)
		return
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return
	}
	root := doc.Content[0]
	n := nodes{t: t, above: d.above}
	if fleet.ExpandedYAMLSize(root, nil) > fleet.MaxExpandedYAML {
		s.fault(diag.CodeSourceLimits, n.pos(root), "aliases that expand to more than "+strconv.Itoa(fleet.MaxExpandedYAML>>20)+" MiB of the document", "write out the parts that the aliases repeat")
		return
	}
	before := len(s.faults)
	n.keys(root, s.fault)
	if len(s.faults) > before {
		return
	}
	data, err := fleet.YAMLToJSON(d.data)
	if err != nil {
		s.unparsed(t, d, err)
		return
	}
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		s.fault(diag.CodeManifest, n.pos(root), err.Error(), "write numbers in their usual form, or as strings in quotes")
		return
	}
	o, ok := v.(map[string]any)
	if !ok {
		s.fault(diag.CodeManifest, n.pos(root), "a document without apiVersion and kind", notObject)
		return
	}
	if !fleet.IsCRD(o) {
		for _, number := range fleet.InexactIntegers(root) {
			s.inexact(n.pos(number), number.Value)
		}
	}
	s.add(t.name, o, n.place(root))
}

// inexact adds the fault of an integer that Kubernetes cannot store.
func (s *manifestTree) inexact(pos diag.Pos, number string) {
	s.fault(diag.CodeManifestValue, pos, fleet.InexactNumber(excerpt(number)), "make it a string")
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// unparsed returns the fault of an invalid document.
func (s *manifestTree) unparsed(t *text, d document, err error) {
	pos := diag.Pos{File: t.name, Line: d.above + 1}
	msg := fleet.YAMLMessage(err)
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			pos.Line, msg = d.above+line, m[2]
		}
	}
	pos.Line = d.above + diag.YAMLLine(d.data, pos.Line-d.above, msg)
	msg, hint := diag.YAMLFault(msg)
	if bytes.Contains(d.data, []byte("{{")) {
		hint = "make it a template of a chart: manifests does not render {{ }}"
	}
	s.fault(diag.CodeManifest, pos, msg, hint)
}

// nodes are the nodes of a document.
type nodes struct {
	t     *text
	above int
}

// pos returns the position of a node.
func (n nodes) pos(at *yaml.Node) diag.Pos {
	p := n.place(at)
	return diag.Pos{File: n.t.name, Line: p.line, Col: p.col}
}

// place returns the positions of a node and of its items.
func (n nodes) place(at *yaml.Node) place {
	line := at.Line + n.above
	p := place{line: line, col: n.t.column(line, at.Column)}
	for i := 0; at.Kind == yaml.MappingNode && i+1 < len(at.Content); i += 2 {
		if list := at.Content[i+1]; at.Content[i].Value == "items" && list.Kind == yaml.SequenceNode {
			for _, item := range list.Content {
				p.items = append(p.items, n.place(item))
			}
		}
	}
	return p
}

// keys reports duplicate keys, and keys that are not strings.
func (n nodes) keys(at *yaml.Node, fault func(code diag.Code, pos diag.Pos, msg, hint string)) {
	seen := map[string]*yaml.Node{}
	for i, c := range at.Content {
		n.keys(c, fault)
		if at.Kind != yaml.MappingNode || i%2 != 0 {
			continue
		}
		// 1, "1" and 0x1 are one key in JSON.
		var v any
		if err := c.Decode(&v); err != nil || c.Kind != yaml.ScalarNode && (c.Alias == nil || c.Alias.Kind != yaml.ScalarNode) {
			fault(diag.CodeManifest, n.pos(c), "a key that is not a string", "put the key in quotes")
			continue
		}
		key := fmt.Sprint(v)
		if first, ok := seen[key]; ok {
			fault(diag.CodeManifest, n.pos(c), fmt.Sprintf("the key %s occurs twice, first in line %d", excerpt(key), first.Line+n.above), "keep one of them")
			continue
		}
		seen[key] = c
	}
}

// excerpt returns the beginning of a text, in one line.
func excerpt(text string) string {
	return diag.Start(strings.Join(strings.Fields(text), " "), 60)
}
