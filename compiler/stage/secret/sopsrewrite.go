package secret

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// encryptedComment matches the text of a comment that SOPS has encrypted.
var encryptedComment = regexp.MustCompile(`ENC\[AES256_GCM,[^\]\s]*,type:comment\]`)

// reencrypt encrypts the values and comments of the file with another data key.
func (e *SOPSEditor) reencrypt(fresh encrypter) error {
	if err := e.collect(); err != nil {
		return err
	}
	for _, l := range e.file.leaves {
		if !l.encrypted || isEmpty(l.node) {
			continue
		}
		text, err := e.file.value(l, e.key)
		if err != nil {
			return err
		}
		kind := encryptedValue.FindStringSubmatch(l.node.Value)[4]
		l.node.Value = fresh.seal(text, kind, authenticated(l.keys))
	}
	var fault error
	e.file.eachComment(e.file.top, nil, func(n *yaml.Node, keys []string, comment string) string {
		return encryptedComment.ReplaceAllStringFunc(comment, func(text string) string {
			if plain, aad, ok := e.comment(text, keys); ok {
				return fresh.seal(plain, "comment", aad)
			}
			fault = cmp.Or(fault, error(&diag.Diag{
				Code: diag.CodeSOPSFile,
				At:   []diag.Pos{e.file.pos(n)}, Msg: "an encrypted comment is damaged, or belongs to another place",
				Hint: "remove it, or restore the file from version control",
			}))
			return text
		})
	})
	return fault
}

// eachComment replaces the comments of a tree, without those in the metadata of SOPS. keys is
// the path of the map or list around the node, without list indices.
func (f *SOPSFile) eachComment(n *yaml.Node, keys []string, replace func(n *yaml.Node, keys []string, comment string) string) {
	comments := []*string{&n.HeadComment, &n.LineComment, &n.FootComment}
	if isComment(n) {
		comments = append(comments, &n.Value)
	}
	for _, comment := range comments {
		*comment = replace(n, keys, *comment)
	}
	if n == f.sops {
		return
	}
	for i, inner := range n.Content {
		path := keys
		if n.Kind == yaml.MappingNode && i%2 == 1 && inner.Kind != yaml.ScalarNode {
			path = append(slices.Clone(keys), n.Content[i-1].Value)
		}
		f.eachComment(inner, path, replace)
	}
}

// encode writes the tree in the form of the file: JSON, or YAML with its indentation.
func (f *SOPSFile) encode() ([]byte, error) {
	indent := indentation(f.text)
	var out bytes.Buffer
	if trimmed := bytes.TrimSpace(f.text); bytes.HasPrefix(trimmed, []byte("{")) && json.Valid(trimmed) {
		var compact bytes.Buffer
		writeJSON(&compact, f.top)
		if err := json.Indent(&out, compact.Bytes(), "", indent); err != nil {
			return nil, err
		}
		if bytes.HasSuffix(f.text, []byte("\n")) {
			out.WriteByte('\n')
		}
		return out.Bytes(), nil
	}
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(max(len(strings.ReplaceAll(indent, "\t", "    ")), 2))
	if err := encoder.Encode(f.top); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// indentation returns the blanks of the first indented line; those of the sops program if
// there is none.
func indentation(text []byte) string {
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(bytes.TrimSpace(rest)) > 0 && rest[0] != '#' {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "    "
}

// writeJSON writes a tree as JSON without blanks, in the order of the tree. Numbers, bools
// and null keep their text.
func writeJSON(out *bytes.Buffer, n *yaml.Node) {
	brackets := "{}"
	switch n.Kind {
	case yaml.SequenceNode:
		brackets = "[]"
	case yaml.MappingNode:
	default:
		text := []byte(n.Value)
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle) != 0 || n.ShortTag() == "!!str" || !json.Valid(text) {
			text, _ = json.Marshal(n.Value)
		}
		out.Write(text)
		return
	}
	out.WriteByte(brackets[0])
	for i, inner := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 1:
			out.WriteByte(':')
		case i > 0:
			out.WriteByte(',')
		}
		writeJSON(out, inner)
	}
	out.WriteByte(brackets[1])
}
