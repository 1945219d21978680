package secret

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// sopsRulesFile is the name of the file with which the sops program chooses recipients:
// https://getsops.io/docs/#using-sopsyaml-conf-to-select-kms-pgp-and-age-for-new-files.
const sopsRulesFile = ".sops.yaml"

// SOPSRules are the creation rules of a file .sops.yaml.
type SOPSRules struct {
	name  string
	rules []SOPSRule
}

// A SOPSRule chooses the recipients of the files that its regular expression matches.
type SOPSRule struct {
	Pos        diag.Pos
	Recipients []string       // of age, sorted
	Others     []string       // names of its fields with other keys, sorted
	paths      *regexp.Regexp // nil matches all
	keys       *regexp.Regexp // of encrypted values; nil for all
	suffix     string         // of the keys of encrypted values; empty for all
}

// creationRule is a rule as in the file. The other fields of ruleFields do not change
// which recipients a file has.
type creationRule struct {
	PathRegex      string     `yaml:"path_regex"`
	Age            yaml.Node  `yaml:"age"`
	KeyGroups      []keyGroup `yaml:"key_groups"`
	EncryptedRegex string     `yaml:"encrypted_regex"`
	Suffix         string     `yaml:"encrypted_suffix"`
	Threshold      int        `yaml:"shamir_threshold"`
}

// keyGroup is a list of keys of which one is needed.
type keyGroup struct {
	Merge []keyGroup           `yaml:"merge"`
	Age   []string             `yaml:"age"`
	Rest  map[string]yaml.Node `yaml:",inline"`
}

// otherKeys are the fields of rules and key groups with keys that are not of age.
var otherKeys = []string{"azure_keyvault", "gcp_kms", "hc_vault", "hc_vault_transit_uri", "hckms", "kms", "pgp"}

// ruleFields are all fields of a rule.
var ruleFields = append([]string{
	"age", "aws_profile", "encrypted_comment_regex", "encrypted_regex", "encrypted_suffix", "key_groups", "mac_only_encrypted",
	"path_regex", "shamir_threshold", "unencrypted_comment_regex", "unencrypted_regex", "unencrypted_suffix",
}, otherKeys...)

