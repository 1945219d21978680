package source

import (
	"cmp"
	"errors"
	"io"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A kustomizeFile is a kustomization file.
type kustomizeFile struct {
	name string // path below the root
	dir  string // directory of the file, without links
	data []byte
	k    types.Kustomization
	doc  *yaml.Node

	texts     map[string]bool // strategic merge patches that are inline and not paths
	rewritten bool            // whether addresses were replaced by paths
	objects   int             // number of objects, including those of included kustomizations
	inherits  bool            // whether charts of it have the namespace of a kustomization around it
	inherited string          // this namespace; may be empty
}

// IsKustomization reports whether the path is that of a kustomization file.
func IsKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
}

// kustomizations returns the names of the kustomization files in a directory.
func (b *build) kustomizations(dir string) []string {
	return diag.Filter(konfig.RecognizedKustomizationFileNames(), func(base string) bool { return b.tree.Exists(path.Join(dir, base)) })
}

// open reads the kustomization file of a directory. pos is the position of the
// reference to it.
func (b *build) open(pos diag.Pos, dir string) *kustomizeFile {
	found := b.kustomizations(dir)
	switch len(found) {
	case 0:
		names := b.tree.names(dir)
		hint := cmp.Or(diag.DidYouMean("kustomization.yaml", names), "name a directory with a kustomization.yaml")
		for _, name := range names {
			if below := path.Join(dir, name); len(b.kustomizations(below)) > 0 {
				hint = "use a directory below it, such as " + below
				break
			}
		}
		b.fault(pos, "no kustomization.yaml in "+dir, hint)
		return nil
	case 1:
	default:
		b.fault(pos, "several kustomization files in "+dir+": "+strings.Join(found, ", "), "keep one of them")
		return nil
	}
	f := &kustomizeFile{name: path.Join(dir, found[0]), dir: dir, texts: map[string]bool{}}
	data, err := b.tree.read(f.name)
	if err != nil {
		b.pathFault(pos, f.name+" "+readReason(err), "")
		return nil
	}
	f.data = data
	if !b.yaml(f.name, data) {
		return nil
	}
	return b.decode(f)
}

// decode decodes the file like kustomize.
func (b *build) decode(f *kustomizeFile) *kustomizeFile {
	var doc yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(f.data)))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) || doc.Kind == 0 {
		b.fault(diag.Pos{File: f.name}, "an empty kustomization", emptyHint)
		return nil
	}
	f.doc = &doc
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		b.fault(diag.Pos{File: f.name}, "several documents, of which kustomize reads the first", "keep one of them")
		return nil
	}
	if err := f.k.Unmarshal(f.data); err != nil {
		b.fault(f.mistyped(err))
		return nil
	}
	return f
}

var unknownField = regexp.MustCompile(`unknown field "(.*)"$`)

// mistyped returns the fault of a file that kustomize cannot decode.
func (f *kustomizeFile) mistyped(err error) (pos diag.Pos, msg, hint string) {
	text := oneLine(err.Error())
	if m := unknownField.FindStringSubmatch(text); m != nil {
		pos := f.key(m[1])
		return pos, "kustomizations have no field " + m[1], cmp.Or(diag.DidYouMean(m[1], fields()), "remove it")
	}
	if field, got, want, ok := fleet.WrongTypeIn(text); ok {
		msg, hint := got+", where kustomize expects "+want, "write "+want
		if want == "a string" && (got == "a number" || got == "true or false") {
			hint = "put it into quotes"
		}
		if field == "" {
			return diag.Pos{File: f.name}, msg, hint
		}
		if n, path := valueWith(follow(f.doc), strings.Split(field, "."), got, false); n != nil {
			return f.place(n), path + " is " + msg, hint
		}
		return f.key(field[strings.LastIndex(field, ".")+1:]), field + " is " + msg, hint
	}
	return diag.Pos{File: f.name}, shorten(text), "correct the file"
}

// valueWith returns the place of the first value with a type at a path of keys, or in the map or
// list there unless it isElement, and its path. It searches all elements of lists on the way.
func valueWith(n *yaml.Node, keys []string, typ string, isElement bool) (at *yaml.Node, path string) {
	n = follow(n)
	if tag := n.ShortTag(); len(keys) == 0 && tag != "!!null" && fleet.TypeName(strings.TrimPrefix(tag, "!!")) == typ {
		return n, ""
	}
	if isElement {
		return nil, ""
	}
	for i, c := range n.Content {
		name, below := strconv.Itoa(i), keys
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 || len(keys) > 0 && !strings.EqualFold(n.Content[i-1].Value, keys[0]) {
				continue
			}
			name, below = n.Content[i-1].Value, keys[min(1, len(keys)):]
		}
		at, path := valueWith(c, below, typ, len(keys) == 0)
		if at != nil && path == "" && n.Kind == yaml.MappingNode {
			at = n.Content[i-1]
		}
		if at != nil {
			return at, strings.TrimSuffix(name+"."+path, ".")
		}
	}
	return nil, ""
}

