package source

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Kustomize cannot disable its network access: it treats a path that looks like
// an address as one, and calls git or makes a request. So every kustomization
// is first read here with kustomize's own decoder, all its paths are checked,
// and kustomize gets no other kustomization files.

// directory checks the kustomization of a directory and all that it includes.
// pos is the position of the reference to the directory; kind is Kustomization
// or Component. It returns nil after faults.
func (b *build) directory(pos diag.Pos, name, kind string) *kustomizeFile {
	dir, err := b.tree.real(name)
	if err != nil {
		b.pathFault(pos, name+" "+readReason(err), "")
		return nil
	}
	for i, visited := range b.stack {
		if dir == "." || fleet.IsWithin(visited, dir) {
			b.fault(pos, "kustomizations include each other: "+strings.Join(append(slices.Clone(b.stack[i:]), dir), ", "), "remove one of them from the resources of another")
			return nil
		}
	}
	f, ok := b.checked[dir]
	if !ok {
		before := len(b.faults)
		if f = b.open(pos, dir); f != nil {
			b.stack, b.namespaces = append(b.stack, dir), append(b.namespaces, f.k.Namespace)
			b.check(f)
			b.stack, b.namespaces = b.stack[:len(b.stack)-1], b.namespaces[:len(b.namespaces)-1]
		}
		if len(b.faults) > before {
			f = nil
		}
		b.checked[dir] = f
	}
	if f == nil {
		return nil
	}
	if f.inherits && f.inherited != b.namespace() {
		b.fault(pos, "a chart of "+name+" has the namespace of the kustomization around it, and there are two of them", "write namespace in the entry of the chart")
		return nil
	}
	switch isComponent := f.k.Kind == types.ComponentKind; {
	case kind == types.ComponentKind && !isComponent:
		b.fault(pos, f.name+" is not a component", "name it under resources")
		return nil
	case kind != types.ComponentKind && isComponent:
		b.fault(pos, f.name+" is a component", "name it under the components of a kustomization")
		return nil
	}
	return f
}

// check checks the fields of a kustomization.
func (b *build) check(f *kustomizeFile) {
	b.checkFields(f)
	b.checkGenerated(f)
	b.checkPatches(f)
	for i, p := range f.k.Resources {
		f.k.Resources[i] = b.resource(f, f.pos("resources", i), p)
	}
	b.renderCharts(f)
	for i, p := range f.deprecatedFields().bases {
		f.deprecatedFields().bases[i] = b.resource(f, f.pos("bases", i), p)
	}
	for i, p := range f.k.Components {
		if pos := f.pos("components", i); b.follows(p) {
			f.k.Components[i] = b.remoteEntry(f, pos, p, types.ComponentKind)
		} else if b.path(f, pos, p, true) {
			f.include(b.directory(pos, path.Join(f.dir, p), types.ComponentKind))
		}
	}
	for _, of := range []struct {
		field   string
		entries []string
	}{{"generators", f.k.Generators}, {"transformers", f.k.Transformers}, {"validators", f.k.Validators}} {
		for i, entry := range of.entries {
			b.plugin(f, f.pos(of.field, i), entry)
		}
	}
	for i, p := range f.k.Configurations {
		b.parsed(f, f.pos("configurations", i), p)
	}
	for i, p := range f.k.Crds {
		pos := f.pos("crds", i)
		if data, ok := b.parsed(f, pos, p); ok {
			b.definitions(pos, p, data)
		}
	}
	if f.objects += len(f.k.ConfigMapGenerator) + len(f.k.SecretGenerator); f.objects > maxKustomizeObjects {
		b.fault(diag.Pos{File: f.name}, fmt.Sprintf("%d objects exceed the limit of %d: the time of kustomize grows with the square of their number", f.objects, maxKustomizeObjects),
			"make it several releases")
	}
}

// maxKustomizeObjects is the maximum number of objects of a kustomization. Building so
// many takes seconds.
const maxKustomizeObjects = 2000

