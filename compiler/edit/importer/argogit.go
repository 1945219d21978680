package importer

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// git returns the parameters of the directories or files of a git generator.
func (s *argoSet) git(spec map[string]any, field []string) ([]map[string]any, error) {
	kind, areDirs := "files", len(listAt(spec, "directories")) > 0
	if areDirs {
		kind = "directories"
	}
	names, err := s.matching(listAt(spec, kind), areDirs)
	if err != nil {
		return nil, s.fault(diag.CodeImportFile, append(field, kind), diag.Brief(err), "correct the path")
	}
	var out []map[string]any
	for _, name := range names {
		if areDirs {
			out = append(out, withPath(map[string]any{}, pathParams(name, ""), spec))
			continue
		}
		data, err := s.read(name)
		if err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(data, &content); err != nil {
			return nil, s.fault(diag.CodeImportInvalid, append(field, "files"), name+" is not valid YAML: "+yamlReason(err), "correct the file")
		}
		elements, isList := content.([]any)
		if !isList {
			elements = []any{content}
		}
		for _, e := range elements {
			params, _ := e.(map[string]any)
			if params == nil {
				params = map[string]any{}
			}
			out = append(out, withPath(params, pathParams(path.Dir(name), path.Base(name)), spec))
		}
	}
	return out, s.addValues(out, spec)
}

// pathParams returns the parameters of a directory, and of a file in it.
func pathParams(dir, file string) map[string]any {
	segments := []any{}
	for part := range strings.SplitSeq(dir, "/") {
		segments = append(segments, part)
	}
	out := map[string]any{"path": dir, "basename": path.Base(dir), "basenameNormalized": normalized(path.Base(dir)), "segments": segments}
	if file != "" {
		out["filename"], out["filenameNormalized"] = file, normalized(file)
	}
	return out
}

// withPath adds the path to parameters, below the key of pathParamPrefix if there is one.
func withPath(params, path, spec map[string]any) map[string]any {
	if prefix := textAt(spec, "pathParamPrefix"); prefix != "" {
		params[prefix] = map[string]any{"path": path}
		return params
	}
	params["path"] = path
	return params
}

// matching returns the directories or files that the paths of entries match, sorted,
// without those that an entry excludes. In the path of a directory, ** is the same as *.
func (s *argoSet) matching(entries []any, dirs bool) ([]string, error) {
	found, matches := map[string]bool{}, matchesPath
	if dirs {
		matches = path.Match
	}
	err := fs.WalkDir(os.DirFS(s.Work), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if dirs && e.IsDir() && strings.HasPrefix(e.Name(), ".") {
			return fs.SkipDir
		}
		if e.IsDir() != dirs {
			return nil
		}
		for _, entry := range entries {
			if ok, err := matches(textAt(entry, "path"), name); err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			if found[name] = !isTrueAt(entry, "exclude"); !found[name] {
				return nil
			}
		}
		return nil
	})
	return slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(name string) bool { return !found[name] }), err
}

// matchesPath reports whether a pattern matches a path: * matches within an element, and
// ** any number of elements. The time it takes grows with the product of their lengths.
func matchesPath(pattern, name string) (bool, error) {
	patterns, names := strings.Split(pattern, "/"), strings.Split(name, "/")
	next, last, from := 0, -1, 0 // the next pattern; the last **, and the name after those that it matches
	for i := 0; i < len(names); {
		switch {
		case next < len(patterns) && patterns[next] == "**":
			last, from = next, i
			next++
			continue
		case next < len(patterns):
			ok, err := path.Match(patterns[next], names[i])
			if err != nil {
				return false, err
			}
			if ok {
				next++
				i++
				continue
			}
		}
		if last < 0 {
			return false, nil
		}
		from++
		next, i = last+1, from
	}
	return !slices.ContainsFunc(patterns[next:], func(p string) bool { return p != "**" }), nil
}