// findSOPSRules returns the rules of the nearest .sops.yaml of a file, in its directory or one
// above it; nil when there is none. Names are relative to the root and slash-separated.
// read returns the content of a file, or [fs.ErrNotExist].
func findSOPSRules(read func(name string) ([]byte, error), file string) (*SOPSRules, error) {
	for _, name := range SOPSRulesFiles(file) {
		data, err := read(name)
		if err == nil {
			return parseSOPSRules(name, data)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}

// SOPSRulesFiles returns the names of the files that may have the rule for a file, the nearest
// first.
func SOPSRulesFiles(file string) []string {
	var out []string
	for dir := path.Dir(path.Clean(file)); ; dir = path.Dir(dir) {
		out = append(out, path.Join(dir, sopsRulesFile))
		if dir == "." || dir == "/" {
			return out
		}
	}
}

// parseSOPSRules reads a file .sops.yaml. name is its path for positions.
func parseSOPSRules(name string, data []byte) (*SOPSRules, error) {
	r := &SOPSRules{name: name}
	at := func(n *yaml.Node) []diag.Pos { return []diag.Pos{{File: name, Line: n.Line, Col: n.Column}} }
	var root yaml.Node
	if len(data) > maxSize || yaml.Unmarshal(data, &root) != nil {
		return nil, &diag.Diag{Code: diag.CodeSOPSRules, At: []diag.Pos{{File: name}}, Msg: "the file is not valid YAML", Hint: "write the rules as in the documentation of SOPS"}
	}
	if len(root.Content) == 0 {
		return r, nil
	}
	if root.Content[0].Kind != yaml.MappingNode {
		return nil, &diag.Diag{Code: diag.CodeSOPSRules, At: at(root.Content[0]), Msg: "the file is not a map", Hint: "write creation_rules: and the list of rules below it"}
	}
	list := child(root.Content[0], "creation_rules")
	if list == nil {
		return r, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, &diag.Diag{Code: diag.CodeSOPSRules, At: at(list), Path: "creation_rules", Msg: "the rules are not a list", Hint: "begin each rule with a dash"}
	}
	var faults diag.List
	for _, n := range list.Content {
		rule, err := parseRule(n, at)
		if err != nil {
			faults.Add(err)
			continue
		}
		r.rules = append(r.rules, *rule)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// parseRule reads a rule. at returns the position of a node.
func parseRule(n *yaml.Node, at func(*yaml.Node) []diag.Pos) (*SOPSRule, error) {
	wrong := func(n *yaml.Node, path, msg, hint string) error {
		return &diag.Diag{Code: diag.CodeSOPSRules, At: at(n), Path: "creation_rules" + path, Msg: msg, Hint: hint}
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil, wrong(n, "", "the rule is not a map", "write path_regex and age")
	}
	rule := &SOPSRule{Pos: at(n)[0]}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !slices.Contains(ruleFields, key.Value) && key.Value != "<<" {
			return nil, wrong(key, "", "unknown field "+diag.Visible(key.Value, diag.MaxText)+" in a rule: sops ignores it", diag.OneOf(key.Value, ruleFields))
		}
		if slices.Contains(otherKeys, key.Value) {
			rule.Others = append(rule.Others, key.Value)
		}
	}
	var in creationRule
	if err := n.Decode(&in); err != nil {
		return nil, wrong(n, "", "the rule is not valid", "write path_regex as a string and age as a list of recipients")
	}
	rule.suffix = in.Suffix
	for _, re := range []struct {
		field, text string
		into        **regexp.Regexp
	}{{"path_regex", in.PathRegex, &rule.paths}, {"encrypted_regex", in.EncryptedRegex, &rule.keys}} {
		if re.text == "" {
			continue
		}
		compiled, err := regexp.Compile(re.text)
		if err != nil {
			return nil, wrong(child(n, re.field), "."+re.field, "invalid regular expression: "+diag.Brief(err), "correct it")
		}
		*re.into = compiled
	}
	if !rule.addAge(&in.Age) {
		return nil, wrong(&in.Age, ".age", "a recipient is not a string", "write a list of recipients that begin with age1")
	}
	if len(in.KeyGroups) > 0 { // sops ignores the keys beside key groups
		rule.Recipients, rule.Others = nil, nil
		if len(in.KeyGroups) > 1 {
			rule.Others = []string{"key_groups"}
		} else {
			rule.addGroup(in.KeyGroups[0])
		}
	}
	return rule.checked(wrong, n)
}

// add adds age recipients, which commas may separate.
func (r *SOPSRule) add(recipients ...string) {
	for _, list := range recipients {
		r.Recipients = append(r.Recipients, fleet.ListItems(list)...)
	}
}

// addAge adds the age recipients of a field: a text or a list of texts.
func (r *SOPSRule) addAge(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.SequenceNode {
		r.add(n.Value)
		return n.Kind == 0 || n.Kind == yaml.ScalarNode
	}
	var list []string
	if n.Decode(&list) != nil {
		return false
	}
	r.add(list...)
	return true
}

// addGroup adds the keys of a group.
func (r *SOPSRule) addGroup(g keyGroup) {
	r.add(g.Age...)
	for _, merged := range g.Merge {
		r.addGroup(merged)
	}
	for name := range g.Rest {
		if slices.Contains(otherKeys, name) {
			r.Others = append(r.Others, name)
		}
	}
}

// checked sorts the keys of a rule and checks them.
func (r *SOPSRule) checked(wrong func(n *yaml.Node, path, msg, hint string) error, n *yaml.Node) (*SOPSRule, error) {
	r.Recipients, r.Others = diag.Distinct(r.Recipients), diag.Distinct(r.Others)
	for _, recipient := range r.Recipients {
		if isPlugin(recipient) {
			continue
		}
		if _, err := parseRecipient(recipient); err != nil {
			return nil, wrong(n, ".age", "the recipient "+diag.Visible(recipient, diag.MaxText)+" is not valid", "write the public key that age-keygen prints")
		}
	}
	return r, nil
}

// isPlugin reports whether a recipient needs a plugin of age, such as age1yubikey1...
func isPlugin(recipient string) bool {
	return strings.HasPrefix(recipient, "age1") && !strings.HasPrefix(recipient, "age1pq1") && strings.Count(recipient, "1") > 1
}

// NamesKeys reports whether the rule says for which keys a file is encrypted. A rule without
// keys leaves them to the command line of sops, and several key groups are not compared.
func (r *SOPSRule) NamesKeys() bool {
	return len(r.Recipients) > 0 || len(r.Others) > 0 && !slices.Contains(r.Others, "key_groups")
}

// For returns the rule for a file: the first one that matches its path relative to the
// rules. file is relative to the root. It returns nil when there is none.
func (r *SOPSRules) For(file string) *SOPSRule {
	if r == nil {
		return nil
	}
	file = strings.TrimPrefix(path.Clean(file), strings.TrimPrefix(path.Dir(r.name)+"/", "./"))
	for i := range r.rules {
		if re := r.rules[i].paths; re == nil || re.MatchString(file) {
			return &r.rules[i]
		}
	}
	return nil
}

// CompareRecipients returns the wanted recipients that are missing, and those that are
// there and not wanted, sorted.
func CompareRecipients(want, got []string) (missing, surplus []string) {
	without := func(of, others []string) []string {
		return slices.DeleteFunc(diag.Distinct(slices.Clone(of)), func(r string) bool { return slices.Contains(others, r) })
	}
	return without(want, got), without(got, want)
}