// checkFields reports fields that are not supported.
func (b *build) checkFields(f *kustomizeFile) {
	if len(f.k.OpenAPI) > 0 {
		b.fault(f.pos("openapi"), "a schema of one kustomization would also apply to all others", "leave it out, and write JSON patches for lists of custom resources")
	}
	// In a kustomization that another one includes, it has no effect.
	if i := slices.Index(f.k.BuildMetadata, types.ManagedByLabelOption); i >= 0 && len(b.stack) == 1 {
		b.fault(f.pos("buildMetadata", i), types.ManagedByLabelOption+" adds a label with the version of fleetc", "leave it out, and write the label under labels")
	}
	if k := f.k.Kind; k != "" && k != types.KustomizationKind && k != types.ComponentKind {
		b.fault(f.pos("kind"), "the kind is "+k, "write kind: "+types.KustomizationKind)
	}
	k := f.k
	k.FixKustomization()
	if k.CheckEmpty() != nil {
		b.fault(diag.Pos{File: f.name}, "an empty kustomization", emptyHint)
	}
}

// checkGenerated checks the files of ConfigMaps and Secrets.
func (b *build) checkGenerated(f *kustomizeFile) {
	each := func(field string, i int, kv types.KvPairSources) {
		for j, p := range kv.FileSources {
			b.path(f, f.pos(field, i, "files", j), keyed(p), false)
		}
		for j, p := range kv.EnvSources {
			b.path(f, f.pos(field, i, "envs", j), p, false)
		}
		if kv.EnvSource != "" {
			b.path(f, f.pos(field, i, "env"), kv.EnvSource, false)
		}
	}
	for i, g := range f.k.ConfigMapGenerator {
		each("configMapGenerator", i, g.KvPairSources)
	}
	for i, g := range f.k.SecretGenerator {
		each("secretGenerator", i, g.KvPairSources)
	}
}

// keyed returns the path of a generator's file without its optional key.
func keyed(source string) string {
	if key, name, ok := strings.Cut(source, "="); ok && key != "" && !strings.Contains(name, "=") {
		return name
	}
	return source
}

// checkPatches checks the files of patches and replacements.
func (b *build) checkPatches(f *kustomizeFile) {
	for i, p := range f.k.Patches {
		if p.Path != "" {
			b.parsed(f, f.pos("patches", i, "path"), p.Path)
		}
	}
	old := f.deprecatedFields()
	for i, p := range old.jsonPatches {
		if p.Path != "" {
			b.parsed(f, f.pos("patchesJson6902", i, "path"), p.Path)
		}
	}
	for i, p := range old.strategicMerge {
		if b.inline(string(p)) {
			f.texts[string(p)] = true
		} else {
			b.parsed(f, f.pos("patchesStrategicMerge", i), string(p))
		}
	}
	for i, r := range f.k.Replacements {
		if r.Path != "" {
			b.parsed(f, f.pos("replacements", i, "path"), r.Path)
		}
	}
}

// inline reports whether kustomize reads the text as objects, and not as the
// path of a file.
func (b *build) inline(text string) bool {
	_, err := b.resources.RF().SliceFromBytes([]byte(text))
	return err == nil
}

// follows reports whether a path is an address that the build follows.
func (b *build) follows(p string) bool { return b.Remotes != nil && remote(p) }

// resource checks an entry of resources: a file of objects, or a directory with
// a kustomization. It returns the entry for kustomize.
func (b *build) resource(f *kustomizeFile, pos diag.Pos, p string) string {
	name := path.Join(f.dir, p)
	switch {
	case b.follows(p):
		return b.remoteEntry(f, pos, p, types.KustomizationKind)
	case !b.path(f, pos, p, b.tree.IsDir(name)):
	case b.tree.IsDir(name):
		f.include(b.directory(pos, name, types.KustomizationKind))
	case IsKustomization(name):
		b.fault(pos, p+" is a kustomization file", "name its directory: "+path.Dir(p))
	default:
		b.objectFile(f, pos, name, p)
	}
	return p
}

// objectFile checks a file of objects.
func (b *build) objectFile(f *kustomizeFile, pos diag.Pos, name, entry string) {
	data, err := b.tree.read(name)
	if err != nil {
		b.pathFault(pos, entry+" "+readReason(err), "")
		return
	}
	if !b.yaml(name, data) {
		return
	}
	if m := b.objects(name, data); m != nil {
		f.objects += m.Size()
	}
}

