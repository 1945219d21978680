package diag

import (
	"cmp"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// A form describes what a pattern of the schema accepts.
type form struct{ text, example string }

// forms describes the patterns of the schema.
var forms = map[string]form{
	`^[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?$`:                            {"letters and digits, with - _ and . between them", `"my-name"`},
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:                                       {"lower-case letters and digits, with - between them", `"my-name"`},
	`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`:                                  {"at most 63 lower-case letters and digits, with - between them", `"my-name"`},
	`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`:                                  {"at most 32 lower-case letters and digits, with - between them", `"my-name"`},
	`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`:                                      {"lower-case letters and digits, with - and . between them", `"my-name"`},
	`^1\.(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))?$`:                              {"a Kubernetes version", `"1.36" or "1.36.2"`},
	`^v?[0-9]+(\.[0-9]+)?(\.[0-9]+)?(-[-0-9A-Za-z.]+)?(\+[-0-9A-Za-z.]+)?$`: {"one exact version", `"1.2.3"`},
	`^(https?|oci)://`:                                                      {"a URL that begins with https:// or oci://", `"https://charts.example.com"`},
	`^(https?|ssh|git|file)://`:                                             {"a URL that begins with https://, ssh://, git:// or file://", `"https://git.example.com/charts"`},
	`^(https?|oci|file)://`:                                                 {"the URL of a chart that begins with https://, oci:// or file://", `"https://charts.example.com/redis@17.0.0"`},
	`^https://`:                                                             {"a URL that begins with https://", `"https://example.com/values.schema.json"`},
	`^https?://`:                                                            {"a URL that begins with https://", `"https://example.com/hook"`},
	`^sha256:[0-9a-f]{64}$`:                                                 {"sha256: and 64 hexadecimal digits", "run fleetc chart add, which writes it"},
	`\.(jsonnet|libsonnet)$`:                                                {"a file whose name ends in .jsonnet or .libsonnet", `"apps/web.jsonnet"`},
	`^[^-]`:                                                                 {"a commit, tag or branch, which does not begin with -", `"v1.2.3"`},
	`^[A-Za-z][-A-Za-z0-9]*$`:                                               {"a kind", `"Deployment"`},
	`^[A-Za-z0-9-]+$`:                                                       {"letters, digits and -", `"Content-Type"`},
	`^[A-Za-z_][A-Za-z0-9_]*$`:                                              {"letters, digits and _", `"API_TOKEN"`},
	`^[A-Z_][A-Z0-9_]*$`:                                                    {"the name of an environment variable, in capital letters", `"API_TOKEN"`},
	`^([0-9]+h)?([0-9]+m)?([0-9]+s)?$`:                                      {"a duration in h, m and s", `"1m30s"`},
	`^[^/]+(/[^/]+)*$`:                                                      {"a path that does not begin or end with a slash", `"clusters/prod"`},
	`^(/.*)?$`:                                                              {"a path that begins with /", `"/spec/replicas"`},
	`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`:                                          {"a date", `"2026-12-31"`},
	`^[A-Za-z][-A-Za-z0-9]*/[^ ]+ .+$`:                                      {"an object and one of its fields", `"Secret/grafana data.password"`},
	`^(Secret/[^/ ]+|values)$`:                                              {"a Secret, or values", `"Secret/grafana"`},
	`^age1[0-9a-z]{58}$`:                                                    {"a public age key, as age-keygen prints it", `"age1aztakhwzqkhw4eks6x6k3j4uw608fcw6mxz4a82gl3v95q58fcys23cw4g"`},
	`^ref\+[a-z0-9]+://`:                                                    {"a vals reference", `"ref+vault://secret/db#/password"`},
	`^[ -~]{2,}$`:                                                           {"at least two printable ASCII characters", `"abcdefghijkmnpqrstuvwxyz23456789"`},
	`^-----BEGIN CERTIFICATE-----`:                                          {"a PEM certificate", "run kubeseal --fetch-cert, which prints it"},
	`^[A-Za-z][-A-Za-z0-9]*/[^/ ]+$`:                                        {"the kind and name of an object", `"ConfigMap/grafana"`},
	`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$`:             {"a group and version", `"karpenter.sh/v1"`},
	`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`: {"a label key", `"example.com/team"`},
	`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`:                           {"at most 63 letters and digits, with -, _ and . between them", `"blue"`},
}

// hint returns the hint for an invalid text.
func (f form) hint() string {
	if strings.HasPrefix(f.example, "run ") {
		return f.example
	}
	return "write it as in " + f.example
}

func unquoted(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// releaseField matches a field of a release.
var releaseField = regexp.MustCompile(`^releases\.(?:"[^"]*"|[^."]*)\.("[^"]*"|[^."]*)$`)

// unknownField explains a field that the schema does not have.
func (x *explanation) unknownField([]string) {
	if r, ok := renamed(x.Path); ok {
		x.Msg, x.Fixes = "this field was renamed to "+r.New+" in fleetc "+r.Since, nil
		x.Hint = "run fleetc fix, which renames it in CUE files, and rename it by hand elsewhere"
		return
	}
	if ExplainIndentation(x.root, x.Diag) || x.Hint != "" || x.releaseKey() {
		return
	}
	line, col := x.line()
	switch m := releaseField.FindStringSubmatch(x.Path); {
	case m != nil && m[1] == "version":
		x.Hint = `write chart: version: "..." for another version of the chart`
	case m != nil && slices.Contains([]string{"condition", "disabled", "enabled", "installed"}, m[1]): // as in other tools
		x.Hint = `choose the clusters of the release: clusters: environments: ["prod"], or ids, or labels`
	case m != nil && (m[1] == "needs" || m[1] == "dependsOn"): // as in other tools
		x.Hint = `write depends: "NAME": true for each release`
	case m != nil && m[1] == "createNamespace": // as in other tools
		x.Hint = "remove it, and write the Namespace as an object of a release"
	case m != nil && (m[1] == "valuesFile" || m[1] == "valueFiles" || m[1] == "valuesFiles"): // as in other tools
		x.Hint = "write defaults: {LAYER: _ @embed(file=values.yaml)}, and @extern(embed) on the first line of this file"
	case m != nil:
		x.Hint = "write values of the chart in values, or in the defaults of a layer: defaults: LAYER: "
		if field := strings.TrimSpace(line[max(0, col-1):]); strings.ContainsAny(field, "{}[],/") || !strings.Contains(field, ":") || len(x.Hint+field) > MaxText {
			x.Hint += m[1] + ": ..." // the line does not end with the field
		} else {
			x.Hint += field
		}
	default:
		x.Hint = "remove it, or correct its name"
	}
}

// selectorText returns the name of a field or a definition as it stands behind a dot.
func selectorText(name string) string {
	if strings.HasPrefix(name, "#") {
		return name
	}
	return cue.Str(name).String()
}

// definition matches a definition at the start of a line.
var definition = regexp.MustCompile(`(?m)^(#\w+)[?!]?:`)

// definitionsOf returns the definitions of a package that the file imports.
func (x *explanation) definitionsOf(name string) []string {
	m := regexp.MustCompile(`"([^"\s]*/` + regexp.QuoteMeta(name) + `)"`).FindStringSubmatch(x.source())
	if m == nil {
		return nil
	}
	dir, ok := strings.CutPrefix(m[1], x.module()+"/")
	if !ok {
		dir = "cue.mod/pkg/" + m[1]
	}
	files, err := filepath.Glob(filepath.Join(x.root, filepath.FromSlash(path.Clean("/"+dir)), "*.cue"))
	if err != nil {
		return nil
	}
	var names []string
	for _, file := range files {
		for _, m := range definition.FindAllStringSubmatch(readSource(file), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// fieldsAt returns the names of the fields of the value at a path.
func (x *explanation) fieldsAt(at string) []string {
	p := cue.ParsePath(at)
	if p.Err() != nil || !x.v.Exists() {
		return nil
	}
	it, err := x.v.LookupPath(p).Fields(cue.Optional(true), cue.Definitions(true))
	if err != nil {
		return nil
	}
	var names []string
	for it.Next() {
		names = append(names, strings.Trim(it.Selector().String(), `"?!`))
	}
	return names
}

// relativeImport explains an import path that starts with a dot.
func (x *explanation) relativeImport(m []string) {
	x.Msg = m[1] + " is not a valid import path: it must begin with the path of a module"
	x.Hint = `write import "` + x.module() + "/environments/" + strings.TrimLeft(m[1], "./") + `"`
}

// unread explains a file that fleetc does not read: it is too large, or a link out of the fleet
// or into .git.
func (x *explanation) unread(m []string) {
	name := m[1]
	if rel, err := filepath.Rel(x.root, name); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	x.Msg, x.Hint = "the file "+name+" "+m[2], "split it"
	if x.Code == CodeOutsideFleet {
		x.Hint = "replace it with a file"
	}
	if name == "" { // the link is a file of the layer
		x.Msg = "this " + m[2]
	}
}

// notFetched matches the reason why a module of cue.mod/module.cue cannot be fetched.
var notFetched = regexp.MustCompile(`: cannot fetch ([^ ]+): (.+)$`)

// noPackage explains an import of a package that does not exist.
func (x *explanation) noPackage(m []string) {
	name := cmp.Or(m[1:]...)
	if below, ok := strings.CutPrefix(name, x.module()+"/"); ok && x.isLayer(below) {
		return
	}
	x.Msg = "cannot find the package " + name
	if fetch := notFetched.FindStringSubmatch(m[0]); fetch != nil {
		x.notFetched(fetch[1], fetch[2])
		return
	}
	// Paths of charts differ in their last element only.
	near := slices.DeleteFunc(x.importable(), func(p string) bool {
		return path.Base(p) != path.Base(name) && Nearest(path.Base(name), []string{path.Base(p)}) == ""
	})
	x.Fixes = Respell(name, near)
	other := "correct the import path, or add the chart with fleetc chart add"
	if !strings.HasPrefix(name, x.module()+"/") {
		other = "correct the import path, add the chart with fleetc chart add, or pin the module with cue mod get"
	}
	x.Hint = cmp.Or(DidYouMean(name, near), other)
}

// notFetched explains a module that cannot be fetched.
func (x *explanation) notFetched(module, reason string) {
	x.Msg = "cannot fetch the module " + module + ": " + strings.TrimPrefix(reason, "module "+module+": ")
	switch {
	case reason == "module not found": // not a reply of a registry, but of --offline
		x.Hint = "run fleetc vet once without --offline"
	case strings.HasSuffix(reason, "module not found"):
		x.Hint = "correct its version in cue.mod/module.cue, or set CUE_REGISTRY to the registry that has it"
	case strings.Contains(reason, ": 401 ") || strings.Contains(reason, ": 403 "):
		x.Hint = "log in with cue login or docker login"
	default:
		x.Hint = "set CUE_REGISTRY to the registry that has it, and run the command again"
	}
}

// importable returns the import paths of the fleet's charts, stacks and components, and
// of fleetc.
func (x *explanation) importable() []string {
	var out []string
	for _, dir := range []string{"environments/charts", "environments/stacks", "components"} {
		packages, err := os.ReadDir(filepath.Join(x.root, filepath.FromSlash(dir)))
		for _, p := range packages {
			if err == nil && p.IsDir() {
				out = append(out, x.module()+"/"+dir+"/"+p.Name())
			}
		}
	}
	for _, p := range slices.Sorted(maps.Values(packages)) {
		if strings.HasPrefix(p, "github.com/") {
			out = append(out, p)
		}
	}
	return out
}

// noStandardPackage explains an import of an unknown standard package.
func (x *explanation) noStandardPackage(m []string) {
	x.Msg = "CUE has no standard package " + m[1]
	if strings.HasPrefix(m[1], "environments/") {
		if !x.isLayer(m[1]) {
			x.Hint = `begin the path with the module: write import "` + x.module() + "/" + m[1] + `"`
		}
		return
	}
	x.Fixes = Respell(m[1], slices.Collect(maps.Values(packages)))
	x.Hint = cmp.Or(DidYouMean(m[1], slices.Sorted(maps.Values(packages))), "correct the import path")
}

// isLayer reports whether an import path, without the module, is that of a layer, and
// explains that.
func (x *explanation) isLayer(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	if !strings.HasPrefix(name, "environments/") || strings.HasPrefix(name, "environments/charts/") {
		return false
	}
	if info, err := os.Stat(filepath.Join(x.root, filepath.FromSlash(path.Clean(name)))); err != nil || !info.IsDir() {
		return false
	}
	x.Msg = name + " is a layer, which cannot be imported"
	x.Hint = "remove the import: a cluster has all fields of the layers above it; put other shared fields into a package that is not a layer"
	return true
}

// packages maps names to the CUE packages that layers use.
var packages = map[string]string{
	"base64": "encoding/base64", "csv": "encoding/csv", "hex": "encoding/hex", "json": "encoding/json", "toml": "encoding/toml", "yaml": "encoding/yaml",
	"list": "list", "math": "math", "net": "net", "path": "path", "regexp": "regexp", "sha256": "crypto/sha256", "strconv": "strconv",
	"strings": "strings", "struct": "struct", "template": "text/template", "time": "time",
	"schema": "github.com/fleetc/fleetc/schema", "stack": "github.com/fleetc/fleetc/lib/stack",
	"patch": "github.com/fleetc/fleetc/lib/patch", "policy": "github.com/fleetc/fleetc/lib/policy", "readiness": "github.com/fleetc/fleetc/lib/readiness",
}

// words maps words of YAML and other languages to CUE values.
var words = map[string]string{
	"True": "true", "TRUE": "true", "yes": "true", "Yes": "true", "on": "true", "False": "false", "FALSE": "false", "no": "false", "No": "false", "off": "false",
	"None": "null", "nil": "null", "Null": "null", "NULL": "null", "undefined": "null",
}

// notFound explains an unresolved name.
func (x *explanation) notFound(m []string) {
	name := m[1]
	line, col := x.line()
	if x.slip(false) {
		return
	}
	rest := ""
	if col > 0 && col-1+len(name) <= len(line) {
		rest = line[col-1+len(name):]
	}
	// The field itself is not meant: it would refer to itself.
	among := slices.DeleteFunc(declared(x.source()), func(s string) bool { return s == x.Path[strings.LastIndexByte(x.Path, '.')+1:] })
	known := slices.Contains([]string{"cluster", "environment", "releases", "stages"}, name)
	text := unquotedText(line, col)
	own := x.ownPackage(name)
	switch {
	case words[name] != "":
		x.fixSource(name, words[name])
		x.fixSource(name, `"`+name+`"`)
		x.Msg, x.Hint = name+" is not a CUE value", "write "+words[name]+`, or "`+name+`" for the string`
	case packages[name] != "" && strings.HasPrefix(rest, "."):
		x.Fixes = []Fix{{Kind: FixImport, New: packages[name]}}
		x.Msg, x.Hint = "the package "+name+" is not imported", `write import "`+packages[name]+`" below the package clause`
	case own != "" && strings.HasPrefix(rest, "."):
		x.Fixes = []Fix{{Kind: FixImport, New: own}}
		x.Msg, x.Hint = "the package "+name+" is not imported", `write import "`+own+`" below the package clause`
	case strings.HasPrefix(rest, ".#"):
		x.Msg, x.Hint = "the package "+name+" is not imported", `write import "`+x.module()+`/environments/charts/`+name+`" below the package clause, and add the chart with fleetc chart add`
	case name == "objects" && strings.HasPrefix(x.Path, "policies."):
		x.Msg, x.Hint = "the policy reads objects, and does not declare them", "add objects: _ to the policy"
	case known:
		x.Code = CodeMissingValue
		x.Msg, x.Hint = "refers to "+name+", which no layer sets", "set "+name+" in this cluster, or in a layer above"
	case strings.HasPrefix(name, "#") || strings.HasPrefix(name, "_"):
		x.Msg = "no field or definition is called " + name
		x.Fixes = Respell(name, among)
		x.Hint = cmp.Or(DidYouMean(name, among), "correct the name, or declare it: "+name+": ...")
	case Nearest(name, among) == "" && x.dashedName(line, col):
	case text != name && strings.Contains(text, name):
		x.Code = CodeSyntax
		x.Msg, x.Hint = "a string must be in quotes", `write "`+text+`"`
		if strings.HasPrefix(line[max(col-1, 0):], text) {
			x.fixSource(text, `"`+text+`"`)
		}
	default:
		hint := `write "` + name + `" if it is a string`
		if near := Nearest(name, among); near != "" {
			hint = "did you mean " + near + `? Write "` + name + `" if it is a string`
			x.fixSource(name, near)
		}
		x.Msg, x.Hint = "no field or import is called "+name, hint
		x.fixSource(name, `"`+name+`"`)
	}
}

// ownPackage returns the import path of the fleet's package with a name, or "".
func (x *explanation) ownPackage(name string) string {
	all := x.importable()
	if i := slices.IndexFunc(all, func(p string) bool { return path.Base(p) == name && strings.HasPrefix(p, x.module()) }); i >= 0 {
		return all[i]
	}
	return ""
}

// fixSource adds a fix that replaces the source text at the fault.
func (x *explanation) fixSource(before, after string) {
	x.Fixes = append(x.Fixes, Fix{Kind: FixSource, Old: before, New: after})
}

// declared returns the names of fields and lets that a file declares.
func declared(source string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)(?:^|[\s{,])(?:([\w#$]+)[?!]?:|let\s+(\w+)\s*=)`).FindAllStringSubmatch(source, -1) {
		names = append(names, m[1]+m[2])
	}
	return names
}

// unreferenced explains an alias or a let clause without a reference to it, which is often
// meant as a field.
func (x *explanation) unreferenced(m []string) {
	name, value := m[1], "VALUE"
	line, col := x.line()
	let := regexp.MustCompile(`^let\s+` + regexp.QuoteMeta(name) + `\s*=\s*(\{?)`).FindStringSubmatch(line[max(col-1, 0):])
	if x.Msg = "the alias " + name + " is not used"; let != nil {
		x.Msg = "the let clause " + name + " is not used: it names a value only inside this file"
		if let[1] != "" {
			value = "{...}"
		}
	}
	x.Hint = cmp.Or(x.Hint, "write "+name+": "+value+" to set a field, or remove the line")
}
