package load

import (
	"bytes"
	"cmp"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// moduleFault returns the fault for an error of CUE about the content of [moduleFile].
func moduleFault(data []byte, err error) *diag.Diag {
	msg := err.Error()
	for _, prefix := range []string{"invalid module file " + moduleFile + ": ", "invalid module file syntax: ", "invalid module file value: "} {
		msg = strings.TrimPrefix(msg, prefix)
	}
	return &diag.Diag{Code: diag.CodeModulePath, At: []diag.Pos{modulePos(data, err)}, Msg: msg, Hint: moduleHint(msg)}
}

// quoted matches a text in quotes.
var quoted = regexp.MustCompile(`"[^"]*"`)

// modulePos returns the position of an error: that of CUE, or that of the first text that
// the message names.
func modulePos(data []byte, err error) diag.Pos {
	for _, p := range errors.Positions(err) {
		if filepath.ToSlash(p.Filename()) == moduleFile && p.IsValid() {
			return diag.Pos{File: moduleFile, Line: p.Line(), Col: p.Column()}
		}
	}
	for _, text := range append(quoted.FindAllString(err.Error(), -1), strings.Fields(err.Error())...) {
		if at := quotedPos(data, moduleFile, strconv.Quote(strings.Trim(text, `",:()`))); at.Line > 0 {
			return at
		}
	}
	return diag.Pos{File: moduleFile}
}

// quotedPos returns the position of the first quoted text in a file, or the file.
func quotedPos(data []byte, file, text string) diag.Pos {
	before, _, found := bytes.Cut(data, []byte(text))
	if !found {
		return diag.Pos{File: file}
	}
	return diag.Pos{File: file, Line: 1 + bytes.Count(before, []byte("\n")), Col: len(before) - bytes.LastIndexByte(before, '\n')}
}

// moduleHint returns what to do about an error of CUE.
func moduleHint(msg string) string {
	contains := func(text string) bool { return strings.Contains(msg, text) }
	switch {
	case contains("replace: field not allowed"):
		return `remove it, and name a directory that replaces a module in cue.mod/local-module.cue: deps: "MODULE@v0": replaceWith: "./DIRECTORY"`
	case contains("field not allowed"):
		name, _, _ := strings.Cut(msg, ":")
		return cmp.Or(diag.DidYouMean(name, []string{"module", "language", "source", "deps", "custom", "description"}), "remove it, or correct its name")
	case contains("is not well formed"):
		return "write the versions of modules like v1.2.3"
	case contains("no major version in"):
		return `write the major version after the module, as in deps: "example.com/lib@v0": v: "v0.1.2"`
	case contains("is too new"):
		return "lower language.version, or use a newer fleetc"
	case contains("language version"):
		return "write language: version: " + strconv.Quote(cue.LanguageVersion())
	case contains("module path"):
		return `write it like a URL without its scheme, as in module: "example.com/infra"`
	case contains("string literal not terminated"):
		return `end the text with "`
	}
	return "set module and language.version, as cue mod init does"
}
