package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

// UnmarshalYAML decodes a YAML document with the YAML library of Kubernetes. A key that a map has
// twice is an error, because readers disagree on which value is used. A key after a merge key
// (<<) overrides that of the merged map: kubectl and Helm accept it, and
// [goyaml.UnmarshalStrict] does not.
func UnmarshalYAML(text []byte) (v any, err error) {
	if err = goyaml.UnmarshalStrict(text, &v); err != nil && overridesMerged(text) {
		v = nil
		err = goyaml.Unmarshal(text, &v)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// IsDuplicateKey reports whether an error of [UnmarshalYAML] says only that maps have keys twice.
func IsDuplicateKey(err error) bool {
	found, ok := errors.AsType[*goyaml.TypeError](err)
	return ok && !slices.ContainsFunc(found.Errors, func(text string) bool { return !strings.HasSuffix(text, " already set in map") })
}

// UnmarshalLastYAML is [UnmarshalYAML] for a document whose maps may have keys twice. As in kubectl
// and Helm, the last value counts.
func UnmarshalLastYAML(text []byte) (v any, err error) {
	err = goyaml.Unmarshal(text, &v)
	return v, err
}

// YAMLToJSON is [sigsyaml.YAMLToJSONStrict] with the exception of [UnmarshalYAML] for merge keys.
func YAMLToJSON(text []byte) ([]byte, error) {
	data, err := sigsyaml.YAMLToJSONStrict(text)
	if err != nil && overridesMerged(text) {
		return sigsyaml.YAMLToJSON(text)
	}
	return data, err
}

// overridesMerged reports whether a document has merge keys, and the keys that its maps have
// twice are those of merged maps, with values on which readers agree.
func overridesMerged(text []byte) bool {
	var doc yaml.Node
	if !bytes.Contains(text, []byte("<<")) || yaml.Unmarshal(text, &doc) != nil {
		return false
	}
	c := mergeCheck{keys: map[*yaml.Node]map[string]*yaml.Node{}}
	return c.read(&doc) && c.agrees(&doc)
}

// otherBool matches plain keys that YAML 1.1 reads as Booleans and YAML 1.2 as strings.
var otherBool = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off)$`)

const mergeKey = "<<"

// A mergeCheck has the values of all maps of a document by key.
type mergeCheck struct {
	keys map[*yaml.Node]map[string]*yaml.Node
}

// read reads the maps of a node. It reports false for a key that is not a string or occurs
// twice.
func (c mergeCheck) read(n *yaml.Node) bool {
	values := map[string]*yaml.Node{}
	for i, child := range n.Content {
		if !c.read(child) {
			return false
		}
		if n.Kind != yaml.MappingNode || i%2 != 0 {
			continue
		}
		tag := child.ShortTag()
		isString := tag == "!!str" && (child.Style != 0 || !otherBool.MatchString(child.Value) && child.Value != mergeKey)
		if child.Kind != yaml.ScalarNode || values[child.Value] != nil || !isString && tag != "!!merge" {
			return false
		}
		values[child.Value] = n.Content[i+1]
	}
	c.keys[n] = values
	return true
}

// agrees reports whether each key before a merge key has the value of the merged map: others
// have one or the other, depending on the reader.
func (c mergeCheck) agrees(n *yaml.Node) bool {
	for i, child := range n.Content {
		if !c.agrees(child) {
			return false
		}
		if n.Kind != yaml.MappingNode || i%2 != 0 || child.ShortTag() != "!!merge" {
			continue
		}
		for j := 0; j < i; j += 2 {
			if !c.isSame(n.Content[i+1], n.Content[j].Value, n.Content[j+1], 0) {
				return false
			}
		}
	}
	return true
}

// isSame reports whether merged maps have no value of a key, or the same scalar.
func (c mergeCheck) isSame(merged *yaml.Node, key string, value *yaml.Node, depth int) bool {
	const most = 8 // merged maps that merge others
	if merged.Alias != nil {
		merged = merged.Alias
	}
	if depth > most {
		return false
	}
	if merged.Kind == yaml.SequenceNode {
		return !slices.ContainsFunc(merged.Content, func(m *yaml.Node) bool { return !c.isSame(m, key, value, depth+1) })
	}
	if v := c.keys[merged][key]; v != nil {
		return v.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode && v.Value == value.Value && v.ShortTag() == value.ShortTag() && v.Style == value.Style
	}
	if more := c.keys[merged][mergeKey]; more != nil {
		return c.isSame(more, key, value, depth+1)
	}
	return true
}

// YAMLDocuments yields the documents of a text. It ends after the first that does not parse, which
// has an error.
func YAMLDocuments(text []byte) iter.Seq2[*yaml.Node, error] {
	return func(yield func(*yaml.Node, error) bool) {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var document yaml.Node
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) || !yield(&document, err) || err != nil {
				return
			}
		}
	}
}

// YAMLMessage returns the message of an error of the YAML libraries in one line, without their
// prefixes. Of several messages it returns the first, and how many there are besides.
func YAMLMessage(err error) string {
	msg := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: while decoding JSON: ", "yaml: "} {
		msg = strings.TrimPrefix(msg, prefix)
	}
	more := ""
	if all, ok := strings.CutPrefix(msg, "unmarshal errors:\n"); ok {
		first, rest, ok := strings.Cut(all, "\n")
		if msg = first; ok {
			more = fmt.Sprintf(" (and %d more)", strings.Count(rest, "\n")+1)
		}
	}
	msg = strings.Join(strings.Fields(msg), " ")
	if field, got, want, ok := WrongTypeIn(msg); ok {
		if field != "" {
			field += " is "
		}
		msg = wrongType.ReplaceAllLiteralString(msg, field+got+", where "+want+" is expected")
	}
	return msg + more
}

const (
	// MaxExpandedYAML limits the size of YAML with expanded aliases, in approximate bytes.
	MaxExpandedYAML = 64 << 20

	perNode = 16 // bytes that a node counts, besides its text
)

// ExpandedYAMLSize returns the approximate size of a node with expanded aliases, or more than
// [MaxExpandedYAML]. isTooLarge reports whether the text of a scalar exceeds the limit, for
// example because the text is YAML; it may be nil.
func ExpandedYAMLSize(root *yaml.Node, isTooLarge func(text string) bool) int {
	e := expansion{map[*yaml.Node]int{}, isTooLarge}
	return e.size(root)
}

// An expansion measures a document.
type expansion struct {
	sizes      map[*yaml.Node]int // sizes of nodes with an anchor; -1 during the measurement
	isTooLarge func(text string) bool
}

func (e expansion) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		switch size, ok := e.sizes[n]; {
		case ok && size < 0:
			return MaxExpandedYAML + 1 // it contains itself
		case ok:
			return size
		}
		e.sizes[n] = -1
	}
	size := perNode + len(n.Value)
	if n.Kind == yaml.ScalarNode && e.isTooLarge != nil && e.isTooLarge(n.Value) {
		size = MaxExpandedYAML + 1
	}
	for _, c := range n.Content {
		if size = min(size+e.size(c), MaxExpandedYAML+1); size > MaxExpandedYAML {
			break
		}
	}
	if n.Anchor != "" {
		e.sizes[n] = size
	}
	return size
}
