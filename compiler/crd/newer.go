package crd

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiserver/pkg/cel/environment"
)

// A newer is what rules of CRDs can say with the newest compatibility version and
// not with an older one, or not in every way. Compiling a rule takes long; one
// that says nothing of this compiles with both alike.
type newer struct {
	names map[string]bool // of functions, macros and types
	more  bool            // the language itself differs
}

// newerThan compares the newest compatibility version with an older one.
func newerThan(compat minor) newer {
	was, is := environment.MustBaseEnvSet(compat.version()).NewExpressionsEnv(), environment.MustBaseEnvSet(newest().version()).NewExpressionsEnv()
	n := newer{names: map[string]bool{}}
	const features = 64 // more than there are
	for f := range features {
		n.more = n.more || was.HasFeature(f) != is.HasFeature(f)
	}
	for _, v := range was.Validators() {
		n.more = n.more || !is.HasValidator(v.Name())
	}
	for name, f := range is.Functions() {
		var known []string
		if old := was.Functions()[name]; old != nil {
			for _, o := range old.OverloadDecls() {
				known = append(known, o.ID())
			}
		}
		for _, o := range f.OverloadDecls() {
			if !slices.Contains(known, o.ID()) {
				n.add(name)
			}
		}
	}
	macros := map[string]bool{}
	for _, m := range was.Macros() {
		macros[m.MacroKey()] = true
	}
	for _, m := range is.Macros() {
		if !macros[m.MacroKey()] {
			n.add(m.Function())
		}
	}
	types := map[string]bool{}
	for _, v := range was.Variables() {
		types[v.Name()] = true
	}
	for _, v := range is.Variables() {
		if !types[v.Name()] {
			n.add(v.Name())
		}
	}
	return n
}

// newerThan is [newerThan], once for each version.
func (k *Checker) newerThan(compat minor) newer {
	return k.newer.Get(compat, func() newer { return newerThan(compat) })
}

// add adds a name, without the names in front of it. What has an at sign is what
// macros stand for: nobody can write it, but for the operator in.
func (n *newer) add(name string) {
	switch {
	case strings.Contains(name, "@") && name != "@in":
	case strings.ContainsFunc(name, func(c rune) bool { return c != '.' && notInName(c) }):
		n.more = true // an operator
	default:
		n.names[name[strings.LastIndexByte(name, '.')+1:]] = true
	}
}

// in reports whether one of the expressions may say something new.
func (n newer) in(expressions []string) bool {
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
