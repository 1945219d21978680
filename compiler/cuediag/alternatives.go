package cuediag

import (
	"regexp"
	"slices"

	"cuelang.org/go/cue"
)

// An alternative is a struct of the schema that holds one of several things.
// CUE reports a wrong one as a matchN that does not match, or by fields that
// it misses; and also reports one that is right, when something else is wrong
// inside of it.
type alternative struct {
	path      *regexp.Regexp         // of the struct
	fields    *regexp.Regexp         // paths that CUE may miss
	holds     func(v cue.Value) bool // whether v is one of the alternatives
	msg, hint string
}

const releasePath = `^releases\.("[^"]*"|[^.]*)`

var alternatives = []alternative{
	{
		path:   regexp.MustCompile(releasePath + `\.chart\b`),
		fields: regexp.MustCompile(releasePath + `\.chart\.(path|repo|name|version|git|digest)$`),
		holds: func(v cue.Value) bool {
			has := fieldsOf(v, "path", "repo", "name", "version", "git", "digest")
			return slices.ContainsFunc([]string{"path", "repo name version digest", "git digest"}, func(s string) bool { return s == has })
		},
		msg:  "a chart is exactly one of path; repo, name, version and digest; git and digest",
		hint: "run fleetc chart add, which writes all of a chart's fields",
	},
	{
		path:   regexp.MustCompile(releasePath + `\.objects\b`),
		fields: regexp.MustCompile(`^$`),
		holds: func(v cue.Value) bool {
			// What is in a list has faults of its own.
			return v.IncompleteKind() == cue.StructKind
		},
		msg: "objects are structs under any names, or a list of structs",
	},
	{
		path:   regexp.MustCompile(releasePath),
		fields: regexp.MustCompile(releasePath + `\.(chart|objects)$`),
		holds: func(v cue.Value) bool {
			has := fieldsOf(v, "chart", "objects")
			return has == "chart" || has == "objects"
		},
		msg:  "a release has exactly one source",
		hint: "give it either chart or objects",
	},
}

// fieldsOf returns which of the fields v has, in the given order and with
// blanks between them.
func fieldsOf(v cue.Value, names ...string) string {
	var has string
	for _, n := range names {
		if v.LookupPath(cue.ParsePath(n)).Exists() {
			has += " " + n
		}
	}
	if has == "" {
		return ""
	}
	return has[1:]
}

// alternativeAt returns the alternative that a fault at the path is about, and
// the path of its struct: that a field is missing, or that matchN fails. It
// returns nil when the fault is about none.
func alternativeAt(path string, missing, noMatch bool) (*alternative, string) {
	for i, a := range alternatives {
		at := a.path.FindString(path)
		if missing && a.fields.MatchString(path) || noMatch && at == path {
			return &alternatives[i], at
		}
	}
	return nil, ""
}
