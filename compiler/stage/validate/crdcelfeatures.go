package validate

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiserver/pkg/cel/environment"
)

// celFeatures lists the CEL features of the newest compatibility version that an
// older one lacks. Compiling a rule is slow; a rule without these features need
// not be compiled for the older version.
type celFeatures struct {
	names map[string]bool // functions, macros and types
	more  bool            // operators or the language itself differ
}

// newerThan compares the newest compatibility version with an older one.
func newerThan(compat minor) celFeatures {
	oldEnv, newEnv := environment.MustBaseEnvSet(compat.version()).NewExpressionsEnv(), environment.MustBaseEnvSet(newest().version()).NewExpressionsEnv()
	n := celFeatures{names: map[string]bool{}}
	const features = 64 // more than there are
	for f := range features {
		n.more = n.more || oldEnv.HasFeature(f) != newEnv.HasFeature(f)
	}
	for _, v := range oldEnv.Validators() {
		n.more = n.more || !newEnv.HasValidator(v.Name())
	}
	for name, f := range newEnv.Functions() {
		var overloads []string
		if old := oldEnv.Functions()[name]; old != nil {
			for _, o := range old.OverloadDecls() {
				overloads = append(overloads, o.ID())
			}
		}
		for _, o := range f.OverloadDecls() {
			if !slices.Contains(overloads, o.ID()) {
				n.add(name)
			}
		}
	}
	macros := map[string]bool{}
	for _, m := range oldEnv.Macros() {
		macros[m.MacroKey()] = true
	}
	for _, m := range newEnv.Macros() {
		if !macros[m.MacroKey()] {
			n.add(m.Function())
		}
	}
	types := map[string]bool{}
	for _, v := range oldEnv.Variables() {
		types[v.Name()] = true
	}
	for _, v := range newEnv.Variables() {
		if !types[v.Name()] {
			n.add(v.Name())
		}
	}
	return n
}

// newerThan returns the cached result of [newerThan].
func (k *CRDChecker) newerThan(compat minor) celFeatures {
	return k.celFeatures.Get(compat, func() celFeatures { return newerThan(compat) })
}

// add adds a name without its namespace. Names with an at sign are expansions
// of macros, which cannot be written, except for the operator in.
func (n *celFeatures) add(name string) {
	switch {
	case strings.Contains(name, "@") && name != "@in":
	case strings.ContainsFunc(name, func(c rune) bool { return c != '.' && notInName(c) }):
		n.more = true // an operator
	default:
		n.names[name[strings.LastIndexByte(name, '.')+1:]] = true
	}
}

// usedBy reports whether an expression may use one of the features.
func (n celFeatures) usedBy(expressions []string) bool {
	if n.more {
		return len(expressions) > 0
	}
	return slices.ContainsFunc(expressions, func(e string) bool {
		for name := range strings.FieldsFuncSeq(e, notInName) {
			if n.names[name] {
				return true
			}
		}
		return false
	})
}

func notInName(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }
