package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/edit"
)

// programRender returns the function that renders the releases of the environment with the
// program helmfile. file is the helmfile or its directory, relative to the repository.
//
// The program runs in a copy of the repository, since it writes lock files and charts of
// dependencies. It runs the hooks of the helmfile and programs that templates name.
func (e *environmentRun) programRender(file string) func(context.Context, []string) (map[string][]fleet.Object, error) {
	return func(ctx context.Context, apis []string) (map[string][]fleet.Object, error) {
		if e.hasSecrets {
			return nil, fmt.Errorf("helmfile would decrypt the secrets of environment %s: prove with helm", e.name)
		}
		temp, err := os.MkdirTemp("", "fleetc-import-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(temp)
		repository, output := filepath.Join(temp, "repository"), filepath.Join(temp, "output")
		if err := os.Mkdir(repository, 0o700); err != nil {
			return nil, err
		}
		if err := edit.CopyFiles(ctx, e.dir, repository); err != nil {
			return nil, err
		}
		args, err := e.programArgs(temp, repository, file, apis)
		if err != nil {
			return nil, err
		}
		args = append(args, "--output-dir", output, "--output-dir-template", "{{ .OutputDir }}/{{ .Release.Name }}/{{ .Release.Namespace }}")
		if _, err := runProgram(ctx, repository, e.programEnvironment(), HelmfileProgram, args...); err != nil {
			return nil, err
		}
		return e.writtenObjects(output)
	}
}

// programArgs returns the arguments of helmfile template without those of the output.
func (e *environmentRun) programArgs(temp, repository, file string, apis []string) ([]string, error) {
	args := []string{"template", "--quiet", "--file", filepath.Join(repository, filepath.FromSlash(file)), "--environment", e.name, "--include-crds"}
	for _, i := range e.given {
		name, _ := i.value.(string)
		args = append(args, "--state-values-file", filepath.Join(repository, filepath.FromSlash(name)))
	}
	if len(e.opts.Set) > 0 {
		name := filepath.Join(temp, "set.yaml")
		if err := writeYAML(name, e.opts.Set); err != nil {
			return nil, err
		}
		args = append(args, "--state-values-file", name)
	}
	helm := []string{"--kube-version", e.opts.Kubernetes}
	for _, api := range apis {
		if apiForm.MatchString(api) {
			helm = append(helm, "--api-versions", api)
		}
	}
	return append(args, "--args", strings.Join(helm, " ")), nil
}

// apiForm matches API versions. helmfile splits the arguments of helm at spaces, and CRDs
// of charts name API versions.
var apiForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./-]*$`)

// programVariables are the environment variables of the process that helmfile and helm
// need. Templates see no others, apart from those of --env.
var programVariables = []string{"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// programEnvironment returns the environment of the program.
func (e *environmentRun) programEnvironment() []string {
	var out []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(programVariables, name) || strings.HasPrefix(name, "HELM_") || strings.HasPrefix(name, "HELMFILE_") {
			out = append(out, v)
		}
	}
	for _, name := range sortedKeys(e.opts.Variables) {
		out = append(out, name+"="+e.opts.Variables[name])
	}
	return out
}

// writtenObjects returns the objects of all releases from the output of helmfile.
func (e *environmentRun) writtenObjects(output string) (map[string][]fleet.Object, error) {
	out := map[string][]fleet.Object{}
	for _, d := range e.found {
		if d.out == nil {
			continue
		}
		var text strings.Builder
		err := filepath.WalkDir(filepath.Join(output, d.name, d.namespace), func(file string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // the release renders no objects
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(file)
			text.WriteString("\n---\n" + string(data))
			return err
		})
		if err == nil {
			out[d.out.Name], err = printedObjects(text.String(), &fleet.Release{Name: d.out.Name, Namespace: d.out.Namespace})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s", d.title(), diag.Brief(err))
		}
	}
	return out, nil
}
