package secret

import (
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// rulesText has rules with two recipients.
func rulesText(t testing.TB) string {
	return strings.NewReplacer("KEY", publicKey(t, "key.txt"), "OTHER", publicKey(t, "other.txt")).Replace(`keys:
  - &key KEY
creation_rules:
  - path_regex: ^prod/.*\.yaml$
    encrypted_regex: ^(data|stringData)$
    age: OTHER, KEY,
  - path_regex: list
    age: [*key]
  - path_regex: group
    kms: ignored
    key_groups:
      - age: [*key]
        pgp: [x]
        merge: [{age: [OTHER]}]
  - path_regex: shamir
    key_groups: [{age: [*key]}, {age: [OTHER]}]
  - path_regex: kms
    kms: arn
  - age: age1yubikey1qfake
`)
}

// The rules choose the recipients that the sops program chooses.
func TestRules(t *testing.T) {
	r, err := parseSOPSRules("a/.sops.yaml", []byte(rulesText(t)))
	if err != nil {
		t.Fatal(err)
	}
	key, other := publicKey(t, "key.txt"), publicKey(t, "other.txt")
	both := []string{other, key}
	for file, want := range map[string]*SOPSRule{
		"a/prod/x.yaml":      {Pos: diag.Pos{File: "a/.sops.yaml", Line: 4, Col: 5}, Recipients: both, keys: regexp.MustCompile(secretFields)},
		"a/prod/list.json":   {Pos: diag.Pos{File: "a/.sops.yaml", Line: 7, Col: 5}, Recipients: []string{key}},
		"a/group.yaml":       {Pos: diag.Pos{File: "a/.sops.yaml", Line: 9, Col: 5}, Recipients: both, Others: []string{"pgp"}},
		"a/shamir.yaml":      {Pos: diag.Pos{File: "a/.sops.yaml", Line: 15, Col: 5}, Others: []string{"key_groups"}},
		"a/kms.yaml":         {Pos: diag.Pos{File: "a/.sops.yaml", Line: 17, Col: 5}, Others: []string{"kms"}},
		"a/b/prod/last.yaml": {Pos: diag.Pos{File: "a/.sops.yaml", Line: 19, Col: 5}, Recipients: []string{"age1yubikey1qfake"}},
	} {
		got := *r.For(file)
		got.paths = nil
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("%s: got %+v\nwant %+v", file, got, want)
		}
	}
}

// The sops program encrypts for the recipients of the rules.
func TestRulesOfProgram(t *testing.T) {
	rules := written(t, ".sops.yaml", []byte(rulesText(t)))
	r, err := parseSOPSRules(".sops.yaml", []byte(rulesText(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prod/x.yaml", "list.yaml"} {
		data, err := runSOPS(t, "key.txt", "--config", rules, "encrypt", "--filename-override", filepath.Join(filepath.Dir(rules), name), written(t, "x.yaml", []byte("data: x\n")))
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseSOPS(name, data)
		if err != nil {
			t.Fatal(err)
		}
		if missing, surplus := CompareRecipients(r.For(name).Recipients, f.Recipients()); len(missing)+len(surplus) > 0 {
			t.Errorf("%s: missing %q, surplus %q", name, missing, surplus)
		}
	}
}

func TestFindRules(t *testing.T) {
	files := map[string]string{".sops.yaml": "creation_rules: [{path_regex: ^a/, kms: root}]", "a/b/.sops.yaml": "creation_rules: [{path_regex: ^x, kms: deep}]"}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	for file, want := range map[string]string{"a/x.yaml": ".sops.yaml", "a/b/x.yaml": "a/b/.sops.yaml", "a/b/c/x.yaml": "", "x.yaml": ""} {
		r, err := findSOPSRules(read, file)
		if err != nil {
			t.Fatal(err)
		}
		if rule := r.For(file); (rule == nil) != (want == "") || rule != nil && rule.Pos.File != want {
			t.Errorf("%s: %+v, want a rule of %q", file, rule, want)
		}
	}
	delete(files, ".sops.yaml")
	if r, err := findSOPSRules(read, "a/x.yaml"); r.For("a/x.yaml") != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := findSOPSRules(func(string) ([]byte, error) { return nil, fs.ErrPermission }, "x"); err == nil {
		t.Error("a file that cannot be read is ignored")
	}
}

func TestRulesFaults(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":                                      ".sops.yaml: the file is not valid YAML",
		"creation_rules: x":                         ".sops.yaml:1:17: creation_rules: the rules are not a list",
		"creation_rules: [x]":                       ".sops.yaml:1:18: creation_rules: the rule is not a map",
		"creation_rules:\n- path_regx: x":           ".sops.yaml:2:3: creation_rules: unknown field path_regx in a rule",
		"creation_rules:\n- path_regex: (":          ".sops.yaml:2:15: creation_rules.path_regex: invalid regular expression",
		"creation_rules:\n- age: x":                 ".sops.yaml:2:3: creation_rules.age: the recipient x is not valid",
		"creation_rules:\n- age: [{a: b}]":          ".sops.yaml:2:8: creation_rules.age: a recipient is not a string",
		"creation_rules:\n- path_regex: [x]":        ".sops.yaml:2:3: creation_rules: the rule is not valid",
		"creation_rules:\n- key_groups: [{age: x}]": ".sops.yaml:2:3: creation_rules: the rule is not valid",
	} {
		_, err := parseSOPSRules(".sops.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		for _, d := range diag.All(err) {
			if d.Hint == "" || len(d.At) == 0 {
				t.Errorf("%q has no hint or position", d.Msg)
			}
		}
	}
}

func TestCompareRecipients(t *testing.T) {
	missing, surplus := CompareRecipients([]string{"b", "a", "c", "a"}, []string{"c", "d", "d"})
	if !reflect.DeepEqual(missing, []string{"a", "b"}) || !reflect.DeepEqual(surplus, []string{"d"}) {
		t.Errorf("missing %q, surplus %q", missing, surplus)
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(rulesText(f)), "prod/x.yaml")
	f.Add([]byte("creation_rules: &a [*a]"), "x")
	f.Add([]byte("creation_rules: [{<<: &a {<<: *a}, age: *a}]"), "x")
	f.Fuzz(func(_ *testing.T, data []byte, file string) {
		if r, err := parseSOPSRules(".sops.yaml", data); err == nil {
			r.For(file)
		}
	})
}
