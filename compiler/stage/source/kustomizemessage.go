package source

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
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
	noName   = regexp.MustCompile(`^missing (kind|metadata\.name) in object .*$`)
)

// noise are prefixes of causes without information.
var noise = []string{
	"accumulating resources: ", "accumulating components: ", "invalid Kustomization: ", "json: ",
	"MalformedYAMLError: ", "yaml: ", "loading generator plugins: ", "error unmarshaling JSON: while decoding JSON: ",
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
		text = noName.ReplaceAllString(text, "an object without $1")
	}
	return strings.ReplaceAll(diag.Start(text, 400), "'/", "'")
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
	noTarget      = regexp.MustCompile(`no matches for Id (\S+); failed to find unique target`)
	manyMatch     = regexp.MustCompile(`multiple matches for Id (\S+); failed to find unique target`)
	twice         = regexp.MustCompile(`may not add resource with an already registered id: (\S+)`)
	noMerge       = regexp.MustCompile(`Kind:"(\w*)".*Name:"([^"]*)".* does not exist; cannot merge or replace`)
	noSource      = regexp.MustCompile(`^nothing selected by (\S+)`)
	noSourceField = regexp.MustCompile("^fieldPath `(.*)` is missing for replacement source (\\S+)$")
	noField       = regexp.MustCompile(`operation does not apply: doc is missing (?:path|key): "?([^":]+)`)
)

// A translation is the text and the hint for a message of kustomize, with $1 for the first group of
// the pattern.
type translation struct {
	pattern    *regexp.Regexp
	text, hint string
	// field is that of the kustomization with the mistake. If it is patches, the patch with the first
	// group in its text is meant; if it is generators, the one with this name.
	field string
}

// translations are those of the usual mistakes.
var translations = []translation{
	{
		regexp.MustCompile(`^resource with name (\S+) does not match a config`), "replicas has $1, but no Deployment or other object with replicas has this name",
		"correct the name, or write a patch for other kinds", "replicas",
	},
	{regexp.MustCompile(`^error in remove for path: '/?(\S+)': `), "a JSON patch removes /$1, which is not there", "correct the path, or leave the operation out", "patches"},
	{regexp.MustCompile(`^error in \w+ for path: '/?(\S+)': .*index`), "a JSON patch changes /$1, and the list is shorter", "correct the index, or use - for the end of the list", "patches"},
	{regexp.MustCompile(`^testing value (\S+) failed: `), "a JSON patch tests $1, which is missing or has another value", "correct the value, or leave the test out", "patches"},
	{regexp.MustCompile(`^Unexpected kind: (\S+)`), "a JSON patch has the unknown op $1", "use one of add, remove, replace, move, copy and test", "patches"},
	{regexp.MustCompile(`^(\w+) operation failed to decode path`), "the operation $1 of a JSON patch has no path", "write path: /FIELD", "patches"},
	{regexp.MustCompile("^error parsing regexp: (.*): `.*`$"), "the target of a patch is not a valid regular expression: $1", "correct the target", "patches"},
	{regexp.MustCompile(`^PatchTransformer: must specify one of patch and path`), "a patch has neither patch nor path", "write the patch, or the path of its file", "patches"},
	{
		regexp.MustCompile(`invalid literal source .*, expected key=value`), "a literal of a generator has no key",
		"write it as KEY=VALUE", "literals",
	},
	{regexp.MustCompile(`^a configmap must have a name`), "a generator of a ConfigMap has no name", "write its name", "configMapGenerator"},
	{regexp.MustCompile(`^a secret must have a name`), "a generator of a Secret has no name", "write its name", "secretGenerator"},
	{regexp.MustCompile("^(?:configmap|secret) (\\S+) illegally repeats the key `(.*)`"), "the generator of $1 has the key $2 twice", "remove one of them", "generators"},
	{
		regexp.MustCompile(`Name:"([^"]*)".* exists; can not use behavior`), "a generator makes $1, which exists already",
		"give it another name, or write behavior: merge or replace", "generators",
	},
	{
		regexp.MustCompile(`apiVersion for \w+ should be (\S+)`), "the apiVersion of the kustomization is unknown",
		"write apiVersion: $1", "apiVersion",
	},
	{regexp.MustCompile(`^unknown field "(.*)"$`), "a file of the configurations has the unknown field $1", "remove it", "configurations"},
}

