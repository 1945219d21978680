package importer

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/source"
)

// vendorDir is the directory at the root in which Jsonnet files look for libraries.
const vendorDir = "vendor"

// jsonnetReleases returns a release for each Jsonnet file of a source. The fleet keeps the
// files; top-level arguments become values. alone says whether the source has nothing
// else, so that a single file gets its name.
func (r *argoReader) jsonnetReleases(s *appSource, files []string, alone bool) ([]*Release, error) {
	if len(files) == 0 {
		return nil, nil
	}
	spec := mapAt(s.spec, "directory", "jsonnet")
	params, reason := r.topLevelArguments(s)
	switch libs := listAt(spec, "libs"); {
	case len(listAt(spec, "extVars")) > 0:
		reason = "fleetc has no external variables for Jsonnet"
	case slices.ContainsFunc(libs, func(v any) bool { return v != vendorDir }):
		reason = "fleetc searches only vendor for Jsonnet libraries"
	}
	renderer := &source.JsonnetRenderer{Dir: r.Work}
	defer renderer.Close()
	var out []*Release
	for _, file := range files {
		one := &Release{Name: s.name, Namespace: s.namespace(), Origin: s.app.title(), Pos: r.at(s.app, s.field), Unproven: reason}
		if len(files) > 1 || !alone {
			one.Name = nameOf(s.name + "-" + strings.TrimSuffix(path.Base(file), path.Ext(file)))
		}
		if reason != "" {
			out = append(out, one)
			continue
		}
		result, err := renderer.Render(r.ctx, source.JsonnetRequest{File: file, Params: params, Release: &fleet.Release{Name: one.Name, Namespace: one.Namespace}})
		if err != nil {
			return nil, diag.Moved(err, r.Position)
		}
		kept, err := keptFiles(r.Work, result.Reads)
		if err != nil {
			return nil, err
		}
		one.SetRendered(result.Objects)
		one.Source = &Source{Field: "jsonnet", Path: file, Files: kept}
		one.Values = nodeOf(params, nil)
		if len(result.Objects) > 0 {
			out = append(out, one)
		}
	}
	return out, nil
}

// topLevelArguments returns the top-level arguments of Jsonnet files. reason says which
// one has no counterpart.
func (r *argoReader) topLevelArguments(s *appSource) (params map[string]any, reason string) {
	params = map[string]any{}
	for i, v := range listAt(s.spec, "directory", "jsonnet", "tlas") {
		vars := &Release{}
		name, text := textAt(v, "name"), r.expandVariables(s, vars, textAt(v, "value"), s.at("directory", "jsonnet", "tlas", fmt.Sprint(i)))
		if vars.Unproven != "" {
			return nil, vars.Unproven
		}
		if !isTrueAt(v, "code") {
			params[name] = text
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Sprintf("the top-level argument %s is Jsonnet code: write its value", diag.Visible(name, diag.MaxText))
		}
		params[name] = value
	}
	return params, ""
}
