package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

const v3, v4 = "helm.sh/helm/v3", "helm.sh/helm/v4"

// A library is a package and the name under which files import it.
type library struct{ name, path string }

var (
	common = library{"helmcommon", v4 + "/pkg/chart/common"}
	merge  = library{"helmmerge", v4 + "/pkg/chart/common/util"}
	buffer = library{"helmarchive", v4 + "/pkg/chart/loader/archive"}
	status = library{"helmstatus", v4 + "/pkg/release/common"}
)

// moved has the packages of Helm 4 for packages of Helm 3 and for single names in
// them. Other packages have the same path in both.
var moved = map[string]library{
	"chart":                                        {"chart", v4 + "/pkg/chart/v2"},
	"chart.File":                                   common,
	"chart/loader":                                 {"loader", v4 + "/pkg/chart/v2/loader"},
	"chart/loader.BufferedFile":                    buffer,
	"chart/loader.LoadArchiveFiles":                buffer,
	"chartutil":                                    {"chartutil", v4 + "/pkg/chart/v2/util"},
	"chartutil.Capabilities":                       common,
	"chartutil.CoalesceTables":                     merge,
	"chartutil.CoalesceValues":                     merge,
	"chartutil.DefaultCapabilities":                common,
	"chartutil.DefaultVersionSet":                  common,
	"chartutil.GlobalKey":                          common,
	"chartutil.KubeVersion":                        common,
	"chartutil.MergeTables":                        merge,
	"chartutil.ParseKubeVersion":                   common,
	"chartutil.ReleaseOptions":                     common,
	"chartutil.ToRenderValuesWithSchemaValidation": merge,
	"chartutil.ValidateAgainstSingleSchema":        merge,
	"chartutil.Values":                             common,
	"release":                                      {"release", v4 + "/pkg/release/v1"},
	"release.Status":                               status,
	"release.StatusDeployed":                       status,
	"release.StatusFailed":                         status,
	"release.StatusSuperseded":                     status,
	"release.StatusUninstalled":                    status,
	"release.StatusUninstalling":                   status,
	"releaseutil":                                  {"releaseutil", v4 + "/pkg/release/v1/util"},
	"repo":                                         {"repo", v4 + "/pkg/repo/v1"},
	"time":                                         {"time", "time"},
}

var renamed = map[string]string{"chartutil.ProcessDependenciesWithMerge": "ProcessDependencies"}

// An edit replaces a part of a file.
type edit struct {
	start, end int
	text       string
}

// rewrite returns a Go file with imports of Helm 4 instead of Helm 3.
func rewrite(name string, src []byte) ([]byte, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse the file: %w", err)
	}
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	old := map[string]string{} // packages of Helm 3, by the name in the file
	imported := map[string]bool{}
	var edits []edit
	for _, spec := range f.Imports {
		text, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("read an import of %s: %w", name, err)
		}
		imported[text] = true
		pkg, ok := strings.CutPrefix(text, v3+"/pkg/")
		if !ok {
			continue
		}
		local := path.Base(text)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		old[local] = pkg
		end := offset(spec.End())
		edits = append(edits, edit{offset(spec.Pos()), end + bytes.IndexByte(src[end:], '\n') + 1, ""})
	}
	if len(old) == 0 {
		return src, nil
	}
	needed := map[library]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && old[x.Name] != "" {
			to, member := target(x.Name, old[x.Name], sel.Sel.Name)
			needed[to] = !imported[to.path]
			edits = append(edits, edit{offset(x.Pos()), offset(x.End()), to.name}, edit{offset(sel.Sel.Pos()), offset(sel.Sel.End()), member})
		}
		return true
	})
	var lines []string
	for l, missing := range needed {
		if missing {
			lines = append(lines, fmt.Sprintf("%s %q\n", l.name, l.path))
		}
	}
	slices.Sort(lines)
	edits[0].text = strings.Join(lines, "")
	return apply(src, edits)
}

// target returns the package of Helm 4 that has a name of Helm 3, and its name there.
// local is the name of the package in the file.
func target(local, pkg, member string) (library, string) {
	full := pkg + "." + member
	to, ok := moved[full]
	if !ok {
		if to, ok = moved[pkg]; !ok {
			to.path = v4 + "/pkg/" + pkg
		}
		if to.path != "time" {
			to.name = local
		}
	}
	if r := renamed[full]; r != "" {
		member = r
	}
	return to, member
}

// apply returns the formatted source after the edits.
func apply(src []byte, edits []edit) ([]byte, error) {
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	last := 0
	for _, e := range edits {
		out.Write(src[last:e.start])
		out.WriteString(e.text)
		last = e.end
	}
	out.Write(src[last:])
	text, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format the file: %w", err)
	}
	return text, nil
}