// translated returns the fault for a message of kustomize.
func (b *build) translated(f *kustomizeFile, text string) (pos diag.Pos, msg, hint string) {
	for _, t := range translations {
		at := t.pattern.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		expand := func(words string) string { return string(t.pattern.ExpandString(nil, words, text, at)) }
		switch pos = f.pos(t.field); t.field {
		case "literals":
			pos = f.key(t.field)
		case "patches":
			if found := b.patchWith(f, expand("$1")); found.Line > 0 {
				pos = found
			}
		case "generators":
			pos = b.generatorOf(f, expand("$1"))
		}
		return pos, expand(t.text), expand(t.hint)
	}
	return diag.Pos{File: f.name}, text, "correct the kustomization"
}

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
	var pos diag.Pos
	var hint string
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
	case noSourceField.MatchString(text):
		m := noSourceField.FindStringSubmatch(text)
		pos, hint = f.pos("replacements"), "correct the fieldPath of the source"
		text = "the source of a replacement, " + object(m[2]) + ", has no field " + m[1]
	case strings.Contains(text, "replacement"):
		pos, hint = f.pos("replacements"), "correct the fieldPaths, or set options: {create: true}"
	case strings.Contains(text, "SM or JSON patch from ["):
		pos, hint = b.unreadablePatch(f)
		text = "the patch is neither an object in YAML nor a list of operations in JSON"
	case noField.MatchString(text):
		field := noField.FindStringSubmatch(text)[1]
		pos, hint = b.patchWith(f, field), "correct the path, or use op: add"
		text = "a JSON patch changes " + field + ", which is not there"
	default:
		pos, text, hint = b.translated(f, text)
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

// A placedPatch is the text of a patch and its position.
type placedPatch struct {
	pos  diag.Pos
	text []byte
}

// patches returns the patches of the file.
func (b *build) patches(f *kustomizeFile) (all []placedPatch) {
	add := func(field string, patches []types.Patch) {
		for i, p := range patches {
			text := []byte(p.Patch)
			if p.Path != "" {
				text = b.tree.files[inner(path.Join(f.dir, p.Path))]
			}
			all = append(all, placedPatch{f.pos(field, i), text})
		}
	}
	add("patches", f.k.Patches)
	add("patchesJson6902", f.deprecatedFields().jsonPatches)
	add("patchesStrategicMerge", f.strategic())
	return all
}

// unreadablePatch returns the position of the first patch that kustomize cannot read, and a
// hint.
func (b *build) unreadablePatch(f *kustomizeFile) (pos diag.Pos, hint string) {
	hint = "write apiVersion, kind and metadata.name of the object, or a list of operations with op, path and value"
	for _, p := range b.patches(f) {
		isList := strings.HasPrefix(strings.TrimSpace(string(p.text)), "[")
		var operations []any
		switch _, err := b.resources.RF().SliceFromBytes(p.text); {
		case err == nil && !isList:
		case isList && !json.Valid(p.text):
			return p.pos, `put keys and strings of a list in [] into quotes, as in [{"op": "add", "path": "/data/a", "value": "b"}]`
		case !isList && yaml.Unmarshal(p.text, &operations) != nil:
			return p.pos, hint
		}
	}
	return diag.Pos{File: f.name}, hint
}

// patchOf returns the position of the first patch of an object.
func (b *build) patchOf(f *kustomizeFile, id string) diag.Pos {
	for _, p := range b.patches(f) {
		objs, err := b.resources.RF().SliceFromBytes(p.text)
		if err == nil && slices.ContainsFunc(objs, func(o *resource.Resource) bool { return o.OrgId().String() == id }) {
			return p.pos
		}
	}
	return diag.Pos{File: f.name}
}

// patchWith returns the position of the only patch that contains the text.
func (b *build) patchWith(f *kustomizeFile, part string) diag.Pos {
	found := slices.DeleteFunc(b.patches(f), func(p placedPatch) bool { return !strings.Contains(string(p.text), part) })
	if len(found) == 1 {
		return found[0].pos
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