// fields are the names of a kustomization's fields.
func fields() []string {
	var names []string
	for f := range reflect.TypeFor[types.Kustomization]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// pos returns the position of a field, or of its deepest existing parent.
func (f *kustomizeFile) pos(field ...any) diag.Pos {
	n, at := follow(f.doc), f.doc
	for _, step := range field {
		var next *yaml.Node
		switch step := step.(type) {
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
				at = next
			}
		case string:
			if n.Kind != yaml.MappingNode {
				break
			}
			for i := 0; i+1 < len(n.Content); i += 2 {
				// encoding/json ignores case as well.
				if strings.EqualFold(n.Content[i].Value, step) {
					at, next = n.Content[i], n.Content[i+1]
				}
			}
		}
		if next == nil {
			break
		}
		n = follow(next)
	}
	return f.place(at)
}

// key returns the position of the first key with the name, or of the file.
func (f *kustomizeFile) key(name string) diag.Pos {
	if n := find(f.doc, name); n != nil {
		return f.place(n)
	}
	return diag.Pos{File: f.name}
}

func find(n *yaml.Node, name string) *yaml.Node {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && strings.EqualFold(c.Value, name) {
			return c
		}
		if found := find(c, name); found != nil {
			return found
		}
	}
	return nil
}

func (f *kustomizeFile) place(n *yaml.Node) diag.Pos {
	if n.Line == 0 || n.Kind == yaml.DocumentNode {
		return diag.Pos{File: f.name}
	}
	return diag.Pos{File: f.name, Line: n.Line, Col: n.Column}
}

// follow returns the node that an alias or a document stands for.
func follow(n *yaml.Node) *yaml.Node {
	for range 2 {
		switch {
		case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
			n = n.Content[0]
		case n.Kind == yaml.AliasNode && n.Alias != nil:
			n = n.Alias
		}
	}
	return n
}

// yamlLine matches a line number in a message of the YAML libraries.
var yamlLine = regexp.MustCompile(`\bline (\d+): (.*)$`)

// yaml checks a file of YAML documents: they must be valid, have no duplicate
// keys, stay small with expanded aliases and not nest too deep: kustomize's running time is
// quadratic in the depth.
func (b *build) yaml(name string, data []byte) bool {
	if !smallExpanded(data) {
		b.fault(diag.Pos{File: name}, "aliases that expand to more than "+strconv.Itoa(fleet.MaxExpandedYAML>>20)+" MiB of it", "write out the parts that the aliases repeat")
		return false
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return true
		}
		if err == nil {
			var v any
			err = doc.Decode(&v)
		}
		if err != nil {
			pos := diag.Pos{File: name}
			text := strings.TrimPrefix(strings.TrimPrefix(oneLine(err.Error()), "yaml: "), "unmarshal errors: ")
			if m := yamlLine.FindStringSubmatch(text); m != nil {
				pos.Line, _ = strconv.Atoi(m[1])
				text = m[2]
			}
			b.fault(pos, "YAML that does not parse: "+text, "correct the YAML here, for example its indentation or quotes")
			return false
		}
		if n := tooDeep(&doc, 0, IsKustomization(name)); n != nil {
			b.fault(diag.Pos{File: name, Line: n.Line}, "values are nested more than "+strconv.Itoa(maxManifestDepth)+" levels deep", "nest the values less deep")
			return false
		}
	}
}

// tooDeep returns the first node that is nested more than maxManifestDepth levels deep, or nil. With
// texts, it returns strings of YAML that contain such a node too, for example patches.
func tooDeep(n *yaml.Node, depth int, texts bool) *yaml.Node {
	if depth > maxManifestDepth {
		return n
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if texts && n.Kind == yaml.ScalarNode && len(n.Value) > maxManifestDepth {
		for doc, err := range fleet.YAMLDocuments([]byte(n.Value)) {
			if err == nil && tooDeep(doc, 0, false) != nil {
				return n
			}
		}
	}
	for _, c := range n.Content {
		if deep := tooDeep(c, depth+1, texts); deep != nil {
			return deep
		}
	}
	return nil
}