// include adds the number of objects of an included kustomization.
func (f *kustomizeFile) include(other *kustomizeFile) {
	if other != nil {
		f.objects += other.objects
		if other.inherits && f.k.Namespace == "" {
			f.inherits, f.inherited = true, other.inherited
		}
	}
}

// objects reads a file of objects. It returns nil after a fault.
func (b *build) objects(name string, data []byte) resmap.ResMap {
	m, err := b.resources.NewResMapFromBytes(data)
	if err == nil {
		return m
	}
	pos, text := diag.Pos{File: name}, shorten(oneLine(err.Error()))
	for doc, err := range fleet.YAMLDocuments(data) {
		if err != nil {
			break
		}
		// Report the first document that is invalid on its own.
		if one, err := yaml.Marshal(doc); err == nil && len(doc.Content) == 1 && !b.inline(string(one)) {
			pos.Line = doc.Content[0].Line
			break
		}
	}
	if m := twice.FindStringSubmatch(text); m != nil {
		text = object(m[1]) + " occurs twice"
	}
	b.fault(pos, text, "correct the object here")
	return nil
}

// parsed checks the path of a file that kustomize parses, and returns its
// content.
func (b *build) parsed(f *kustomizeFile, pos diag.Pos, p string) ([]byte, bool) {
	if !b.path(f, pos, p, false) {
		return nil, false
	}
	name := path.Join(f.dir, filepath.ToSlash(p))
	data, err := b.tree.read(name)
	if err != nil {
		b.pathFault(pos, p+" "+readReason(err), "")
		return nil, false
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		b.fault(pos, p+" is empty", "write its content, or remove its name here")
		return nil, false
	}
	return data, b.yaml(name, data)
}

// path checks that a path in the file refers to a file or a directory below the
// root.
func (b *build) path(f *kustomizeFile, pos diag.Pos, p string, isDir bool) bool {
	if msg, hint := outside(f.dir, p); msg != "" {
		b.pathFault(pos, msg, hint)
		return false
	}
	info, err := b.tree.stat(path.Join(f.dir, filepath.ToSlash(p)))
	switch {
	case err != nil:
		b.missing(pos, f.dir, p, err)
	case isDir && !info.IsDir():
		b.fault(pos, p+" is a file: it must be a directory with a kustomization.yaml", "name the directory that contains it")
	case !isDir && info.IsDir():
		b.fault(pos, p+" is a directory: it must be a file", "name the files in it")
	case !isDir && !info.Mode().IsRegular():
		b.fault(pos, p+" is not a file", "name a file, not a device or a pipe")
	default:
		return true
	}
	return false
}

// maxNested limits the nesting of YAML in strings that is measured.
const maxNested = 4

// smallExpanded reports whether the YAML stays small when kustomize expands its
// aliases, including YAML in strings, such as patches. Invalid YAML is small.
func smallExpanded(data []byte) bool { return within(data, maxNested) }

func within(data []byte, nested int) bool {
	if !bytes.ContainsRune(data, '&') || !bytes.ContainsRune(data, '*') {
		return true
	}
	total := 0
	for doc, err := range fleet.YAMLDocuments(data) {
		if err != nil {
			return true
		}
		total += fleet.ExpandedYAMLSize(doc, func(text string) bool {
			return nested > 0 && strings.Contains(text, "*") && !within([]byte(text), nested-1)
		})
		if total > fleet.MaxExpandedYAML {
			return false
		}
	}
	return true
}

// scp matches the beginning of a git address for SSH.
var scp = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// remote reports whether kustomize could treat a path as an address. It has
// false positives, but no false negatives.
func remote(name string) bool {
	lower := strings.ToLower(name)
	if strings.Contains(lower, "://") || scp.MatchString(name) {
		return true
	}
	// A URL may have a scheme without a host.
	return slices.ContainsFunc([]string{"git::", "github.com/", "github.com:", "http:", "https:"}, func(prefix string) bool { return strings.HasPrefix(lower, prefix) })
}
