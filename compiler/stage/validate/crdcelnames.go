package validate

import (
	"fmt"
	"strings"
	"unicode"

	"k8s.io/apiserver/pkg/cel/environment"
)

// celDifferences returns the names of the CEL functions, macros and types that differ
// between the newest compatibility version and an older one. Compiling a rule is slow;
// a rule without these names need not be compiled for the older version. The name ""
// stands for differences that any rule may use, such as operators.
func celDifferences(compat minor) map[string]bool {
	older, latest := celDeclarations(compat), celDeclarations(newest())
	names := map[string]bool{}
	for _, pair := range [][2]map[string]string{{older, latest}, {latest, older}} {
		for id, name := range pair[0] {
			if _, ok := pair[1][id]; !ok {
				names[name] = true
			}
		}
	}
	return names
}

// celDeclarations returns the names by which rules use the features of CEL, by IDs of
// the features. Functions whose names have an at sign are expansions of macros, which
// rules cannot name, except for the operator in.
func celDeclarations(compat minor) map[string]string {
	env := environment.MustBaseEnvSet(compat.version()).NewExpressionsEnv()
	names := map[string]string{}
	const features = 64 // more than there are
	for f := range features {
		names[fmt.Sprint("feature ", f, env.HasFeature(f))] = ""
	}
	for _, v := range env.Validators() {
		names["validator "+v.Name()] = ""
	}
	for name, f := range env.Functions() {
		if strings.Contains(name, "@") && name != "@in" {
			continue
		}
		short := name[strings.LastIndexByte(name, '.')+1:]
		if strings.ContainsFunc(short, notInName) {
			short = "" // an operator
		}
		for _, o := range f.OverloadDecls() {
			names["function "+name+" "+o.ID()] = short
		}
	}
	for _, m := range env.Macros() {
		names["macro "+m.MacroKey()] = m.Function()
	}
	for _, v := range env.Variables() {
		names["type "+v.Name()] = v.Name()[strings.LastIndexByte(v.Name(), '.')+1:]
	}
	return names
}

// usesName reports whether a CEL expression contains one of the names.
func usesName(expression string, names map[string]bool) bool {
	if names[""] {
		return expression != ""
	}
	for name := range strings.FieldsFuncSeq(expression, notInName) {
		if names[name] {
			return true
		}
	}
	return false
}

func notInName(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }
