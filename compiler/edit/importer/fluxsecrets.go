package importer

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// encryptedValue returns the reference to the secret for a key of a Secret that SOPS
// encrypted. words name the secret. It says why there is none.
func (s *fluxState) encryptedValue(source *fluxObject, key string, words ...string) (reference, why string) {
	field := []string{"stringData", key}
	switch {
	case source.doc == nil:
		return "", "its file is unknown"
	case valueAt(source.content, field...) == nil:
		return "", "the value is under data, as base64, which fleetc does not decode: move it to stringData with sops edit, and import again"
	}
	content, err := os.ReadFile(filepath.Join(s.Work, filepath.FromSlash(source.doc.File)))
	if err != nil {
		return "", "its file cannot be read"
	}
	f, err := secret.ParseSOPS(source.doc.File, content)
	if err != nil {
		return "", diag.All(err)[0].Msg
	}
	text := fleet.FieldText(field)
	if f.Ciphertext(text) != textAt(source.content, field...) {
		return "", "a patch changes it"
	}
	s.noteRecipients(f)
	return s.out.AddSecret(Secret{Name: secretName(words...), File: source.doc.File, Key: text, Content: content}), ""
}

// encryptedValues returns the values of a file that SOPS encrypted and a generator put into
// a Secret, with references to secrets. words begin the names of the secrets. It says which
// part is unknown.
func (s *fluxState) encryptedValues(source *fluxObject, key, text string, words ...string) (values map[string]any, unproven string, err error) {
	file := s.generatedFrom(source, key, text)
	f, err := secret.ParseSOPS(file, []byte(text))
	if err != nil {
		return nil, "", err
	}
	s.noteRecipients(f)
	values, err = f.Values(func(key, kind string) any {
		if kind != "str" {
			unproven = cmp.Or(unproven, "the encrypted value "+key+" is of type "+kind+", but a reference can only replace a string")
		}
		return s.out.AddSecret(Secret{Name: secretName(append(words, key)...), File: file, Key: key, Content: []byte(text)})
	})
	return values, unproven, err
}

// isEncryptedFile reports whether a text is a YAML file that SOPS encrypted.
func isEncryptedFile(text string) bool {
	var content map[string]any
	return strings.Contains(text, "ENC[AES256_GCM,") && yaml.Unmarshal([]byte(text), &content) == nil && textAt(content, "sops", "mac") != ""
}

// noteEncryptedFiles marks a release with a Secret that a generator makes of an encrypted
// file: Flux decrypts the file before.
func (s *fluxState) noteEncryptedFiles(o *fluxObject, r *Release) {
	data, _ := stringData(o.content)
	for _, key := range sortedKeys(data) {
		if o.kind() == "Secret" && isEncryptedFile(data[key]) {
			r.Unproven = "Flux decrypts a file in " + o.title()
			s.model.Note(Note{
				Pos: s.at(o), Doc: o.title(), Field: "data",
				Do: "the file in it stays encrypted: if only HelmReleases read this Secret, remove it; otherwise write it as an object whose values refer to secrets",
			})
		}
	}
}

// generatedFrom returns the file of which a generator made a key of a Secret: one with its
// text in the kustomization, or a path below the directory of the Kustomization that names
// the Secret and the key.
func (s *fluxState) generatedFrom(o *fluxObject, key, text string) string {
	dir := path.Dir(o.origin)
	data, _ := os.ReadFile(filepath.Join(s.Work, filepath.FromSlash(o.origin)))
	var content map[string]any
	if yaml.Unmarshal(data, &content) == nil {
		for _, generator := range listAt(content, "secretGenerator") {
			for _, entry := range listAt(generator, "files") {
				name, _ := entry.(string)
				file := path.Join(dir, name[strings.Index(name, "=")+1:])
				if !filepath.IsLocal(filepath.FromSlash(file)) {
					continue
				}
				if content, err := os.ReadFile(filepath.Join(s.Work, filepath.FromSlash(file))); err == nil && string(content) == text {
					return file
				}
			}
		}
	}
	return path.Join(o.stage.dir, o.name()+"."+key+".sops.yaml")
}

// ageKey matches the keys that cluster.sops takes: neither SSH keys nor those of plugins.
var ageKey = regexp.MustCompile(`^age1[0-9a-z]{58}$`)

// noteRecipients removes the cluster's keys that cannot decrypt the file: the key of Flux can
// decrypt all files.
func (s *fluxState) noteRecipients(f *secret.SOPSFile) {
	keys := f.Recipients()
	if s.out.Age == nil {
		s.out.Age = append([]string{}, keys...)
	}
	s.out.Age = slices.DeleteFunc(s.out.Age, func(key string) bool { return !slices.Contains(keys, key) || !ageKey.MatchString(key) })
}
