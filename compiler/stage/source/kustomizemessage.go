package source

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// readReason returns the error of reading a file as a clause that follows its name.
func readReason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + e.Err.Error()
	}
	return err.Error()
}

// oneLine replaces white space by single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var (
	recursed = regexp.MustCompile(`recursed accumulation of path '/([^']*)': `)
	merging  = regexp.MustCompile(`^.*recursed merging from path '[^']*': `)
	quoted   = regexp.MustCompile(`(?:accumulateDirectory: |loader\.New )(".*")$`)
	notFile  = regexp.MustCompile(`^accumulation err='accumulating resources from '[^']*': (.*)': must build at directory: .*$`)
	notDir   = regexp.MustCompile(`^accumulation err='.*?': ([^'].*)$`)
	config   = regexp.MustCompile("^trouble configuring builtin (\\w+) with config: `.*`: (.*)$")
	plugins  = regexp.MustCompile(`^failed to load generator: `)
	address  = regexp.MustCompile(`^merging from generator &\{.*?\}: `)
	noMeta   = regexp.MustCompile(`^missing Resource metadata$`)
	noName   = regexp.MustCompile(`^missing metadata\.name in object .*$`)
)

// noise are prefixes of causes without information.
var noise = []string{
	"accumulating resources: ", "accumulating components: ", "invalid Kustomization: ", "json: ",
	"MalformedYAMLError: ", "yaml: ", "loading generator plugins: ",
}

// shorten returns the innermost cause of a kustomize error on one line.
func shorten(text string) string {
	for before := ""; before != text; {
		before = text
		for _, n := range noise {
			text = strings.TrimPrefix(text, n)
		}
		if m := quoted.FindStringSubmatch(text); m != nil {
			if inside, err := strconv.Unquote(m[1]); err == nil {
				text = inside
			}
		}
		if at := recursed.FindAllStringIndex(text, -1); at != nil {
			text = text[at[len(at)-1][1]:]
		}
		text = merging.ReplaceAllString(text, "")
		for _, r := range []*regexp.Regexp{notFile, notDir} {
			text = r.ReplaceAllString(text, "$1")
		}
		text = config.ReplaceAllString(text, "$1: $2")
		text = address.ReplaceAllString(plugins.ReplaceAllString(text, ""), "")
		text = noMeta.ReplaceAllString(text, "a document without apiVersion, kind and metadata")
		text = noName.ReplaceAllString(text, "an object without metadata.name")
	}
	const limit = 400
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return strings.ReplaceAll(text, "'/", "'")
}

// innermost returns the directory of the kustomization in an error, or an empty
// string for the topmost.
func innermost(text string) string {
	dir := ""
	for {
		if at := recursed.FindAllStringSubmatchIndex(text, -1); at != nil {
			last := at[len(at)-1]
			dir, text = text[last[2]:last[3]], text[last[1]:]
		}
		m := quoted.FindStringSubmatch(text)
		if m == nil {
			return dir
		}
		inside, err := strconv.Unquote(m[1])
		if err != nil {
			return dir
		}
		text = inside
	}
}

var (
	noTarget  = regexp.MustCompile(`no matches for Id (\S+); failed to find unique target`)
	manyMatch = regexp.MustCompile(`multiple matches for Id (\S+); failed to find unique target`)
	twice     = regexp.MustCompile(`may not add resource with an already registered id: (\S+)`)
	noMerge   = regexp.MustCompile(`Kind:"(\w*)".*Name:"([^"]*)".* does not exist; cannot merge or replace`)
	noSource  = regexp.MustCompile(`^nothing selected by (\S+)`)
	noField   = regexp.MustCompile(`operation does not apply: doc is missing (?:path|key): "?([^":]+)`)
)

