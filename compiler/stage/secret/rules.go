package secret

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/git"
)

// rule returns the rule for a file in the nearest .sops.yaml; nil if there is none.
func (f *Files) rule(name string) (*SOPSRule, error) {
	rules, err := f.rules.Get(path.Dir(path.Clean(name)), func() (*SOPSRules, error) {
		return findSOPSRules(func(name string) ([]byte, error) { return Read(f.root, name) }, name)
	})
	return rules.For(name), err
}

// Recipients returns the age recipients that the rule for a file names, sorted. It returns
// false for a file without a rule, and for a rule with other keys.
func (f *Files) Recipients(name string) ([]string, bool, error) {
	rule, err := f.rule(name)
	if err != nil || rule == nil || len(rule.Others) > 0 || len(rule.Recipients) == 0 {
		return nil, false, err
	}
	return rule.Recipients, true, nil
}

// Ruled returns the names of the files that the path_regex of a rule in a .sops.yaml
// matches, sorted. Links, .git and cue.mod are left out.
func (f *Files) Ruled() ([]string, error) {
	var out []string
	var faults diag.List
	reported := map[string]bool{} // by text
	err := filepath.WalkDir(f.root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.root, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if e.IsDir() && (git.IsDotGit(name) || e.Name() == "cue.mod") {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || e.Name() == sopsRulesFile {
			return nil
		}
		rule, err := f.rule(name)
		if err != nil && !reported[err.Error()] {
			reported[err.Error()] = true
			faults.Add(err)
		}
		if rule != nil && rule.NamesFiles() {
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeFileSystem, Msg: "the repository cannot be read: " + diag.Brief(err), Hint: "make its directories readable", Cause: err}
	}
	slices.Sort(out)
	return out, faults.Err()
}

// Check returns the faults of a file: plain text in it that the rule for it encrypts, and
// the faults of [Files.File] of one that SOPS has encrypted. It reports whether SOPS has.
func (f *Files) Check(name string) (encrypted bool, err error) {
	data, err := Read(f.root, name)
	if err != nil {
		return false, err
	}
	switch SOPSFormatOf(data) {
	case TreeFormat:
		_, err := f.File(name)
		return true, err
	case OtherFormat:
		return true, f.checkRecipients(name, OtherRecipients(data), "sops updatekeys")
	}
	rule, err := f.rule(name)
	if err != nil || rule == nil || !rule.NamesFiles() || !rule.Encrypts(data) {
		return false, err
	}
	return false, &diag.Diag{
		Code: diag.CodePlainText,
		At:   []diag.Pos{{File: name, Line: 1, Col: 1}, rule.Pos}, Msg: "the file is in plain text, and a rule of SOPS names it",
		Hint: "encrypt it: sops encrypt --in-place " + name + "; if it was committed before, replace its values",
	}
}
