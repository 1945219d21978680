package cuediag

import (
	"regexp"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A phrase translates a message of CUE. It completes the fault, which has the code, from
// the submatches of its pattern. say may change the code.
type phrase struct {
	cue  *regexp.Regexp
	code diag.Code
	say  func(x *explanation, m []string)
}

// phrases is a list of translations. The first match applies. They name the mistake
// and the fix in terms of a fleet.
var phrases = []phrase{
	{regexp.MustCompile(`^conflicting values (.+) and (.+) \(mismatched types (.+) and (.+)\)$`), diag.CodeWrongType, (*explanation).otherType},
	{conflict, diag.CodeConflict, (*explanation).twoValues},
	{regexp.MustCompile(`^(.+) is none of (.+)$`), diag.CodeConstraint, (*explanation).noneOf},
	{regexp.MustCompile(`^invalid value (.*) \(out of bound (.+)\)$`), diag.CodeConstraint, (*explanation).outOfBound},
	{regexp.MustCompile(`^incomplete value (.+)$`), diag.CodeMissingValue, (*explanation).noValue},
	{regexp.MustCompile(`^field is required but not present$`), diag.CodeMissingValue, (*explanation).missing},
	{regexp.MustCompile(`^field not allowed$`), diag.CodeUnknownField, (*explanation).unknownField},
	{regexp.MustCompile(`^undefined field: (.+)$`), diag.CodeUnknownField, (*explanation).undefined},
	{regexp.MustCompile(`^cannot reference optional field: (.+)$`), diag.CodeMissingValue, (*explanation).notSet},
	{regexp.MustCompile(`^reference "(.+)" not found$`), diag.CodeUnknownName, (*explanation).notFound},
	{regexp.MustCompile(`^(?:structural cycle|cycle error|cycle with field: .*)$`), diag.CodeCycle, saying("contains itself, or refers to itself", "set one of the fields to a value")},
	{regexp.MustCompile(`^cyclic references in let clause or alias$`), diag.CodeCycle, (*explanation).letCycle},
	{regexp.MustCompile(`^invalid regexp: error parsing regexp: (.+)$`), diag.CodeTextForm, (*explanation).brokenRegexp},
	{regexp.MustCompile(`^imported and not used: "([^"]+)"`), diag.CodeUnknownName, (*explanation).unused},
	{regexp.MustCompile(`^builtin package "(.+)" undefined$`), diag.CodeUnknownName, (*explanation).noStandardPackage},
	{regexp.MustCompile(`^relative import paths not allowed \("(.+)"\)$`), diag.CodeUnknownName, (*explanation).relativeImport},
	{regexp.MustCompile(`^cannot determine package name for "(.+)"; .*$`), diag.CodeUnknownName, saying("no package is called $1", "correct the import path: names of packages have letters, digits and _, as in environments/charts/my_app")},
	{regexp.MustCompile(`cannot (?:read|get syntax for) "(.+?)": the file (is larger than .+)$`), diag.CodeFileSize, (*explanation).tooLarge},
	{regexp.MustCompile(`^(?:cannot find package "(.+?)".*|no dependency found for package "(.+?)".*|cannot find module providing package (.+))$`), diag.CodeUnknownName, (*explanation).noPackage},
	{regexp.MustCompile(`^invalid (?:(?:left|right)-hand value to|operands .* to) '(.)' \(type (?:struct|list)`), diag.CodeExpression, saying("$1 does not join maps or lists", "write & between them")},
	{regexp.MustCompile(`^invalid operands (.+) and (.+) to '(.+)' \(type (.+) and (.+)\)$`), diag.CodeExpression, saying("$3 does not take $1 and $2: one is $K4, the other $K5", `put a value into a text with "\(NAME)", or make both of one type`)},
	{regexp.MustCompile(`^invalid operation ([-+!])(.+) \(.*\)$`), diag.CodeExpression, orSlip(saying("$1 stands in front of $2, which is not a number", "remove the $1"))},
	{regexp.MustCompile(`^invalid interpolation: cannot use .* \(type (\w+)\) as type .*$`), diag.CodeExpression, saying("$K1 cannot be a part of a text", `name one of its fields: "\(NAME.FIELD)"`)},
	{regexp.MustCompile(`^(?:invalid list )?index out of range \[(\d+)\] with length (\d+)$`), diag.CodeExpression, saying("element [$1] does not exist: the list has length $2", "count from 0: the first element is [0]")},
	{regexp.MustCompile(`^cannot use (.+) \(type (\w+)\) as (\w+) in argument (\d+) to (.+)$`), diag.CodeExpression, saying("argument $4 of $5 is $1, $K2; it must be $K3", "give it $K3")},
	{regexp.MustCompile(`^cannot use (.+) \(type (\w+)\) as type (\w+)$`), diag.CodeExpression, saying("$1 is $K2, and must be $K3", "write a comparison for a condition, such as NAME == VALUE")},
	{regexp.MustCompile(`^cannot call non-function (.+?)\.(\w+) \(.*\)$`), diag.CodeUnknownName, saying("$1 has no function $2", "see https://pkg.go.dev/cuelang.org/go/pkg/$1 for its functions")},
	{regexp.MustCompile(`^error in call to (\S+): (?:strconv\.\w+: |json: |:)?(.*)$`), diag.CodeExpression, saying("the call of $1 fails: $2", "correct what is between its parentheses")},
	{regexp.MustCompile(`^cannot range over (.+) \(found (\w+), want .*\)$`), diag.CodeExpression, saying("a loop goes over a list or a map, and $1 is $K2", "give it a list or a map")},
	{regexp.MustCompile(`^(?:explicit error \(_\|_ literal\) in source)$`), diag.CodeSyntax, saying("an error is written here", "remove it")},
	{regexp.MustCompile(`^unreferenced alias or let clause (.+)$`), diag.CodeUnknownName, (*explanation).unreferenced},
	{regexp.MustCompile(`^integer fields not supported$`), diag.CodeSyntax, saying("the name of a field is a number here", `write a text, as in "\(NAME)"`)},
	{regexp.MustCompile(`^(?:invalid interpolation: )?non-concrete value _ \(type _\)$`), diag.CodeExpression, saying("a part of the text has no value", "set it, or give it a default")},
	{regexp.MustCompile(`^(?:invalid interpolation: )?non-concrete value (\w+) \(type \w+\)$`), diag.CodeExpression, saying("a part of the text has no value yet: it is $K1", "set it, or give it a default")},
	{regexp.MustCompile(`^incompatible (?:number|integer) bounds (.+) and (.+)$`), diag.CodeConstraint, saying("no value fits both $1 and $2", "change one of them")},
	{regexp.MustCompile(`^extern attribute must appear before package clause$`), diag.CodeSyntax, saying("@extern(embed) must be above the line with package", "move it to the top of the file")},
	{regexp.MustCompile(`^@embed: .*streaming not implemented.*$`), diag.CodeEmbeddedFile, saying("the embedded file has several documents", "write each document into a file of its own, and embed one")},
	{regexp.MustCompile(`^@embed: .*conflicting values (.+) and (.+)$`), diag.CodeEmbeddedFile, saying("the embedded file has the key twice, with $1 and $2", "remove one of the lines")},
	{regexp.MustCompile(`^@embed: (?:failed to decode file|read file \S+|open [^:]+): (.*)$`), diag.CodeEmbeddedFile, (*explanation).unreadable},
	{regexp.MustCompile(`^@embed: (?:path not normalized|cannot refer to parent directory).*$`), diag.CodeEmbeddedFile, saying("@embed reads files of its own directory and those below", "copy the file beside this one, and write @embed(file=values.yaml)")},
	{regexp.MustCompile(`^@embed$`), diag.CodeEmbeddedFile, saying("@embed names a file that does not exist or cannot be read", "put the file beside this one, or correct its name")},
	{regexp.MustCompile(`^@embed: (.*)$`), diag.CodeSyntax, saying("@embed cannot be read: $1", "write @embed(file=values.yaml), or @embed(file=NAME, type=yaml)")},
	{regexp.MustCompile(`^incompatible list lengths \(0 and \d+\)$`), diag.CodeConstraint, saying("the list is empty", "give it at least one element")},
	{regexp.MustCompile(`^incompatible list lengths \((\d+) and (\d+)\)$`), diag.CodeConflict, saying("two lines give this list, with $1 and $2 elements", "write the whole list in one layer: layers cannot add to a list")},
	{regexp.MustCompile(`^preference mark not allowed at this position$`), diag.CodeSyntax, orSlip(saying("* marks the default of several values, and stands alone here", `write a text as "*", and a shared value by its name: _shared`))},
}
