package importer

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// This file makes secrets of the fleet from files that SOPS encrypted and from references of
// vals. Nothing is decrypted: a reference takes the place of each value. Templates see the
// references, too. Each environment with secrets is evaluated a second time with other
// references, so that releases with values that templates compute from a secret are found.

// loadSecrets returns the values of the encrypted files of an environment.
func (e *environmentRun) loadSecrets(s *state, spec item) (map[string]any, error) {
	out := map[string]any{}
	handler := cmp.Or(textAt(spec.value, "missingFileHandler"), s.text("missingFileHandler"))
	var faults diag.List
	for _, entry := range spec.below("secrets") {
		name, _ := entry.value.(string)
		files, err := e.resolve(s.dir, name, handler, entry.at())
		faults.Add(err)
		for _, file := range files {
			content, err := e.read(file)
			if err != nil {
				faults.Add(&diag.Diag{Code: diag.CodeImportFile, At: []diag.Pos{entry.at()}, Msg: err.Error(), Hint: "correct the path"})
				continue
			}
			values, err := e.sopsValues(file, content, func(key, kind string) string {
				if kind != textKind && e.second {
					return "-" + kind // templates may decide by a number or a bool
				}
				return ""
			})
			if err == nil {
				out = fleet.MergeValues(out, values)
				continue
			}
			e.note(entry.at(), entry.title(), "environments.secrets", keepEncrypted(file, err))
			_, values, err = e.parse(file, content, plainLines(string(content), 1))
			if err != nil {
				continue // another format: no template can read it
			}
			delete(values, "sops")
			out = fleet.MergeValues(out, e.placeholders(values))
		}
	}
	return out, faults.Err()
}

// textKind is the type of encrypted texts.
const textKind = "str"

// sopsValues returns the values of an encrypted file, with references to secrets. suffix
// returns what follows the reference for a value; words begin the names of the secrets.
func (e *environmentRun) sopsValues(file string, content []byte, suffix func(key, kind string) string, words ...string) (map[string]any, error) {
	if path.Ext(file) == ".gotmpl" {
		return nil, &diag.Diag{Code: diag.CodeImportUnsupported, Msg: "the file is a template"}
	}
	f, err := secret.ParseSOPS(file, content)
	if err != nil {
		return nil, err
	}
	e.count(file, lineCount(content), 0)
	return f.Values(func(key, kind string) any {
		s := Secret{Name: secretName(append(words, key)...), File: file, Key: key, Content: content}
		ref := e.reference(s)
		e.hidden[ref] = kind == textKind // SOPS does not encrypt empty texts
		return ref + suffix(key, kind)
	})
}

// secondSuffix ends the names of secrets in the second evaluation.
const secondSuffix = "-second"

// reference returns the text that refers to a secret.
func (e *environmentRun) reference(s Secret) string {
	ref := e.cluster.AddSecret(s)
	e.hasSecrets = true
	if e.second {
		ref = fleet.MapReferences(ref, secondName)
	}
	e.hidden[ref] = false
	return ref
}

// secondName returns the reference to a secret in the second evaluation.
func secondName(_, name string) string { return fleet.Secret{Name: name + secondSuffix}.Reference() }

// keepEncrypted says what to do with an encrypted file that fleetc cannot use.
func keepEncrypted(file string, why error) string {
	return "the values of " + file + " are not imported: " + diag.All(why)[0].Msg + "; write them as YAML or JSON that sops encrypts, and import again"
}

// placeholders returns encrypted values with a placeholder for each.
func (e *environmentRun) placeholders(values map[string]any) map[string]any {
	out, _ := mapLeaves(values, nil, func(path []string, _ any) any {
		e.hasSecrets = true
		text := "${" + strings.Join(path, ".") + "}"
		if e.second {
			text = "$" + text
		}
		e.hidden[text] = false
		return text
	}).(map[string]any)
	return out
}

// releaseSecrets returns the values of the encrypted files of a release. It marks a release
// whose values are not all texts, or cannot be used.
func (e *environmentRun) releaseSecrets(d *helmfileRelease, out *Release) (map[string]any, error) {
	values := map[string]any{}
	for i, v := range listAt(d.value, "secrets") {
		at := d.at("secrets", fmt.Sprint(i))
		name, ok := v.(string)
		if !ok {
			out.Unproven = "some of its values are encrypted and are not imported"
			e.note(at, d.title(), "secrets", "the values in the helmfile are not imported: write them into a file that sops encrypts, and import again")
			continue
		}
		handler := cmp.Or(d.text("missingFileHandler"), d.state.text("missingFileHandler"))
		files, err := e.resolve(d.state.dir, d.text("valuesPathPrefix")+name, handler, at)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := e.read(file)
			if err != nil {
				return nil, &diag.Diag{Code: diag.CodeImportFile, At: []diag.Pos{at}, Msg: err.Error(), Hint: "correct the path"}
			}
			more, err := e.sopsValues(file, content, func(key, kind string) string {
				if kind != textKind {
					out.Unproven = cmp.Or(out.Unproven, "the encrypted value "+key+" is of type "+kind+", but a reference can only replace a string")
				}
				return ""
			}, d.name)
			if err != nil {
				out.Unproven = "some of its values are encrypted and are not imported"
				e.note(at, d.title(), "secrets", keepEncrypted(file, err))
			}
			values = fleet.MergeValues(values, more)
		}
	}
	return values, nil
}

