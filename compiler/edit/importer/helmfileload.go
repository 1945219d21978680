package importer

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// maxNesting limits how deep sub-helmfiles may be nested.
const maxNesting = 32

// visitOptions are the inputs of a helmfile from the one that names it.
type visitOptions struct {
	selectors []string
	values    []item         // of the field values of helmfiles, or files of the command line
	set       map[string]any // single values of the command line
	dir       string         // to which their paths are relative
	from      diag.Pos
}

// visit adds the releases of a helmfile: first those of its sub-helmfiles.
func (e *environmentRun) visit(file string, opts visitOptions) error {
	if err := e.ctx.Err(); err != nil {
		return err
	}
	if slices.Contains(e.stack, file) || len(e.stack) >= maxNesting {
		return &diag.Diag{
			Code: diag.CodeImportCycle, At: []diag.Pos{opts.from}, Path: "helmfiles",
			Msg:  "helmfiles include each other in a cycle: " + strings.Join(append(slices.Clone(e.stack), file), " -> "),
			Hint: "remove one of the paths",
		}
	}
	e.stack = append(e.stack, file)
	defer func() { e.stack = e.stack[:len(e.stack)-1] }()
	env := environment{set: opts.set}
	if len(opts.values) > 0 {
		values, err := e.loadValues(opts.dir, opts.values, "", environment{})
		if err != nil {
			return err
		}
		env.passed = values
	}
	s, err := e.load(path.Dir(file), file, env, len(opts.values)+len(opts.set) > 0, true)
	if err != nil {
		return err
	}
	if s == nil {
		return nil // it does not have the environment
	}
	s.file = path.Base(file)
	var faults diag.List
	for _, sub := range s.lists["helmfiles"] {
		faults.Add(e.visitSub(s, sub, opts))
	}
	faults.Add(e.releases(s, opts.selectors))
	return faults.Err()
}

// visitSub adds the releases of the sub-helmfiles that an element of helmfiles names.
func (e *environmentRun) visitSub(s *state, sub item, opts visitOptions) error {
	name, ok := sub.value.(string)
	if !ok {
		name = textAt(sub.value, "path")
	}
	if isURL(name) {
		e.note(sub.at("path"), sub.title(), "helmfiles", "the helmfile is in another repository: import that repository, or copy the file into this one")
		return nil
	}
	handler := cmp.Or(s.text("missingFileHandler"), "Error")
	files, err := e.resolve(s.dir, name, handler, sub.at())
	if err != nil {
		return err
	}
	next := visitOptions{selectors: opts.selectors, values: sub.below("values"), dir: s.dir, from: sub.at()}
	if selectors := listAt(sub.value, "selectors"); selectors != nil && !isTrueAt(sub.value, "selectorsInherited") {
		next.selectors = textsOf(selectors)
	}
	var faults diag.List
	for _, file := range files {
		below := []string{file}
		if e.isDir(file) {
			below = e.directoryFiles(file)
		}
		for _, file := range below {
			faults.Add(e.visit(file, next))
		}
	}
	return faults.Err()
}

// load returns the state of a file: its parts are rendered one after the other, and each
// sees the values of those before it. The state is nil for a file that does not have the
// environment. hasValues reports whether the file got values from another one; a base has
// no bases itself.
func (e *environmentRun) load(dir, file string, env environment, hasValues, takesBases bool) (*state, error) {
	content, err := e.read(file)
	if err != nil {
		return nil, &diag.Diag{Code: diag.CodeImportFile, At: []diag.Pos{e.pos(file, 1, 1)}, Msg: err.Error(), Hint: "correct the path"}
	}
	rendered := path.Ext(file) == ".gotmpl"
	isOld := !rendered && isOldFile(string(content))
	var all *state
	line := 1
	for i, text := range strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n---\n") {
		e.count(fmt.Sprintf("%s part %d", file, i), strings.Count(text, "\n")+1, 1)
		env.values = fleet.MergeValues(env.values, env.passed)
		lines := plainLines(text, line)
		first := line
		line += strings.Count(text, "\n") + 2 //nolint:mnd // the part's last line, and the separator
		if rendered || isOld {
			seen := env
			source := templateText{text: text, dir: dir, file: file, line: first}
			if isOld {
				seen = e.firstPass(source, env, takesBases)
			}
			if text, lines, err = e.renderLines(source, e.fileData(seen, seen.merged())); err != nil {
				return nil, e.withEnvironments(err, all)
			}
		}
		one, err := e.loadPart(dir, file, text, lines, env, takesBases)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = one
		} else {
			all.override(one)
		}
		all.env, env = one.env, one.env
	}
	environments := all.maps["environments"]
	e.known = append(e.known, sortedKeys(environments)...)
	if _, ok := environments[e.name]; takesBases && e.name != defaultEnvironment && !ok && (len(environments) > 0 || !hasValues) {
		return nil, nil //nolint:nilnil // helmfile leaves such a file out
	}
	if takesBases {
		e.defined = true
	}
	return all, nil
}

