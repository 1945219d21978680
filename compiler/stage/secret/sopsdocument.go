package secret

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Document returns the decrypted file without the metadata of SOPS, in its format and
// order, with its comments. It is plain text, which must not be written to a disk.
func (e *SOPSEditor) Document() ([]byte, error) {
	f := e.file
	if n := findNode(f.top, isComment); n != nil {
		return nil, &diag.Diag{Code: diag.CodeSecretEdit, At: []diag.Pos{f.pos(n)}, Msg: "the file has an encrypted comment in a list", Hint: "change it with sops edit " + f.name}
	}
	e.comments = map[string]string{}
	plain := map[*yaml.Node]yaml.Node{}
	for _, l := range f.leaves {
		if !l.encrypted || isEmpty(l.node) {
			continue
		}
		text, err := f.value(l, e.key)
		if err != nil {
			return nil, err
		}
		plain[l.node] = plainScalar(l.node, text)
	}
	top := copyTree(f.top, plain)
	f.eachComment(top, nil, func(_ *yaml.Node, keys []string, comment string) string {
		return encryptedComment.ReplaceAllStringFunc(comment, func(text string) string {
			plain, aad, ok := e.comment(text, keys)
			if !ok {
				return text
			}
			e.comments[aad+string(plain)] = text
			return string(plain)
		})
	})
	i := slices.IndexFunc(top.Content, func(n *yaml.Node) bool { return n.Value == "sops" })
	top.Content = slices.Delete(top.Content, i, i+2)
	return (&SOPSFile{text: f.text, top: top}).encode()
}

// findNode returns the first node of a tree that matches; nil if there is none.
func findNode(n *yaml.Node, matches func(n *yaml.Node) bool) *yaml.Node {
	if matches(n) {
		return n
	}
	for _, inner := range n.Content {
		if found := findNode(inner, matches); found != nil {
			return found
		}
	}
	return nil
}

// plainScalar returns an encrypted scalar with its text and the tag of its type.
func plainScalar(n *yaml.Node, text []byte) yaml.Node {
	out := *n
	out.Style, out.Tag, out.Value = 0, "", displayed(n, text)
	if out.Tag = tags[encryptedValue.FindStringSubmatch(n.Value)[4]]; out.Tag == "" {
		out.SetString(out.Value)
	}
	return out
}

// copyTree returns a copy of a tree with plain scalars.
func copyTree(n *yaml.Node, plain map[*yaml.Node]yaml.Node) *yaml.Node {
	out := *n
	if scalar, ok := plain[n]; ok {
		out = scalar
	}
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, inner := range n.Content {
		out.Content[i] = copyTree(inner, plain)
	}
	return &out
}

// comment decrypts a comment, and returns the path that authenticates it: that of a map or
// list around it.
func (e *SOPSEditor) comment(text string, keys []string) (plain []byte, aad string, ok bool) {
	for length := len(keys); length >= 0; length-- {
		aad = authenticated(keys[:length])
		if plain, err := open(text, e.key, aad); err == nil {
			return plain, aad, true
		}
	}
	return nil, "", false
}

// Replace gives the file the values, the order and the comments of an edited document. Its
// unchanged values keep their ciphertext. It returns false if the document has the same
// values and comments, and leaves the file as it is. The faults have the lines of the
// document, whose name is that of the file.
func (e *SOPSEditor) Replace(document []byte) (changed bool, err error) {
	before, err := e.Document()
	if err != nil || string(before) == string(document) {
		return false, err
	}
	f := e.file
	edited := &SOPSFile{name: f.name, meta: f.meta, text: f.text}
	var root, next yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(document)))
	if err := decoder.Decode(&root); err != nil || len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return false, &diag.Diag{
			Code: diag.CodeSecretEdit, At: []diag.Pos{{File: f.name, Line: errorLine(err)}},
			Msg:  "the edited text is not a YAML or JSON map",
			Hint: "write keys and values, as in password: x",
		}
	}
	if decoder.Decode(&next) == nil {
		return false, &diag.Diag{Code: diag.CodeSecretEdit, At: []diag.Pos{edited.pos(&next)}, Msg: "the edited text has several documents", Hint: "write one document"}
	}
	top := root.Content[0]
	top.HeadComment, top.FootComment = root.HeadComment+top.HeadComment, top.FootComment+root.FootComment
	if child(top, "sops") != nil {
		return false, &diag.Diag{Code: diag.CodeSecretEdit, At: []diag.Pos{edited.pos(top)}, Msg: "the edited text has a key sops, which is for the metadata", Hint: "rename it"}
	}
	if err := edited.collect(top); err != nil {
		return false, err
	}
	if err := e.sealLeaves(edited); err != nil {
		return false, err
	}
	encrypts, err := f.rules()
	if err != nil {
		return false, err
	}
	f.eachComment(top, nil, func(_ *yaml.Node, keys []string, comment string) string {
		if !encrypts(keys) {
			return comment
		}
		return e.sealComment(comment, keys)
	})
	name := &yaml.Node{}
	name.SetString("sops")
	top.Content = append(top.Content, name, f.sops)
	f.top, e.changed = top, true
	return true, nil
}