// valsReference matches a reference of vals in a text: it ends at a plus sign, or with the
// text. Its groups are the backend, and the place in it.
var valsReference = regexp.MustCompile(`(?:secret)?ref\+([a-z0-9]+)://([^+]+)\+?`)

// A valsText says where texts with references of vals are.
type valsText struct {
	dir string   // to which paths are relative
	pos diag.Pos // for notes
	doc string   // for notes
}

// valsReferences returns a value with references to secrets in place of those of vals. words
// are the path of the value, which names the secrets.
func (e *environmentRun) valsReferences(v any, at valsText, words ...string) any {
	return mapLeaves(v, words, func(path []string, leaf any) any {
		text, ok := leaf.(string)
		if !ok {
			return leaf
		}
		return valsReference.ReplaceAllStringFunc(text, func(match string) string {
			m := valsReference.FindStringSubmatch(match)
			s := e.valsSecret(m[1], m[2], at)
			s.Name = secretName(path...)
			return e.reference(s)
		})
	})
}

// valsSecret returns the secret for a reference of vals. A reference to a value in an
// encrypted file of the repository does not need vals.
func (e *environmentRun) valsSecret(backend, place string, at valsText) Secret {
	out := Secret{Vals: "ref+" + backend + "://" + place}
	if backend != "sops" && backend != "file" && backend != "tfstate" {
		return out
	}
	name, field, _ := strings.Cut(place, "#/")
	if file, err := e.place(at.dir, name); err == nil && backend == "sops" {
		content, err := e.read(file)
		key := fleet.FieldText(strings.Split(field, "/"))
		if f, err2 := secret.ParseSOPS(file, content); err == nil && err2 == nil && f.Has(key) {
			return Secret{File: file, Key: key, Content: content}
		}
	}
	e.note(at.pos, at.doc, "values", "the path in ref+"+backend+"://... is relative to the root of the fleet now: copy the file there")
	return out
}

// compare marks the releases with values, objects or patches that templates compute from
// secrets: those that differ in the second evaluation by more than the references.
func (e *environmentRun) compare(other *environmentRun) {
	for _, d := range e.found {
		if d.out == nil {
			continue
		}
		e.noteDecisions(d)
		i := slices.IndexFunc(other.found, func(o *helmfileRelease) bool { return o.out != nil && o.out.Name == d.out.Name })
		if i >= 0 && !hasComputed(d.out.Nodes(), other.found[i].out.Nodes()) {
			continue
		}
		if len(e.cluster.Secrets) > 0 {
			e.note(d.at("values"), d.title(), "values", "a value is computed from an encrypted one, or is an encrypted number or bool: make the result a secret, see docs/secrets.md")
		}
		d.out.Unproven = cmp.Or(d.out.Unproven, "its values depend on encrypted values")
	}
}

// computedText is in place of a text that a template computes from a secret: the text itself
// would be computed from the reference.
const computedText = "${computed from a secret}"

// hasComputed reports whether nodes differ from those of the second evaluation. It replaces
// differing strings that have no whole reference and no placeholder.
func hasComputed(first, second []*Node) bool {
	found := len(first) != len(second)
	for i := range min(len(first), len(second)) {
		found = isComputed(first[i], second[i]) || found
	}
	return found
}

// isComputed is [hasComputed] for one node.
func isComputed(n, second *Node) bool {
	if n == nil || second == nil || n.IsMap != second.IsMap || n.IsList != second.IsList || len(n.Fields) != len(second.Fields) {
		return n != second
	}
	found := hasComputed(n.List, second.List)
	for _, f := range n.Fields {
		found = isComputed(f.Value, second.Get(f.Key)) || found
	}
	text, ok := n.Scalar.(string)
	if !ok {
		return found || n.Scalar != second.Scalar
	}
	if second.Scalar == fleet.MapReferences(text, secondName) {
		return found
	}
	hasPlaceholder := len(fleet.References(text)) > 0 || strings.Contains(text, "${")
	if !hasPlaceholder || fleet.HasDamagedReference(text) {
		n.Scalar = computedText
	}
	return true
}
