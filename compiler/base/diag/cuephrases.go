package diag

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A phrase translates a message of CUE. It completes the fault, which has the code, from
// the submatches of its pattern. say may change the code.
type phrase struct {
	cue  *regexp.Regexp
	code Code
	say  func(x *explanation, m []string)
}

// phrases is a list of translations. The first match applies. They name the mistake
// and the fix in terms of a fleet. They are compiled when there is a fault.
var phrases = sync.OnceValue(func() []phrase {
	return []phrase{
		{regexp.MustCompile(`^conflicting values (.+) and (.+) \(mismatched types (.+) and (.+)\)$`), CodeWrongType, (*explanation).otherType},
		{conflict, CodeConflict, (*explanation).twoValues},
		{regexp.MustCompile(`^(.+) is not one of (.+)$`), CodeConstraint, (*explanation).noneOf},
		{regexp.MustCompile(`^invalid value (.*) \(out of bound (.+)\)$`), CodeConstraint, (*explanation).outOfBound},
		{regexp.MustCompile(`^incomplete value (.+)$`), CodeMissingValue, (*explanation).noValue},
		{regexp.MustCompile(`^field is required but not present$`), CodeMissingValue, (*explanation).missing},
		{regexp.MustCompile(`^field not allowed$`), CodeUnknownField, (*explanation).unknownField},
		{regexp.MustCompile(`^undefined field: (.+)$`), CodeUnknownField, (*explanation).undefined},
		{regexp.MustCompile(`^cannot reference optional field: (.+)$`), CodeMissingValue, (*explanation).notSet},
		{regexp.MustCompile(`^reference "(.+)" not found$`), CodeUnknownName, (*explanation).notFound},
		{regexp.MustCompile(`^(?:structural cycle|cycle error|cycle with field: .*)$`), CodeCycle, saying("contains itself, or refers to itself", "set one of the fields to a value")},
		{regexp.MustCompile(`^adding field (.+) not allowed as field set was already referenced$`), CodeCycle, saying("the field $1 is added to the map that its loop or condition reads", "read another map in the loop or condition")},
		{regexp.MustCompile(`^cyclic references in let clause or alias$`), CodeCycle, (*explanation).letCycle},
		{regexp.MustCompile(`^invalid regexp: error parsing regexp: (.+)$`), CodeTextForm, (*explanation).brokenRegexp},
		{regexp.MustCompile(`^imported and not used: "([^"]+)"`), CodeUnknownName, (*explanation).unused},
		{regexp.MustCompile(`^(\S+) redeclared as imported package name\s+previous declaration at .*:(\d+):(\d+)$`), CodeUnknownName, (*explanation).namedLikeImport},
		{regexp.MustCompile(`^builtin package "(.+)" undefined$`), CodeUnknownName, (*explanation).noStandardPackage},
		{regexp.MustCompile(`^relative import paths not allowed \("(.+)"\)$`), CodeUnknownName, (*explanation).relativeImport},
		{regexp.MustCompile(`^cannot determine package name for "(.+)"; .*$`), CodeUnknownName, saying("no package is called $1", "correct the import path: package names have only letters, digits and _, as in environments/charts/my_app")},
		{regexp.MustCompile(`cannot (?:read|get syntax for) "(.+?)": the file (is larger than .+)$`), CodeFileSize, (*explanation).unread},
		{regexp.MustCompile(`^(the file is larger than .+)$`), CodeFileSize, saying("$1", "split it")},
		{regexp.MustCompile(`(?:cannot (?:read|get syntax for) "(.+?)": |^)this (points outside of .+|is in \.git.+)$`), CodeOutsideFleet, (*explanation).unread},
		{regexp.MustCompile(`^(?:cannot find package "(.+?)".*|no dependency found for package "(.+?)".*|cannot find module providing package (.+))$`), CodeUnknownName, (*explanation).noPackage},
		{regexp.MustCompile(`^invalid (?:(?:left|right)-hand value to|operands .* to) '(.)' \(type (?:struct|list)`), CodeExpression, saying("$1 cannot combine maps or lists", "write & between maps, and list.Concat([A, B]) for lists")},
		{regexp.MustCompile(`^Addition of lists is superseded by .*$`), CodeExpression, saying("+ cannot join lists", `import "list", and write list.Concat([A, B])`)},
		{regexp.MustCompile(`^Multiplication of lists is superseded by .*$`), CodeExpression, saying("* cannot repeat a list", `import "list", and write list.Repeat(LIST, COUNT)`)},
		{regexp.MustCompile(`^invalid operands (.+) and (.+) to '(.+)' \(type (.+) and (.+)\)$`), CodeExpression, saying("operator $3 cannot combine $1 ($K4) and $2 ($K5)", `convert a value to a string with "\(NAME)", or use two values of the same type`)},
		{regexp.MustCompile(`^invalid operation ([-+!])(.+) \(.*\)$`), CodeExpression, orSlip(saying("operator $1 cannot be applied to $2", "remove the $1"))},
		{regexp.MustCompile(`^cannot use .* \(type (\w+)\) as type \(.*\)$`), CodeExpression, saying("$K1 cannot be inserted into a string", `insert one of its fields: "\(NAME.FIELD)"`)},
		{regexp.MustCompile(`^(?:invalid list )?index out of range \[(\d+)\] with length (\d+)$`), CodeExpression, saying("element [$1] does not exist: the list has length $2", "count from 0: the first element is [0]")},
		{regexp.MustCompile(`^cannot use (.+) \(type (\w+)\) as (\w+) in argument (\d+) to (.+)$`), CodeExpression, saying("argument $4 of $5 must be $K3, got $1 ($K2)", "pass $K3")},
		{regexp.MustCompile(`^cannot use (.+) \(type (\w+)\) as type (\w+)$`), CodeExpression, saying("$1 is $K2, and must be $K3", "use a comparison as the condition, such as NAME == VALUE")},
		{regexp.MustCompile(`^cannot call non-function (.+?)\.(\w+) \(.*\)$`), CodeUnknownName, saying("package $1 has no function $2", "see https://pkg.go.dev/cuelang.org/go/pkg/$1 for its functions")},
		{regexp.MustCompile(`^error in call to (\S+): (?:strconv\.\w+: |json: |:)?(.*)$`), CodeExpression, saying("the call of $1 fails: $2", "correct its arguments")},
		{regexp.MustCompile(`^cannot range over (.+) \(found (\w+), want .*\)$`), CodeExpression, saying("a for loop requires a list or a map, got $1 ($K2)", "loop over a list or a map")},
		{regexp.MustCompile(`^(?:explicit error \(_\|_ literal\) in source)$`), CodeSyntax, saying("the value is the explicit error _|_", "remove it")},
		{regexp.MustCompile(`^unreferenced alias or let clause (.+)$`), CodeUnknownName, (*explanation).unreferenced},
		{regexp.MustCompile(`^integer fields not supported$`), CodeSyntax, saying("a field name must be a string, not a number", `convert it to a string, as in "\(NAME)"`)},
		{regexp.MustCompile(`^non-concrete value _ \(type _\)$`), CodeExpression, saying("a value inserted into the string is not set", "set it, or give it a default")},
		{regexp.MustCompile(`^non-concrete value .+ \(type (.+)\)$`), CodeExpression, (*explanation).notInserted},
		{regexp.MustCompile(`^unresolved disjunction (.+) \(type .+\)$`), CodeExpression, saying("a value inserted into the string is not set: it must be $1", "set it, or give it a default")},
		{regexp.MustCompile(`^required field missing: (\S+)$`), CodeMissingValue, saying("a value inserted here is not set: $1", "set it where this is used: $1: ...")},
		{regexp.MustCompile(`^key value of dynamic field must be concrete, found .*$`), CodeExpression, saying("the name of a field, in parentheses, is not set", "set it, or give it a default")},
		{regexp.MustCompile(`^incompatible (?:number|integer) bounds (.+) and (.+)$`), CodeConstraint, saying("no value satisfies both $1 and $2", "change one of them")},
		{regexp.MustCompile(`^extern attribute must appear before package clause$`), CodeSyntax, saying("@extern(embed) must be above the package clause", "move it to the top of the file")},
		{regexp.MustCompile(`^@embed: .*streaming not implemented.*$`), CodeEmbeddedFile, saying("the embedded file has several documents", "split it into one file per document, and embed one of them")},
		{regexp.MustCompile(`^@embed: .*conflicting values (.+) and (.+)$`), CodeEmbeddedFile, saying("the embedded file has a duplicate key, with the values $1 and $2", "remove one of the lines")},
		{regexp.MustCompile(`^@embed: (?:failed to decode file|read file \S+|open [^:]+): .*no such file.*$`), CodeEmbeddedFile, saying("@embed names a file that does not exist", "put the file next to this one, or correct its name")},
		{regexp.MustCompile(`^@embed: failed to decode file: (.+):(\d+): cannot decode "(.+)" as !!(?:int|float):.*$`), CodeEmbeddedFile, (*explanation).yamlNumber},
		{regexp.MustCompile(`^@embed: failed to decode file: (\S+\.ya?ml)(?::(\d+))?: (.*)$`), CodeEmbeddedFile, (*explanation).yamlSyntax},
		{regexp.MustCompile(`^@embed: (?:failed to decode file|read file \S+|open [^:]+): (.*)$`), CodeEmbeddedFile, saying("@embed cannot read its file: $1", "correct the file")},
		{regexp.MustCompile(`^@embed: (?:path not normalized|cannot refer to parent directory).*$`), CodeEmbeddedFile, saying("@embed can read only files in its own directory and below", "copy the file next to this one, and write @embed(file=values.yaml)")},
		{regexp.MustCompile(`^@embed$`), CodeEmbeddedFile, saying("@embed names a file that does not exist or cannot be read", "put the file next to this one, or correct its name")},
		{regexp.MustCompile(`^@embed: (?:parse error: illegal number start "(.+)"|(?:invalid JSON for file "[^"]*": )?(.*))$`), CodeSyntax, (*explanation).embedded},
		{regexp.MustCompile(`^incompatible list lengths \(0 and \d+\)$`), CodeConstraint, saying("the list is empty", "add at least one element")},
		{regexp.MustCompile(`^incompatible list lengths \((\d+) and (\d+)\)$`), CodeConflict, saying("the list is set twice, with $1 and $2 elements", "write the whole list in one layer: layers cannot add to a list")},
		{regexp.MustCompile(`^(an expression has more than \d+ operators in a row|a value is nested in more than \d+ fields and brackets)$`), CodeSyntax, saying("$1", "split it into several fields")},
		{regexp.MustCompile(`^preference mark not allowed at this position$`), CodeSyntax, orSlip(saying("* marks the default among several values, and there is only one value here", `write the string "*", or refer to a shared value by its name: _shared`))},
	}
})

// alternatives are the disjunctions for which CUE reports the error of each alternative, after
// an error that only counts them.
type alternatives struct {
	of     map[string]bool     // paths of disjunctions
	causes map[string][]string // by path, messages that are not about one alternative
}

// add adds the fault of a path, in CUE's order; nil for an error that counts others.
func (a *alternatives) add(path string, d *Diag) {
	switch {
	case d == nil:
		a.of[path] = true
	case causeOf(d) != d.Msg: // an interpolation that uses the field
	case strings.HasPrefix(d.Msg, "invalid value"), conflict.MatchString(d.Msg) && !a.of[path]:
		a.causes[path] = append(a.causes[path], d.Msg)
	}
}

// withoutOthers removes conflicts with alternatives of a disjunction, such as its default, if
// another error is the cause. For example, 0 for *2 | int & >=1 is too small.
func (a *alternatives) withoutOthers(l List) List {
	return slices.DeleteFunc(l, func(d *Diag) bool {
		msg, causes := causeOf(d), a.causes[d.Path]
		return a.of[d.Path] && len(causes) > 0 && conflict.MatchString(msg) && !slices.Contains(causes, msg)
	})
}