// sealLeaves encrypts the values of an edited file, and takes the ciphertext of values that
// are the same at the same path.
func (e *SOPSEditor) sealLeaves(edited *SOPSFile) error {
	for _, l := range edited.leaves {
		if !l.encrypted || isEmpty(l.node) {
			continue
		}
		kind := typeOf(l.node)
		if tag := l.node.ShortTag(); kind == "str" && tag != "!!str" {
			return &diag.Diag{
				Code: diag.CodeSecretEdit, At: []diag.Pos{edited.pos(l.node)}, Path: l.field,
				Msg:  "a value cannot have the tag " + diag.Visible(tag, diag.MaxText),
				Hint: "remove the tag",
			}
		}
		if _, err := strconv.ParseInt(l.node.Value, 0, 64); kind == "int" && err != nil {
			return &diag.Diag{Code: diag.CodeSecretEdit, At: []diag.Pos{edited.pos(l.node)}, Path: l.field, Msg: "the number is too large for SOPS", Hint: "write it in quotes"}
		}
		text := plainBytes(l.node)
		if old, ok := e.file.find(l.field); ok && old.encrypted && isEncrypted(old.node) {
			oldValue, err := e.file.value(old, e.key)
			if err != nil {
				return err
			}
			if m := encryptedValue.FindStringSubmatch(old.node.Value); string(oldValue) == string(text) && m[4] == kind {
				l.node.Value, l.node.Tag, l.node.Style = old.node.Value, "!!str", 0
				continue
			}
		}
		l.node.Value, l.node.Tag, l.node.Style = e.sealer().seal(text, kind, authenticated(l.keys)), "!!str", 0
	}
	return nil
}

// tags are the tags of YAML for the types of SOPS, without those of texts.
var tags = map[string]string{"int": "!!int", "float": "!!float", "bool": "!!bool", "time": "!!timestamp"}

// typeOf returns the type of a scalar as SOPS names it.
func typeOf(n *yaml.Node) string {
	for kind, tag := range tags {
		if n.ShortTag() == tag {
			return kind
		}
	}
	return "str"
}

// commentLine matches a line of a comment: the number sign, and the text that SOPS encrypts.
var commentLine = regexp.MustCompile(`(?m)^(\s*#)(.+)$`)

// sealComment encrypts a comment of a map or list with a path.
func (e *SOPSEditor) sealComment(comment string, keys []string) string {
	return commentLine.ReplaceAllStringFunc(comment, func(line string) string {
		m := commentLine.FindStringSubmatch(line)
		if same, ok := e.comments[authenticated(keys)+m[2]]; ok {
			return m[1] + same
		}
		return m[1] + e.sealer().seal([]byte(m[2]), "comment", authenticated(keys))
	})
}

// yamlLine matches the line in an error of the YAML decoder.
var yamlLine = regexp.MustCompile(`line ([0-9]+)`)

// errorLine returns the line of an error of the YAML decoder, 1 if it names none.
func errorLine(err error) int {
	if err != nil {
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			line, _ := strconv.Atoi(m[1])
			return max(line, 1)
		}
	}
	return 1
}