// withEnvironments changes the hints of a template that cannot be evaluated, because the
// parts before it do not have the environment.
func (e *environmentRun) withEnvironments(err error, before *state) error {
	if before == nil || len(before.maps["environments"]) == 0 {
		return err
	}
	names := sortedKeys(before.maps["environments"])
	if slices.Contains(names, e.name) {
		return err
	}
	return diag.Changed(err, func(d *diag.Diag) {
		d.Hint = "pass an environment of the helmfile with --environment: " + diag.JoinFirst(names, maxEnvironments)
	})
}

// maxEnvironments is how many environments a hint lists.
const maxEnvironments = 8

// defaultEnvironment is the environment that every helmfile has.
const defaultEnvironment = "default"

// loadPart returns the state of one part of a file over its bases.
func (e *environmentRun) loadPart(dir, file, text string, lines []int, env environment, takesBases bool) (*state, error) {
	s, content, err := e.parse(file, []byte(text), lines)
	if err != nil {
		return nil, err
	}
	if docs, _ := readDocuments(e.dir, file, []byte(text)); len(docs) > 1 {
		return nil, &diag.Diag{Code: diag.CodeImportInvalid, At: []diag.Pos{s.At()}, Msg: "a part of the helmfile has several documents", Hint: "write --- on its own line between parts"}
	}
	e.account(s, content)
	st, err := e.newState(dir, s, content)
	if err != nil {
		return nil, err
	}
	bases := st.lists["bases"]
	if len(bases) > 0 && !takesBases {
		return nil, bases[0].fault(diag.CodeImportUnsupported, "bases", "a base has bases itself, which helmfile does not read", "name all bases in the helmfile")
	}
	if st, err = e.overBases(dir, st, env); err != nil {
		return nil, err
	}
	st.env, err = e.loadEnvironment(st, env)
	return st, err
}

// overBases returns the state of a part over that of its bases.
func (e *environmentRun) overBases(dir string, st *state, env environment) (*state, error) {
	var below *state
	for _, base := range st.lists["bases"] {
		one, err := e.loadBase(dir, base, env)
		if err != nil {
			return nil, err
		}
		if below == nil {
			below = one
		} else {
			below.fill(one)
		}
	}
	if below == nil {
		return st, nil
	}
	below.fill(st)
	return below, nil
}

// loadBase returns the state of a base.
func (e *environmentRun) loadBase(dir string, base item, env environment) (*state, error) {
	name, _ := base.value.(string)
	if isURL(name) {
		return nil, base.fault(diag.CodeImportUnsupported, "bases", diag.Visible(name, diag.MaxText)+" is a file of another repository", "copy the base into this repository")
	}
	file, err := e.place(dir, name)
	if err != nil {
		return nil, base.fault(diag.CodeImportFile, "bases", "the base "+diag.Visible(name, diag.MaxText)+" is outside of the repository", "name a file of the repository")
	}
	if !e.isFile(file) {
		return nil, base.fault(diag.CodeImportFile, "bases", "the repository has no file "+diag.Visible(file, diag.MaxText), "correct the path of the base")
	}
	env.passed = nil
	return e.load(dir, file, env, true, false)
}
