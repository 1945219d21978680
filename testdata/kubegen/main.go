// Command kubegen writes the table of the kinds of each minor version of
// Kubernetes, and their schemas, and the schemas of common custom resources.
//
//	kubegen DIRECTORY VERSION...
//	kubegen DIRECTORY MODULE@VERSION...
//
// With modules, it reads the CRDs in their source and writes custom.txt.zst.
// With versions:
//
// It reads the discovery documents, the OpenAPI documents and the enums of the
// generated Go code in the source of k8s.io/kubernetes, which it downloads with
// the go command, and writes kinds.txt and schemas.txt.zst to the directory.
// Each VERSION (v1.36.5) stands for its minor version. If the module proxy
// lacks the patch, it uses the previous one; the header of the table has the
// versions. The table includes alpha versions, since the documents describe a
// server with all APIs enabled. It excludes kinds that are not stored, such as
// reviews and subresources.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "k8s.io/kubernetes"

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: kubegen DIRECTORY VERSION... or kubegen DIRECTORY MODULE@VERSION...")
	}
	write := write
	if strings.Contains(os.Args[2], "@") {
		write = writeCustom
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

// A kind is one row of the table.
type kind struct {
	apiVersion, name, scope string
}

func write(out string, versions []string) error {
	minors := map[kind][]int{}
	schemas := map[int]map[string]*definition{}
	var sources []string
	for _, v := range versions {
		source, dir, err := download(v)
		if err != nil {
			return err
		}
		_, minor, _, err := split(source)
		if err != nil {
			return err
		}
		kinds, err := served(dir)
		if err != nil {
			return err
		}
		if schemas[minor], err = definitions(dir, kinds); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		sources = append(sources, source)
		for k := range kinds {
			minors[k] = append(minors[k], minor)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "kinds.txt"), []byte(format(sources, minors)), 0o644); err != nil {
		return err
	}
	unifyRequired(schemas)
	text, err := formatSchemas(schemas)
	if err != nil {
		return err
	}
	packed, err := pack(text)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "schemas.txt.zst"), packed, 0o644)
}

// format returns the text of the table, sorted by version, kind and scope.
func format(sources []string, minors map[kind][]int) string {
	var b strings.Builder
	b.WriteString("# The kinds that Kubernetes serves, by minor version. Written by go generate; do not edit.\n")
	b.WriteString("# " + module + " " + strings.Join(sources, " ") + "\n")
	for _, k := range slices.SortedFunc(maps.Keys(minors), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.apiVersion, b.apiVersion), cmp.Compare(a.name, b.name), cmp.Compare(a.scope, b.scope))
	}) {
		fmt.Fprintf(&b, "%s %s %s %s\n", k.apiVersion, k.name, k.scope, ranges(minors[k]))
	}
	return b.String()
}

// ranges formats minor versions as 1.29-1.31,1.33.
func ranges(minors []int) string {
	slices.Sort(minors)
	var out []string
	for i := 0; i < len(minors); {
		j := i
		for j+1 < len(minors) && minors[j+1] == minors[j]+1 {
			j++
		}
		r := fmt.Sprintf("1.%d", minors[i])
		if j > i {
			r += fmt.Sprintf("-1.%d", minors[j])
		}
		out = append(out, r)
		i = j + 1
	}
	return strings.Join(out, ",")
}

// download downloads the newest patch of a minor version, starting with the
// given one, and returns its version and directory in the module cache.
func download(version string) (source, dir string, err error) {
	major, minor, patch, err := split(version)
	if err != nil {
		return "", "", err
	}
	// Outside of any module, so that the go command does not change a go.sum.
	work, err := os.MkdirTemp("", "kubegen")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(work)
	var refused error
	for ; patch >= 0; patch-- {
		source = fmt.Sprintf("v%d.%d.%d", major, minor, patch)
		cmd := exec.Command("go", "mod", "download", "-json", module+"@"+source)
		cmd.Dir = work
		out, err := cmd.Output()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			return "", "", err
		}
		var answer struct{ Dir, Error string }
		if err := json.Unmarshal(out, &answer); err != nil {
			return "", "", fmt.Errorf("read the answer of %s: %w", cmd, err)
		}
		if answer.Error == "" {
			return source, answer.Dir, nil
		}
		refused = errors.Join(refused, errors.New(answer.Error))
	}
	return "", "", fmt.Errorf("no patch of %s: %w", version, refused)
}

// split returns the numbers of a version such as v1.36.5.
func split(version string) (major, minor, patch int, err error) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != 3 {
		return 0, 0, 0, fmt.Errorf("%s: write the version as v1.36.5", version)
	}
	var n [3]int
	for i, p := range parts {
		if n[i], err = strconv.Atoi(p); err != nil {
			return 0, 0, 0, fmt.Errorf("version %s: %w", version, err)
		}
	}
	return n[0], n[1], n[2], nil
}

// served returns the kinds in the discovery documents of a source directory.
func served(dir string) (map[kind]bool, error) {
	groups, err := filepath.Glob(filepath.Join(dir, "api", "discovery", "apis__*__*.json"))
	if err != nil {
		return nil, err
	}
	kinds := map[kind]bool{}
	for _, file := range append(groups, filepath.Join(dir, "api", "discovery", "api__v1.json")) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var list struct {
			GroupVersion string
			Resources    []struct {
				Name, Kind string
				Namespaced bool
				Verbs      []string
			}
		}
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		for _, r := range list.Resources {
			// Objects of a bundle can be created and read: no pods/log,
			// TokenReview or ComponentStatus.
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "create") || !slices.Contains(r.Verbs, "get") {
				continue
			}
			scope := "Cluster"
			if r.Namespaced {
				scope = "Namespaced"
			}
			kinds[kind{list.GroupVersion, r.Kind, scope}] = true
		}
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no kinds in %s", dir)
	}
	return kinds, nil
}