// failed returns the fault of a failed build.
func (b *build) failed(top *kustomizeFile, err error) error {
	if b.tree.spent {
		return b.at(diag.CodeSourceLimits, diag.Pos{File: top.name}, "kustomizations include each other so often that one "+errSpent.Error(), "include each kustomization once")
	}
	text := oneLine(err.Error())
	if d := b.varFault(text); d != nil {
		return d
	}
	f := top
	if dir := innermost(text); dir != "" && b.checked[path.Clean(dir)] != nil {
		f = b.checked[path.Clean(dir)]
	}
	text = shorten(text)
	pos, hint := diag.Pos{File: f.name}, "correct the kustomization"
	switch {
	case noTarget.MatchString(text):
		id := noTarget.FindStringSubmatch(text)[1]
		pos, hint = b.patchOf(f, id), "name an object as its file does, without prefixes, or give the patch a target"
		text = "the patch of " + object(id) + " matches nothing"
	case manyMatch.MatchString(text):
		id := manyMatch.FindStringSubmatch(text)[1]
		pos, hint = b.patchOf(f, id), "give the patch a target"
		text = "the patch of " + object(id) + " matches several objects"
	case twice.MatchString(text):
		text = object(twice.FindStringSubmatch(text)[1]) + " occurs twice"
		pos, hint = f.pos("resources"), "name it in one place, or give one of them another name"
	case noMerge.MatchString(text):
		m := noMerge.FindStringSubmatch(text)
		pos, hint = b.generatorOf(f, m[2]), "correct the name, or write behavior: create"
		text = m[1] + " " + m[2] + " does not exist, and a generator merges into it or replaces it"
	case noSource.MatchString(text):
		pos, hint = f.pos("replacements"), "correct the source, or add the object"
		text = "the source of a replacement matches nothing: " + object(noSource.FindStringSubmatch(text)[1])
	case strings.Contains(text, "replacement"):
		pos, hint = f.pos("replacements"), "correct the fieldPaths, or set options: {create: true}"
	case strings.Contains(text, "SM or JSON patch from ["):
		pos, hint = b.unreadablePatch(f)
		text = "the patch is neither an object in YAML nor a list of operations in JSON"
	case noField.MatchString(text):
		field := noField.FindStringSubmatch(text)[1]
		pos, hint = b.patchWith(f, field), "correct the path, or use op: add"
		text = "a JSON patch changes " + field + ", which is not there"
	}
	return b.at(diag.CodeKustomization, pos, text, hint)
}

// object returns the name of an object from its kustomize ID,
// Kind.version.group/name.namespace.
func object(id string) string {
	gvk, name, ok := strings.Cut(id, "/")
	if !ok {
		return id
	}
	kind, _, _ := strings.Cut(gvk, ".")
	if i := strings.LastIndex(name, "."); i >= 0 {
		ns := name[i+1:]
		if name = name[:i]; !strings.HasPrefix(ns, "[") {
			name = ns + "/" + name
		}
	}
	return kind + " " + name
}

// patches calls yield with the position and text of each patch of the file.
func (b *build) patches(f *kustomizeFile, yield func(pos diag.Pos, text []byte)) {
	one := func(pos diag.Pos, file, text string) {
		data := []byte(text)
		if file != "" {
			data = b.tree.files[inner(path.Join(f.dir, file))]
		}
		yield(pos, data)
	}
	for i, p := range f.k.Patches {
		one(f.pos("patches", i), p.Path, p.Patch)
	}
	for i, p := range f.deprecatedFields().jsonPatches {
		one(f.pos("patchesJson6902", i), p.Path, p.Patch)
	}
	for i, p := range f.strategic() {
		one(f.pos("patchesStrategicMerge", i), p.Path, p.Patch)
	}
}

// unreadablePatch returns the position of the first patch that kustomize cannot read, and a
// hint.
func (b *build) unreadablePatch(f *kustomizeFile) (pos diag.Pos, hint string) {
	pos = diag.Pos{File: f.name}
	hint = "write apiVersion, kind and metadata.name of the object, or a list of operations with op, path and value"
	found := false
	b.patches(f, func(at diag.Pos, text []byte) {
		isList := strings.HasPrefix(strings.TrimSpace(string(text)), "[")
		var operations []any
		switch _, err := b.resources.RF().SliceFromBytes(text); {
		case found || err == nil && !isList:
		case isList && !json.Valid(text):
			found, pos = true, at
			hint = `put keys and strings of a list in [] into quotes, as in [{"op": "add", "path": "/data/a", "value": "b"}]`
		case !isList && yaml.Unmarshal(text, &operations) != nil:
			found, pos = true, at
		}
	})
	return pos, hint
}

// patchOf returns the position of the first patch of an object.
func (b *build) patchOf(f *kustomizeFile, id string) diag.Pos {
	pos := diag.Pos{File: f.name}
	b.patches(f, func(at diag.Pos, text []byte) {
		objs, err := b.resources.RF().SliceFromBytes(text)
		for _, o := range objs {
			if err == nil && pos.Line == 0 && o.OrgId().String() == id {
				pos = at
			}
		}
	})
	return pos
}

// patchWith returns the position of the only patch that contains the text.
func (b *build) patchWith(f *kustomizeFile, part string) diag.Pos {
	var found []diag.Pos
	b.patches(f, func(at diag.Pos, text []byte) {
		if strings.Contains(string(text), part) {
			found = append(found, at)
		}
	})
	if len(found) == 1 {
		return found[0]
	}
	return diag.Pos{File: f.name}
}

// generatorOf returns the position of the generator of a ConfigMap or Secret.
func (b *build) generatorOf(f *kustomizeFile, name string) diag.Pos {
	for i, g := range f.k.ConfigMapGenerator {
		if g.Name == name {
			return f.pos("configMapGenerator", i)
		}
	}
	for i, g := range f.k.SecretGenerator {
		if g.Name == name {
			return f.pos("secretGenerator", i)
		}
	}
	return diag.Pos{File: f.name}
}
