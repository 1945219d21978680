package unify

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// patches reads the patches of a release at the path. It adds faults that CUE
// does not report.
func (e *evaluation) patches(release cue.Value, at string, faults *diag.List) []fleet.Patch {
	var out []fleet.Patch
	for _, f := range fieldsOf(release, "patches") {
		p := e.newPatchReader(release, f, at, "patches", diag.CodePatchInvalid)
		patch := p.read(f.name)
		out = append(out, patch)
		*faults = append(*faults, p.faults...)
	}
	return out
}

// A patchReader reads one patch, or another field with a target.
type patchReader struct {
	*evaluation
	release, v cue.Value
	field      string // name of the release's field, such as patches
	path       string
	code       diag.Code // of faults that this reader finds
	faults     diag.List
}

// newPatchReader returns a reader for an entry of a release's field, whose faults have
// the code.
func (e *evaluation) newPatchReader(release cue.Value, f namedValue, at, in string, code diag.Code) *patchReader {
	return &patchReader{evaluation: e, release: release, v: f.v, field: in, code: code, path: at + "." + in + "." + cue.Str(f.name).String()}
}

// wrong adds a fault at a part of the patch.
func (p *patchReader) wrong(part cue.Value, below, msg, hint string) {
	p.wrongAs(p.code, part, below, msg, hint)
}

// wrongAs adds a fault with a code.
func (p *patchReader) wrongAs(code diag.Code, part cue.Value, below, msg, hint string) {
	p.faults = append(p.faults, &diag.Diag{Code: code, At: []diag.Pos{p.place(part)}, Path: p.path + below, Msg: msg, Hint: hint})
}

// place returns the position where a layer writes a part of the patch, or the
// nearest enclosing value that a layer writes.
func (p *patchReader) place(part cue.Value) diag.Pos {
	for _, v := range []cue.Value{part, p.v, lookup(p.release, p.field), p.release} {
		for _, c := range diag.Conjuncts(v) {
			if p.layerOf(labelPos(c)) != "" {
				return p.fieldPos(v)
			}
		}
	}
	return p.fieldPos(p.v)
}

func (p *patchReader) read(name string) fleet.Patch {
	out := fleet.Patch{Name: name, Pos: p.place(p.v), Target: p.target(), Written: p.written()}
	out.Optional, _ = lookup(p.v, "optional").Bool()
	if !out.Optional {
		out.Texts = p.selectorTexts(lookup(p.v, "target"), p.path+".target")
	}
	set := present(p.v, "strategic", "merge", "json", "images")
	switch len(set) {
	case 0:
		p.wrong(p.v, "", "a patch requires exactly one of strategic, merge, json and images, but has none",
			"write what changes, as in strategic: spec: replicas: 2")
		return out
	case 1:
	default:
		p.wrong(lookup(p.v, set[1]), "."+set[1], "a patch requires exactly one of strategic, merge, json and images, but has "+strings.Join(set, " and "),
			"write one patch for each")
		return out
	}
	change := lookup(p.v, set[0])
	switch set[0] {
	case "strategic":
		out.Strategic = p.structure(change, ".strategic")
	case "merge":
		out.Merge = p.structure(change, ".merge")
	case "json":
		out.JSON = p.operations(change)
	case "images":
		out.Images = p.images(change)
	}
	if isEmpty(change) && !out.Optional {
		p.wrong(change, "."+set[0], "is empty: the patch changes nothing", "write what changes, or set optional: true")
	}
	return out
}

// written returns the patch as a tree. Its positions are in layers, or invalid.
func (p *patchReader) written() *fleet.Tree {
	t := p.reader().tree(p.v)
	var walk func(t *fleet.Tree)
	walk = func(t *fleet.Tree) {
		if p.layerOfFile(t.Pos.File) == "" {
			t.Pos = diag.Pos{}
		}
		for _, f := range t.Fields {
			walk(f)
		}
		for _, e := range t.List {
			walk(e)
		}
	}
	if t != nil {
		walk(t)
	}
	return t
}

// isEmpty reports whether v is an empty struct or list.
func isEmpty(v cue.Value) bool {
	if fields, err := v.Fields(); err == nil {
		return !fields.Next()
	}
	items, err := v.List()
	return err == nil && !items.Next()
}

// target reads the object selector of the patch.
func (p *patchReader) target() fleet.Selector {
	target := lookup(p.v, "target")
	out := selectorFrom(target)
	for field, patterns := range map[string][]string{"names": out.Names, "namespaces": out.Namespaces, "releases": out.Releases} {
		for i, pattern := range patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				item := target.LookupPath(cue.MakePath(cue.Str(field), cue.Index(i)))
				p.wrong(item, ".target."+field+"."+strconv.Itoa(i), "malformed pattern "+pattern, `write \ before a literal bracket`)
			}
		}
	}
	return out
}

// structure reads a strategic or JSON merge patch, which is at a path below the patch.
func (p *patchReader) structure(v cue.Value, below string) map[string]any {
	m, _ := p.data(v, below).(map[string]any)
	return m
}

// data reads a part of the patch that objects get.
func (p *patchReader) data(v cue.Value, below string) any {
	t := p.reader().tree(v)
	p.faults = append(p.faults, inexactNumbers(t, p.path+below, kubernetesNumber)...)
	return t.Native()
}

// pointer matches a JSON pointer (RFC 6901).
var pointer = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)

// operations reads the operations of a JSON patch.
func (p *patchReader) operations(list cue.Value) []fleet.Operation {
	out := []fleet.Operation{}
	for i, v := range items(list) {
		op := fleet.Operation{Op: textOf(v, "op"), Path: textOf(v, "path"), From: textOf(v, "from")}
		at := ".json." + strconv.Itoa(i)
		for _, f := range []struct{ name, text string }{{"path", op.Path}, {"from", op.From}} {
			// The schema reports a path that does not begin with a slash.
			if strings.HasPrefix(f.text, "/") && !pointer.MatchString(f.text) {
				p.wrong(lookup(v, f.name), at+"."+f.name, f.text+" is not a valid JSON pointer: ~ is written as ~0, and / in a name as ~1", "write ~0 for ~")
			}
		}
		switch op.Op {
		case "move", "copy":
			if !lookup(v, "from").Exists() {
				p.wrong(v, at, op.Op+" requires from", "set from to the path of the value, as in from: \"/metadata/labels/app\"")
			}
		case "add", "replace", "test":
			value := lookup(v, "value")
			if !value.Exists() {
				p.wrong(v, at, op.Op+" requires a value", "set value, which may be null")
				break
			}
			op.Value = p.data(value, at+".value")
		}
		out = append(out, op)
	}
	return out
}

// images reads the prefixes of image names.
func (p *patchReader) images(v cue.Value) map[string]string {
	out := map[string]string{}
	it, err := v.Fields()
	if err != nil {
		return nil
	}
	for it.Next() {
		from := it.Selector().Unquoted()
		to, err := it.Value().String()
		if err != nil {
			continue // the schema reports it
		}
		out[from] = to
		at := ".images." + cue.Str(from).String()
		switch {
		case to == "":
			p.wrong(it.Value(), at, "is empty", "write the new beginning of the image names")
		case strings.HasSuffix(to, "/") != (from == "" || strings.HasSuffix(from, "/")):
			p.wrong(it.Value(), at, strconv.Quote(from)+" and "+strconv.Quote(to)+" do not both end with a slash, which would be lost or doubled", "end both with a slash, or neither")
		}
	}
	return out
}
